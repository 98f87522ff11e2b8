"""What an outsider learns: risks of a table as it is, and the linkage trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from shoal.check import Dated, expose, lay_over, link
from shoal.encode.number import dates_as_published
from shoal.errors import PlanError
from shoal.model.exposure import Exposure, LaidOver, Linkage
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.kind import Kind
from shoal.model.plain import check_text
from shoal.model.plan import words_of
from shoal.read.frames import to_polars
from shoal.read.guess import repeats_in

__all__ = ["attack", "attack_series", "risk"]


def risk(
    frame: Any,
    *,
    quasi: Sequence[str],
    sampling: float | None = None,
    threshold: float = 0.2,
    count: str | None = None,
    unit: str | None = None,
    pairs: bool = True,
) -> Exposure:
    """The risks of publishing a table as it is, by its quasi-identifiers.

    `sampling` is the share of the population that the table holds; a record is at high risk where it is
    found with a chance above `threshold`. `unit` is the column that says who a record belongs to, so that
    persons are counted, or `rows`; without it nothing is said of persons where some column seems to know.
    Without `pairs`, columns are looked at alone and all together only, which takes a large table far less.
    """
    _, table = to_polars(frame)
    quasi = words_of("quasi", quasi)
    found = expose(
        table, quasi=quasi, sampling=sampling, threshold=threshold, count=count, unit=unit, pairs=pairs
    )
    return replace(found, repeats=repeats_in(table, quasi, unit=unit, count=count))


def attack(
    release: Any,
    register: Any,
    *,
    match: Mapping[str, str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    count: str | None = None,
    k: int = 5,
    nearest: bool = False,
    kinds: Mapping[str, str] | None = None,
    unit: str | None = None,
) -> Linkage:
    """A linkage trial: what an outsider who holds a register finds in a release.

    `match` says which column of the release is which of the register. Columns published as nodes of a
    hierarchy need it. `nearest` gives persons whom no record covers the nearest ones as candidates.
    `kinds` says how the register writes dates, by the release's columns: `{"birth": "date(%d.%m.%Y)"}`.
    `unit` is a column of the release that says who a record belongs to: candidates are then persons.
    """
    if not isinstance(match, Mapping) or not all(
        isinstance(name, str) for pair in match.items() for name in pair
    ):
        raise PlanError(
            "match must be a mapping of names: of the release's column, of the register's.", field="match"
        )
    _, published = to_polars(release)
    _, known = to_polars(register)
    trees = _trees(match, known, hierarchies or {})
    for name, text in (kinds or {}).items():
        kind = Kind.parse(text, column=name)
        column = match.get(name)
        if column is None or kind.name != "date":
            raise PlanError(
                f"Column {name!r}: a kind says how the register writes the dates of a matched column, as "
                "in date(%d.%m.%Y).",
                field="kinds",
                column=name,
            )
        if column in known.columns:
            known = known.with_columns(dates_as_published(known[column], kind))
    found = link(
        published,
        known,
        match=match,
        sensitive=words_of("sensitive", sensitive),
        hierarchies=trees,
        count=count,
        fewer_than=k,
        nearest=nearest,
        unit=unit,
    )
    named = (*match, *words_of("sensitive", sensitive))
    return replace(found, repeats=repeats_in(published, named, unit=unit, count=count))


def _trees(
    match: Mapping[str, str], known: pl.DataFrame, hierarchies: Mapping[str, Hierarchy | Builder]
) -> dict[str, Hierarchy]:
    """Hierarchies by column of the release; builders make theirs of what the register holds."""
    trees = {}
    for name, tree in hierarchies.items():
        if isinstance(tree, Builder):
            if match.get(name) not in known.columns:
                continue
            check_text(known[match[name]])
            values = {str(cell).strip() for cell in known[match[name]].unique().drop_nulls().to_list()}
            tree = tree.build(values - {""}, column=name)  # noqa: PLW2901
        if not isinstance(tree, Hierarchy):
            raise PlanError(
                f"The hierarchy of column {name!r} is none. Use shoal.read_hierarchy.",
                field="hierarchies",
                column=name,
            )
        trees[name] = tree
    return trees


def attack_series(
    releases: Sequence[Any],
    registers: Sequence[Any],
    *,
    unit: str,
    match: Mapping[str, str],
    sensitive: Sequence[str] = (),
    lists: Sequence[Any] = (),
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    k: int = 5,
) -> LaidOver:
    """What one learns who keeps several releases, of any origin, and held the register of each time.

    `registers` say who was there at the time of each release, one row per person, whom `unit` names;
    `match` says which column of the releases is which of the registers. `lists` are those of a register
    of ours, release by release.
    """
    if len(releases) != len(registers) or not releases:
        raise PlanError(
            f"There are {len(releases)} releases and {len(registers)} registers. Give the register of each "
            "release, in the same order.",
            field="known",
        )
    beside = [*lists, *([None] * (len(releases) - len(lists)))]
    dated = [
        Dated(to_polars(one)[1], to_polars(known)[1], None if its is None else to_polars(its)[1])
        for one, known, its in zip(releases, registers, beside, strict=True)
    ]
    known = pl.concat([one.register.select(pl.all().cast(pl.String)) for one in dated], how="diagonal")
    return lay_over(
        dated,
        unit=unit,
        match=match,
        sensitive=words_of("sensitive", sensitive),
        hierarchies=_trees(match, known, hierarchies or {}),
        fewer_than=k,
    )
