"""What an outsider learns: risks of a table as it is, and the linkage trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.check.attack import link
from shoal.check.exposure import expose
from shoal.check.laid_over import Dated, lay_over
from shoal.encode.number import dates_as_published
from shoal.errors import PlanError
from shoal.model.exposure import Exposure, LaidOver, Linkage
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.kind import Kind
from shoal.model.missing import missing_to_null
from shoal.model.plain import as_text, check_text
from shoal.model.plan import RADIUS, SIZE, Plan, words_of
from shoal.model.series import REGISTER
from shoal.model.words import Names
from shoal.read.frames import to_polars
from shoal.read.guess import person_keys, repeats_in

if TYPE_CHECKING:
    from shoal.run.release import Release

__all__ = ["attack", "attack_series", "is_release", "risk"]


def risk(
    frame: Any,
    *,
    quasi: Names = (),
    sampling: float | None = None,
    sampling_weight: str | None = None,
    threshold: float = 0.2,
    count: str | None = None,
    unit: str | None = None,
    pairs: bool = True,
) -> Exposure:
    """The risks of publishing a table as it is, by its quasi-identifiers.

    `sampling` is the share of the population that the table holds, or `sampling_weight` a column that says
    how many of the population each record speaks for; a record is at high risk where it is
    found with a chance above `threshold`. `unit` is the column that says who a record belongs to, so that
    persons are counted, or `rows`; without it nothing is said of persons where some column seems to know.
    Without `pairs`, columns are looked at alone and all together only, which takes a large table far less.
    `frame` may be a `Release`, whose plan says what is not said here.
    """
    made: Release | None = frame if is_release(frame) else None
    _, table = to_polars(frame if made is None else made.table)
    if made is not None and not quasi:
        others = {*made.plan.beside, made.plan.whom.count, SIZE, RADIUS}
        quasi, count = [name for name in table.columns if name not in others], count or made.plan.count
    quasi = words_of("quasi", quasi)
    found = expose(
        table,
        quasi=quasi,
        sampling=sampling,
        sampling_weight=sampling_weight,
        threshold=threshold,
        count=count,
        unit=unit,
        pairs=pairs,
    )
    return replace(found, repeats=repeats_in(table, quasi, unit=unit, count=count))


def attack(
    release: Any,
    register: Any,
    *,
    match: Mapping[str, str] | None = None,
    sensitive: Names = (),
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    count: str | None = None,
    k: int = 5,
    nearest: bool = False,
    kinds: Mapping[str, str] | None = None,
    unit: str | None = None,
    missing: Names = (),
) -> Linkage:
    """A linkage trial: what an outsider who holds a register finds in a release.

    `match` says which column of the release is which of the register. Columns published as nodes of a
    hierarchy need it. `nearest` gives persons whom no record covers the nearest ones as candidates.
    `kinds` says how the register writes dates, by the release's columns: `{"birth": "date(%d.%m.%Y)"}`.
    `unit` is a column of the release that says who a record belongs to: candidates are then persons.
    `missing` are marks in the register for what the outsider does not know. `release` may be a `Release`,
    whose plan says what is not said here; its quasi-identifiers are then those of the register.
    """
    if is_release(release):
        plan = release.plan
        match = {name: _known(name, plan) for name in plan.quasi} if match is None else match
        dates = {**plan.kinds, **release.guessed}
        kinds = {n: dates[n] for n in match if dates.get(n, "").startswith("date(")} | dict(kinds or {})
        planned = {n: plan.hierarchies[n] for n in match if n in plan.hierarchies}
        hierarchies = planned | dict(hierarchies or {})
        # what persons of a register have stands in its lists
        shown = () if plan.series == REGISTER else plan.sensitive
        sensitive, missing = sensitive or shown, missing or plan.missing
        release = release.table
    if not isinstance(match, Mapping) or not all(
        isinstance(name, str) for pair in match.items() for name in pair
    ):
        raise PlanError(
            "match must be a mapping of names: of the release's column, of the register's.", field="match"
        )
    _, published = to_polars(release)
    _, known = to_polars(register)
    marks = words_of("missing", missing)
    known = known.with_columns(missing_to_null(series, marks) for series in known)
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
    by_row = bool(person_keys(known, without={part for one in match.values() for part in one.split("+")}))
    return replace(found, repeats=repeats_in(published, named, unit=unit, count=count), by_row=by_row)


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
            cells = as_text(known[match[name]].unique().drop_nulls())
            values = set(cells.str.strip_chars().to_list())
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
        Dated(to_polars(one)[1], _cleaned(known), None if its is None else to_polars(its)[1])
        for one, known, its in zip(releases, registers, beside, strict=True)
    ]
    texts = [pl.DataFrame([as_text(series) for series in one.register]) for one in dated]
    known = pl.concat(texts, how="diagonal")
    return lay_over(
        dated,
        unit=unit,
        match=match,
        sensitive=words_of("sensitive", sensitive),
        hierarchies=_trees(match, known, hierarchies or {}),
        fewer_than=k,
    )


def _cleaned(register: Any) -> pl.DataFrame:
    _, known = to_polars(register)
    return known.with_columns(missing_to_null(series, ()) for series in known)


def is_release(what: Any) -> bool:
    """Whether it is a release of ours, asked by name: whoever has none need not load what makes one."""
    return type(what).__module__ == "shoal.run.release"


def _known(name: str, plan: Plan) -> str:
    """The columns of the original that a quasi-identifier is made of, as `match` names them."""
    kind = plan.kind(name)
    return "+".join(kind.parts) if kind is not None and kind.name == "place" else name
