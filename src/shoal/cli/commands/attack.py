"""`shoal attack`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "attack"]

EXAMPLE = "shoal attack out.csv --known register.csv --match age=age,zip=zip -s diagnosis"


def attack(
    context: typer.Context,
    release: Annotated[
        list[Path],
        typer.Argument(help="The table to be attacked, or several, oldest first.", show_default=False),
    ],
    known: o.Known,
    match: o.Match = None,
    plan: o.AskedBy = None,
    sensitive: o.Certain = None,
    k: o.Few = None,
    count: o.Count = None,
    unit: o.Unit = None,
    hierarchies: o.Hierarchies = None,
    kinds: o.KnownKind = None,
    missing: o.Missing = None,
    nearest: o.Nearest = False,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Try to find known persons in a release, before others do.

    What an outsider who holds an identified register can pin down. Prints counts, never a value.
    """
    from shoal.cli.screen.exposure import show_laid_over, show_linkage
    from shoal.cli.screen.facts import print_json
    from shoal.cli.words import asked_of, marks_beside, matches_of, pairs_of, table_of, trees_of, words_by

    given = context.params
    if len(release) > 1:
        series = _attack_series(given)
        if as_json:
            print_json({"attack": series})
        else:
            show_laid_over(series)
        return
    (release_, *_), (known_, *_) = release, known
    try:  # what is said of the file is said of the register; a release of ours needs no such words
        table = table_of({"file": release_}).frame
    except shoal.ShoalError:
        table = table_of({**given, "file": release_}).frame
    register = table_of({**given, "file": known_}).frame
    words = words_by(plan)
    asked = asked_of(given, table.columns)
    pairs = matches_of(match or (), table.columns) or _matched(words, register.columns)
    dates = {name: kind for name, kind in words.get("kinds", {}).items() if kind.startswith("date(")}
    trees = {**words.get("hierarchies", {}), **trees_of(given, tuple(pairs))}
    found = shoal.attack(
        table,
        register,
        match=pairs,
        sensitive=asked["sensitive"],
        hierarchies={name: tree for name, tree in trees.items() if name in pairs},
        count=asked["count"],
        unit=asked["unit"],
        k=5 if asked["k"] is None else asked["k"],
        nearest=nearest,
        kinds={name: kind for name, kind in dates.items() if name in pairs}
        | pairs_of(kinds, tuple(pairs), option="--kinds"),
        missing=marks_beside(given),
    )
    if as_json:
        print_json({"attack": found})
    else:
        show_linkage(found)


def _attack_series(given: dict[str, Any]) -> shoal.LaidOver:
    """Several releases, each with its register, and with the lists that lie beside it."""
    from shoal.cli.words import matches_of, names_of, table_of, trees_of

    if given["unit"] is None:
        raise shoal.PlanError("Nothing says who is who in the registers. Name the column.", field="unit")
    tables = [table_of({"file": path}).frame for path in given["release"]]
    registers = [table_of({**given, "file": path}).frame for path in given["known"]]
    beside = [path.with_name(f"{path.stem}.lists.csv") for path in given["release"]]
    lists = [table_of({"file": path}).frame if path.is_file() else None for path in beside]
    pairs = matches_of(given["match"] or (), tables[0].columns)
    return shoal.attack_series(
        tables,
        registers,
        unit=given["unit"],
        match=pairs,
        sensitive=names_of(
            given["sensitive"] or (),
            (*tables[0].columns, *(lists[0].columns if lists[0] is not None else ())),
        ),
        lists=lists,
        hierarchies=trees_of(given, tuple(pairs)),
        k=5 if given["k"] is None else given["k"],
    )


def _matched(words: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    """A plan's quasi-identifiers with the columns of the register that have their names."""
    pairs = {}
    for name in words.get("quasi", ()):
        kind = words.get("kinds", {}).get(name, "")
        parts = [part.strip() for part in kind.partition("(")[2].rstrip(")").split(",")]
        known = parts if kind.startswith("place(") else [name]
        if all(column in columns for column in known):
            pairs[name] = "+".join(known)
    return pairs
