"""An independent judgement of a release of a register, beside everything that was published before it.

It sees the finished table and lists, who stands behind each line, the lists and the state of the release
before, and the state to be kept. It asks for all that docs/proofs/series.md needs, and trusts nobody who
made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.inside import hold
from shoal.check.judge import ruler_by
from shoal.check.kanonymity import Classes, classes_of, records_of
from shoal.check.kept import Told, judge_kept
from shoal.check.loss import published_names, read_column
from shoal.check.rules import rule_on
from shoal.model.as_run import AsRun
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.register import RegisterState
from shoal.model.rule import Rule
from shoal.model.same_value import as_compared
from shoal.model.series import SCHOOL, SINCE
from shoal.model.standing import Ground, ground_of, points_of
from shoal.model.verdict import Ruling

__all__ = ["Line", "judge_lists", "judge_register", "rule_lists", "schools_of", "shown_of"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Who stands behind the lines of a release, and where.

    `source` is the row of the coded table behind each line; `former` the line of the former state for
    every row, -1 for new persons; `now` that of the new state; `entries` the sensitive and kept cells of
    every row.
    """

    source: Rows
    former: Rows
    now: Rows
    entries: pl.DataFrame


def judge_lists(
    table: pl.DataFrame, lists: pl.DataFrame, former: pl.DataFrame | None, plan: Plan | AsRun, number: int
) -> Iterator[str]:
    """What the published files themselves must show."""
    entries = [*plan.sensitive, *plan.keep]
    if lists.columns != [SCHOOL, *entries, SINCE]:
        yield "The lists have other columns than the plan names."
        return
    sizes = lists.group_by(SCHOOL).agg(pl.len().alias("size"), pl.col(SINCE).n_unique().alias("times"))
    if (few := int((sizes["size"] < plan.k).sum())) or int((sizes["times"] > 1).sum()):
        yield f"{few} lists hold fewer than k = {plan.k} entries, or a list was added to."
    # a table that was read is texts
    rows = table.select(pl.col(SCHOOL).cast(pl.Int64, strict=False)).drop_nulls().group_by(SCHOOL).len()
    joined = rows.join(sizes, on=SCHOOL, how="left")
    if joined["size"].null_count():
        yield f"{joined['size'].null_count()} schools of the table have no list."
    if int((joined["len"] > joined["size"]).sum()):
        yield "A school has more rows than entries."
    since = lists[SINCE]
    if len(since) and (since.null_count() or int(since.min()) < 1 or int(since.max()) > number):  # type: ignore[arg-type]
        yield "A list says that it is of a release that is not there."
    if former is not None:
        latest = former[SINCE].max() if former.height else 0
        if not _same(lists.filter(pl.col(SINCE) <= latest), former):
            yield "The lists of former releases have changed."


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables hold the same lines, in any order."""
    if one.columns != other.columns or one.height != other.height:
        return False
    texts = [frame.cast(pl.String).sort(frame.columns, nulls_last=True) for frame in (one, other)]
    return texts[0].equals(texts[1])


def rule_lists(
    lists: pl.DataFrame, rules: Sequence[Rule], number: int | None, trees: Mapping[str, Hierarchy]
) -> tuple[Ruling, ...]:
    """Every rule on the lists of one release, or of each; closeness is to all that was listed with them."""
    rulings = []
    numbers = sorted(lists[SINCE].unique().to_list()) if number is None else [number]
    for rule in rules:
        worst: list[Ruling] = []
        for one in numbers:
            new = lists.filter(pl.col(SINCE) == one)
            if new.height:
                classes: Classes = classes_of(new, [SCHOOL], records_of(new, None))
                worst.append(rule_on(_typed(new[rule.column]), classes, rule, trees.get(rule.column)))
        failing = sum(ruling.failing for ruling in worst)
        measured = worst[-1].measured if len(worst) == 1 else None
        rulings.append(Ruling(rule.text, measured, failing == 0, failing))
    return tuple(rulings)


def _typed(texts: pl.Series) -> pl.Series:
    """Numbers where all are: lists are texts."""
    numbers = texts.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == texts.null_count() else texts


def judge_register(
    table: pl.DataFrame,
    lists: pl.DataFrame,
    former_lists: pl.DataFrame | None,
    plan: Plan,
    coded: Coded,
    line: Line,
    former: RegisterState,
    state: RegisterState,
) -> Iterator[str]:
    """Everything that speaks against a release of a register, in words and counts."""
    yield from judge_lists(table, lists, former_lists, plan, state.number)
    if lists.columns != [SCHOOL, *plan.sensitive, *plan.keep, SINCE]:
        return
    if np.unique(line.source).size != line.source.size or len(line.source) != table.height:
        yield "A person has two lines, or a line has nobody behind it."
        return
    schools = schools_of(table)
    yield from _judge_members(schools, lists, line, state.number)
    yield from _judge_moves(schools, lists, plan, line, former, state.number)
    yield from _judge_cells(table, schools, plan, coded, line, former, state)


def schools_of(table: pl.DataFrame) -> Rows:
    """The school of every line, -1 where it has none; a table that was read is texts."""
    return table[SCHOOL].cast(pl.Int64, strict=False).fill_null(-1).to_numpy().astype(np.int64)


def _judge_members(schools: Rows, lists: pl.DataFrame, line: Line, number: int) -> Iterator[str]:
    """A new list holds exactly what its members have, each of whom has a line."""
    entries = line.entries[pl.Series(line.source)].with_columns(pl.Series(SCHOOL, schools))
    new = lists.filter(pl.col(SINCE) == number).drop(SINCE)
    mine = entries.filter(pl.col(SCHOOL).is_in(new[SCHOOL].unique().implode()))
    if not _same(mine.select(new.columns), new):
        yield "A new list does not hold the values of its members."


def _judge_moves(
    schools: Rows, lists: pl.DataFrame, plan: Plan, line: Line, former: RegisterState, number: int
) -> Iterator[str]:
    """A school is left only where a value left its list, for a new one that shares none with old ones."""
    at = line.former[line.source]
    known = at >= 0
    was = np.where(known, former.school[at] if len(former.school) else -1, -1)
    if int(((was >= 0) & (schools < 0)).sum()):
        yield "A person has lost his school."
    old = dict(lists.group_by(SCHOOL).agg(pl.col(SINCE).min()).iter_rows())
    entered = (schools >= 0) & (schools != was)
    if any(old.get(int(school)) != number for school in np.unique(schools[entered])):
        yield "A person has entered a school that was listed before."
    moved = np.flatnonzero((was >= 0) & entered)
    if moved.size == 0:
        return
    past: dict[int, list[int]] = {}
    for person, school in former.past.tolist():
        past.setdefault(person, []).append(school)
    needed = {int(s) for p in moved for s in (was[p], schools[p], *past.get(int(at[p]), ()))}
    held = _held(lists, plan.sensitive, needed)
    cells = line.entries.select(as_compared(line.entries[name]) for name in plan.sensitive)
    barred: dict[int, list[set[str | None]]] = {}
    wrong = 0
    for place in moved.tolist():
        own = cells.row(int(line.source[place]))
        left = [int(was[place]), *past.get(int(at[place]), ())]
        out = [set().union(*(held[s][c] for s in left)) for c in range(len(own))]
        is_out = any(value not in held[left[0]][c] for c, value in enumerate(own))
        shares = any(out[c] & held[int(schools[place])][c] for c in range(len(own)))
        wrong += not is_out or shares
        others = barred.setdefault(int(schools[place]), [set() for _ in own])
        wrong += any(value in others[c] for c, value in enumerate(own))
        barred[int(schools[place])] = [a | b for a, b in zip(others, out, strict=True)]
    if wrong:
        yield f"{wrong} persons are listed anew with values of an older list, or without need."


def _held(
    lists: pl.DataFrame, columns: Sequence[str], schools: set[int]
) -> dict[int, list[set[str | None]]]:
    some = lists.filter(pl.col(SCHOOL).is_in(pl.Series(sorted(schools)).implode()))
    held: dict[int, list[set[str | None]]] = {school: [set() for _ in columns] for school in schools}
    texts = some.select(SCHOOL, *(as_compared(some[name]) for name in columns))
    for school, *values in texts.iter_rows():
        for place, value in enumerate(values):
            held[school][place].add(value)
    return held


def _judge_cells(
    table: pl.DataFrame,
    schools: Rows,
    plan: Plan,
    coded: Coded,
    line: Line,
    former: RegisterState,
    state: RegisterState,
) -> Iterator[str]:
    """Cells cover; what is known of a person is no finer than before, or k share it.

    He is one of them; the others were there as long, and did not move.

    And the state says just that.
    """
    ground = ground_of(coded, former.lines("cut", line.former, -1), former.sides, former.key)
    shown_low, shown_high, unfit = shown_of(table, plan, ground)
    if unfit:
        yield f"{unfit} lines have cells that cannot be read."
        return
    if len(line.source) != len(ground.points):
        yield "A person has no line."
        return
    low, high = np.zeros_like(ground.low), np.zeros_like(ground.low)
    low[line.source], high[line.source] = shown_low, shown_high
    if ((ground.points < low) | (ground.points > high)).any():
        yield "A cell does not cover the value behind it."
        return
    now = np.int32(state.number)
    was, there, stood = (former.lines(name, line.former, 0) for name in ("since", "stay", "point"))
    point = points_of(coded, state.person[line.now], state.key)
    since = np.where(ground.is_free, now, was)
    stay = np.where(ground.is_free | (there == 0) | (point != stood).any(axis=1), now, there)
    finer = (low > ground.out_low) | (high < ground.out_high)
    low, high = np.maximum(low, ground.low), np.minimum(high, ground.high)
    some = finer.any(axis=1) & ~ground.is_free  # the k rows of their class are in what is shown of the free
    need = plan.k - (stay > since)  # whoever has moved or returned is still one of the k himself
    held = hold(ground.points, stay, low[some], high[some], since[some], need[some])
    if not held.all():
        yield (
            f"What all cells tell of {int((~held).sum())} persons is shared by fewer than k = {plan.k} who "
            "were there as long and did not move."
        )
    school = np.full(len(low), -1, np.int64)
    school[line.source] = schools
    told = Told(ground, low, high, finer, since, stay, point, school)
    yield from judge_kept(told, coded, line.former, line.now, former, state)


def shown_of(
    table: pl.DataFrame, plan: Plan, ground: Ground
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """The codes that each line's cells cover, and how many lines cannot be read."""
    records = np.ones(table.height, np.int64)
    low = np.zeros((table.height, len(ground.columns)), np.int32)
    high = low.copy()
    unfit = 0
    for place, column in enumerate(ground.columns):
        extent = float(np.ptp(column.numbers[0])) if column.numbers and column.numbers[0].size else 0.0
        ruler = ruler_by(plan, replace(column, denominator=extent or column.denominator))
        assert ruler is not None, "numbers, dates and trees have rulers"
        cells = read_column(table, published_names(ruler, plan.cells), ruler, records)
        unfit = max(unfit, cells.unfit)
        runs = cells.readings.axes[0]  # which end before they begin where nothing is known
        low[:, place], high[:, place] = runs.first[cells.place], runs.last[cells.place]
    return low, high, unfit
