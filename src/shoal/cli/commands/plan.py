"""`shoal plan`."""

from __future__ import annotations

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "plan"]

EXAMPLE = "shoal plan patients.csv -o plan.yaml"


def plan(
    context: typer.Context,
    file: o.File,
    output: o.PlanTo = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    table: o.TableIn = None,
    query: o.Query = None,
) -> None:
    """Make a plan with guessed roles, kinds, rules and hierarchies, to be edited.

    It is printed, or written to a new file. Every line says why, and none shows a cell.
    """
    from shoal.cli.terminal import print_utf8
    from shoal.cli.words import table_of

    read = table_of(context.params)
    is_file = not shoal.is_database(file)
    place = file if is_file else shoal.place_of(file, table)
    said = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal, "sheet": sheet}
    if output is None:
        print_utf8(shoal.guess_plan(read.frame, path=place, **said))
    else:
        inputs = [file] if is_file else []
        print(f"plan         {shoal.write_plan(read.frame, output, of=place, inputs=inputs, **said)}")
        if read.said:
            print(f"Guessed of the file: {', '.join(read.said)}.")
