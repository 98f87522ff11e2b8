"""`shoal tabulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "tabulate"]

EXAMPLE = "shoal tabulate out.csv --by sex,age --widths age=10"


def tabulate(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The published table.", show_default=False)],
    by: o.By,
    widths: o.Widths = None,
    certificate: o.CertificateOf = None,
    plan: o.PlanFile = None,
    hierarchies: o.Hierarchies = None,
    as_json: o.Json = False,
) -> None:
    """Count a release by some of its columns, with the width that its cells leave.

    Each line says how many records have its values at least, by expectation, and at most.
    """
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.tabulation import show_tabulation
    from shoal.cli.words import names_of, numbers_by, trees_of, words_by

    named = shoal.Files.beside(release).certificate if certificate is None else certificate
    columns = shoal.read_release(release, certificate=named).kinds
    planned = words_by(plan).get("hierarchies", {})
    trees = {name: tree for name, tree in planned.items() if isinstance(tree, shoal.Hierarchy)}
    read = shoal.read_release(
        release, certificate=named, hierarchies=trees | trees_of(context.params, tuple(columns))
    )
    found = shoal.tabulate(
        read,
        by=names_of(by, (*columns, *read.frame.columns)),
        widths=numbers_by(widths, tuple(columns), option="--widths"),
    )
    if as_json:
        print_json({"tabulation": found})
    else:
        show_tabulation(found)
