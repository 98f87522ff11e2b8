"""`shoal hierarchy`."""

from __future__ import annotations

from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "hierarchy"]

EXAMPLE = "shoal hierarchy patients.csv occupation -o occupation.csv"


def hierarchy(
    context: typer.Context,
    file: o.File,
    column: Annotated[str, typer.Argument(help="The column whose values are listed.", show_default=False)],
    output: o.SkeletonTo,
    levels: o.Levels = 2,
    missing_from: o.MissingFrom = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """List a column's values in a private file, to be filled in to a hierarchy.

    The file holds cells of the table: keep it private. The screen shows counts alone. With --missing-from only values that a hierarchy does not have are listed.
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    from shoal.cli.screen.facts import print_json
    from shoal.cli.words import table_of

    inputs = [path for path in (file, missing_from) if path is not None]
    made = shoal.write_skeleton(
        table_of(context.params).frame,
        column,
        output,
        levels=levels,
        missing_from=missing_from,
        missing=tuple(missing or ()),
        inputs=inputs,
    )
    if as_json:
        print_json({"skeleton": made})
    else:
        print(f"{made.values:,} values of {made.records:,} records.")
        print(f"values       {made.path}  (private: it holds cells of the table)")
