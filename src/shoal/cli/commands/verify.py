"""`shoal verify`."""

from __future__ import annotations

from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "verify"]

EXAMPLE = "shoal verify out.csv out.certificate.json --original patients.csv"


def verify(
    context: typer.Context,
    release: Annotated[
        str, typer.Argument(help="The published table: a file, or DATABASE#TABLE.", show_default=False)
    ],
    certificate: o.Certificate,
    original: o.Original = None,
    receipt: o.Receipt = None,
    plan: o.PlanFile = None,
    hierarchies: o.Hierarchies = None,
    graphs: o.Graphs = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    before: o.Before = None,
    state: o.State = None,
    key: o.KeyUsed = None,
    memory: o.MemoryToVerify = None,
    strict: o.Strict = False,
    as_json: o.Json = False,
) -> None:
    """Recompute what a certificate claims. Exit 3 where it fails.

    From the release alone, or with --original also from the table it was made of. With --strict a claim
    that could not be checked is a failure, too.
    """
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.findings import show_findings
    from shoal.cli.words import graphs_beside, marks_beside, original_of, sign_of, table_of, trees_beside

    given = context.params
    was = None if original is None else original_of(given)
    findings = shoal.verify(
        table_of({"file": release}).frame if shoal.is_database(release) else release,
        certificate,
        original=was,
        receipt=receipt,
        hierarchies=trees_beside(certificate, given),
        graphs=graphs_beside(given),
        missing=marks_beside(given),
        delimiter=sign_of(delimiter),
        before=before or (),
        state=state,
        key=key,
        memory=memory,
    )
    fails = any(finding.holds is False for finding in findings)
    verified = all(finding.holds is True for finding in findings)
    if as_json:
        print_json({"verified": verified, "fails": fails, "findings": findings})
    else:
        show_findings(findings)
    if fails or (strict and not verified):
        raise typer.Exit(3)
