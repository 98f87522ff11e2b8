"""`shoal utility`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "utility"]

EXAMPLE = "shoal utility out.csv --original patients.csv --plan plan.yaml --for diagnosis"


def utility(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The published table.", show_default=False)],
    original: o.TrueOriginal,
    target: o.Target = None,
    certificate: o.CertificateOf = None,
    plan: o.PlanFile = None,
    hierarchies: o.Hierarchies = None,
    missing: o.Missing = None,
    queries: o.Queries = 1000,
    seed: o.Seed = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Measure what a release is good for, against the original and beside mondrian.

    Marginals, pairs, random count queries, means, correlations, and with --for a model. No cell is in it.
    """
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.utility import show_utility
    from shoal.cli.words import marks_beside, table_of, trees_beside

    given = context.params
    named = shoal.Files.beside(release).certificate if certificate is None else certificate
    found = shoal.utility(
        release,
        table_of({**given, "file": original}).frame,
        certificate=named,
        hierarchies=trees_beside(named, given),
        missing=marks_beside(given),
        target=target,
        queries=queries,
        seed=seed or 0,
    )
    if as_json:
        print_json({"utility": found})
    else:
        show_utility(found)
