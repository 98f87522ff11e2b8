"""`shoal plan`."""

from __future__ import annotations

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "plan"]

EXAMPLE = "shoal plan patients.csv > plan.yaml"


def plan(
    context: typer.Context,
    file: o.File,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
) -> None:
    """Print a plan with guessed roles and kinds, to be edited."""
    from shoal.cli.terminal import print_utf8
    from shoal.cli.words import table_of

    table = table_of(context.params)
    print_utf8(shoal.guess_plan(table.frame, path=file))
