"""`shoal apply`."""

from __future__ import annotations

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "apply"]

EXAMPLE = "shoal apply new.csv --recoding out.recoding.json -o new-k5.csv"


def apply(
    context: typer.Context,
    file: o.File,
    recoding: o.RecodingIn,
    output: o.AppliedTo,
    k: o.K = None,
    unfit: o.Unfit = "widen",
    small: o.Small = "join",
    unit: o.Unit = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Recode new rows as an earlier release was, and write them if they hold k by themselves.

    A row goes to the cheapest class of the release that holds it. There is no certificate: how close to the best possible this comes is not known.
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    from shoal.cli.screen.facts import print_json
    from shoal.cli.words import table_of

    inputs = [str(recoding), *([] if shoal.is_database(file) else [file])]
    shoal.check_output(output, inputs=inputs)
    known = shoal.Recoding.read(recoding)
    read = table_of(context.params)
    applied = known.apply(
        read.frame, k=k, unfit=unfit, small=small, unit=unit, missing=tuple(missing or ())
    )
    written = applied.write(output, delimiter=read.delimiter or ",", inputs=inputs)
    about = applied.verdict
    if as_json:
        facts = {"records": applied.records, "widened": applied.widened, "withheld": applied.withheld}
        print_json({**facts, "verdict": about, "file": written, "read": read.said})
        return
    print(
        f"{about.records:,} of {applied.records:,} rows in {about.classes:,} classes; the smallest holds "
        f"{about.smallest_class:,} (k = {about.k}). {applied.widened:,} rows widened a class, "
        f"{applied.withheld:,} were withheld."
    )
    print(f"table        {written}")
