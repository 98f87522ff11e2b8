"""`shoal report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "report"]

EXAMPLE = "shoal report out.csv out.certificate.json --context context.yaml -o report.html"


def report(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The published table.", show_default=False)],
    certificate: o.Certificate,
    output: o.ReportTo,
    original: o.Original = None,
    receipt: o.Receipt = None,
    context_file: o.ContextFile = None,
    plan: o.PlanFile = None,
    hierarchies: o.Hierarchies = None,
    graphs: o.Graphs = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    as_json: o.Json = False,
) -> None:
    """Write a report for a data protection officer. Exit 3 where a claim fails.

    Verifies the certificate, measures the release anew, and says on one page without script or network what was done, what risk remains and what was lost. With --original also the risk before, and a linkage trial. No cell is in it.
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.findings import show_report
    from shoal.cli.words import (
        files_named,
        graphs_beside,
        marks_beside,
        sign_of,
        table_of,
        trees_beside,
    )

    given = context.params
    inputs = [release, certificate, *files_named(given)]
    inputs += [path for path in (receipt, context_file) if path is not None]
    shoal.check_report(output, inputs=inputs)
    told = shoal.Context() if context_file is None else shoal.read_context(context_file)
    made = shoal.report(
        release,
        certificate,
        output,
        original=None if original is None else table_of({**given, "file": original}).frame,
        receipt=receipt,
        context=told,
        hierarchies=trees_beside(certificate, given),
        graphs=graphs_beside(given),
        missing=marks_beside(given),
        delimiter=sign_of(delimiter),
        inputs=inputs,
    )
    if as_json:
        print_json({"report": made, "holds": made.holds, "is_above": made.is_above, "file": output})
    else:
        show_report(made, output)
    if not made.holds:
        raise typer.Exit(3)
