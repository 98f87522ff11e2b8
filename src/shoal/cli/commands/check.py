"""`shoal check`."""

from __future__ import annotations

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "check"]

EXAMPLE = "shoal check out.csv -q birth_date,zip,sex -s diagnosis -k 5"


def check(
    context: typer.Context,
    file: o.File,
    plan: o.AskedBy = None,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    k: o.K = None,
    count: o.Count = None,
    unit: o.Unit = None,
    rules: o.Rules = None,
    hierarchies: o.Hierarchies = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Judge any table, ours or not. Exit 3 below k, or where a rule fails.

    Counts classes and measures diversity, closeness and the risk of re-identification.
    """
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.verdict import show_verdict
    from shoal.cli.words import FILE, asked_of, table_of

    given = context.params
    # a release of ours is no file of the plan's: what that says of encodings is about the original
    table = table_of({name: given.get(name) for name in ("file", "table", "query", *FILE)})
    verdict = shoal.check_table(table.frame, **asked_of(given, table.frame.columns))
    if as_json:
        print_json({"verdict": verdict, "has_passed": verdict.has_passed, "read": table.said})
    else:
        show_verdict(verdict)
    if not verdict.has_passed:
        raise typer.Exit(3)
