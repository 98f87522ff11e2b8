"""Classes, verdict on k, and every measurement, from the finished table alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check import centres
from shoal.check.diversity import measure
from shoal.check.ends import beyond_ends, coding_of
from shoal.check.kanonymity import Classes, too_small
from shoal.check.loss import (
    PublishedCells,
    bits_of,
    entropy_share,
    loss_of_column,
    published_names,
    read_column,
    total_of,
)
from shoal.check.persons import Standing, classes_of_release, standing_of
from shoal.check.pseudonyms import wrong_pseudonyms
from shoal.check.risk import persons_of, risk_of
from shoal.check.ruler import PLACES, RANGES, Ruler, ruler_of
from shoal.check.rules import broken, rule_on, rulings_of, unit_ruling
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import RADIUS, SIZE, Plan
from shoal.model.pseudonym import Key
from shoal.model.verdict import ColumnLoss, Ruling, Verdict
from shoal.model.whom import Behind

__all__ = ["judge", "ruler_by", "verdict_of", "wrong_columns"]

_MEASURED = ("generalize", "suppress")
"""Styles whose cells say what they cover; others publish values that stand for a whole group."""


def judge(
    table: pl.DataFrame,
    plan: Plan,
    columns: tuple[Column, ...],
    *,
    withheld: int,
    judge_k: bool = True,
    persons: Behind | None = None,
    trees: Mapping[str, Hierarchy] | None = None,
    named: Behind | None = None,
    key: Key | None = None,
) -> Verdict:
    """Judge a finished table by its published quasi-identifier cells.

    Every column that the plan does not call sensitive, kept, count or pseudonym is taken for a
    quasi-identifier, so that nothing can slip into the release unseen. Without `judge_k` everything but k
    is judged. `persons` says who stands behind each published line, which the table itself never does, and
    `named` which identifier; `trees` are those of rules, `key` that of pseudonyms.
    """
    rulers = [(column, ruler_by(plan, column)) for column in columns]
    if plan.style == "centres":
        return _judge_centres(
            table, plan, rulers, withheld=withheld, judge_k=judge_k, persons=persons, trees=trees or {}
        )
    count = plan.whom.count
    wanted = [
        n
        for _, ruler in rulers
        if ruler is not None
        for n in published_names(ruler, plan.cells, plan.style)
    ]
    reasons = wrong_columns(table.columns, plan, [*wanted, *((count,) if count is not None else ())])
    classes = classes_of_release(table, plan)
    if judge_k:
        reasons += too_small(classes, plan.k)
    if classes.total == 0:
        reasons += ("The table holds no records.",)
    reasons += wrong_pseudonyms(table, plan, named, key) + _told_too_much(table, plan)
    ruled = [rule for rule in plan.rules_read if rule.column in table.columns]
    rulings = rulings_of(table, classes, ruled, trees or {})
    standing, unsaid, ruled_persons = _persons(plan, classes, persons, judge_k=judge_k)
    rulings += ruled_persons
    reasons += unsaid + broken(rulings, classes)
    measured, losses, entropy = _losses(table, plan, rulers, classes, withheld=withheld)
    return verdict_of(
        table,
        classes,
        k=plan.k if judge_k else None,
        sensitive=[name for name in plan.sensitive if name in table.columns],
        withheld=withheld,
        losses=losses,
        entropy=entropy,
        reasons=reasons + measured,
        rules=rulings,
        standing=standing,
    )


def ruler_by(plan: Plan, column: Column) -> Ruler | None:
    """The ruler of a column, by what the plan says of it."""
    return ruler_of(column, loss=plan.loss, coding=coding_of(plan.hierarchies, column.name))


def _judge_centres(
    table: pl.DataFrame,
    plan: Plan,
    rulers: Sequence[tuple[Column, Ruler | None]],
    *,
    withheld: int,
    judge_k: bool,
    persons: Behind | None,
    trees: Mapping[str, Hierarchy],
) -> Verdict:
    """A line is a class here, and what it holds is read from its counts."""
    names = [*plan.quasi, SIZE, RADIUS]
    counted = [*plan.sensitive, *plan.keep]
    extra = [repr(name) for name in table.columns if name not in {*names, *counted}]
    reasons = wrong_columns(table.columns, plan, names)
    if extra:
        reasons += (f"The table has columns that no line of centres has: {', '.join(extra)}.",)
    classes = classes_of_release(table, plan)
    if judge_k:
        reasons += too_small(classes, plan.k)
    if classes.total == 0:
        reasons += ("The table holds no records.",)
    reasons += tuple(centres.faults(table, classes, [ruler for _, ruler in rulers], counted))
    reasons += _told_too_much(table, plan)
    read = {name: centres.unfold(table[name], classes) for name in counted if name in table.columns}
    # what cannot be read has been said and is not measured
    unfolded = {name: (values, held) for name, (values, held, unfit) in read.items() if not unfit}
    rulings = tuple(
        rule_on(*unfolded[rule.column], rule, trees.get(rule.column))
        for rule in plan.rules_read
        if rule.column in unfolded
    )
    standing, unsaid, ruled_persons = _persons(plan, classes, persons, judge_k=judge_k)
    rulings += ruled_persons
    verdict = verdict_of(
        table,
        classes,
        k=plan.k if judge_k else None,
        sensitive=(),
        withheld=withheld,
        losses=tuple(ColumnLoss(c.name, c.weight, c.denominator, None) for c, _ in rulers),
        entropy=None,
        reasons=reasons + unsaid + broken(rulings, classes),
        rules=rulings,
        standing=standing,
    )
    mixed = tuple(measure(*unfolded[name]) for name in plan.sensitive if name in unfolded)
    return replace(verdict, sensitive=mixed)


def _persons(
    plan: Plan, classes: Classes, persons: Behind | None, *, judge_k: bool
) -> tuple[Standing | None, tuple[str, ...], tuple[Ruling, ...]]:
    """How persons stand in the classes, what is not known of them, and the ruling on k, if asked for."""
    unit = plan.whom.unit
    if unit is None or not judge_k:
        return standing_of(classes) if plan.whom.of_persons else None, (), ()
    if persons is None:
        return None, ("Nobody said whom the published rows belong to: persons cannot be counted.",), ()
    standing = standing_of(classes, persons)
    return standing, (), (unit_ruling(unit, standing, plan.k),)


def verdict_of(
    table: pl.DataFrame,
    classes: Classes,
    *,
    k: int | None,
    sensitive: Sequence[str],
    withheld: int,
    losses: tuple[ColumnLoss, ...],
    entropy: float | None,
    reasons: tuple[str, ...],
    rules: tuple[Ruling, ...] = (),
    standing: Standing | None = None,
) -> Verdict:
    """Everything that follows from the classes, with the losses and reasons found elsewhere.

    `standing` says how persons stand in the classes, where they are counted.
    """
    sizes = classes.sizes
    records = classes.total + withheld
    loss, percent = total_of(losses, records=records) if losses else (None, None)
    return Verdict(
        k=k,
        records=records,
        withheld=withheld,
        classes=sizes.size,
        smallest_class=int(sizes.min(initial=classes.total)),
        largest_class=int(sizes.max(initial=0)),
        mean_class=classes.total / max(sizes.size, 1),
        # a withheld record cannot be told from any other
        discernibility=sum(size * size for size in sizes.tolist()) + withheld * records,
        entropy=entropy,
        loss=loss,
        loss_percent=percent,
        columns=losses,
        sensitive=tuple(measure(table[name], classes) for name in sensitive),
        risk=risk_of(standing or standing_of(classes)),
        reasons=reasons,
        rules=rules,
        persons=persons_of(standing) if standing is not None else None,
        sizes=_sizes_of(sizes),
    )


def _sizes_of(sizes: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    values, classes = np.unique(sizes, return_counts=True)
    return tuple(zip(values.tolist(), classes.tolist(), strict=True))


def wrong_columns(columns: Sequence[str], plan: Plan, wanted: Sequence[str]) -> tuple[str, ...]:
    """What speaks against a table by the names of its columns: some are lacking, or still there."""
    named = [*wanted, *plan.beside]
    absent = [repr(name) for name in named if name not in columns]
    unit = plan.whom.unit
    hidden = dict.fromkeys((*plan.identifier, *((unit,) if unit is not None else ())))
    present = [repr(name) for name in hidden if name in columns and name != plan.pseudonym]
    reasons: tuple[str, ...] = ()
    if absent:
        reasons += (f"The table lacks the column {', '.join(absent)}.",)
    if present:
        reasons += (f"The table still holds the identifier {', '.join(present)}.",)
    return reasons


def _told_too_much(table: pl.DataFrame, plan: Plan) -> tuple[str, ...]:
    """Cells that say more of a coded end; ranges, nodes and sets are read anyway."""
    if plan.style in _MEASURED:
        return ()
    found = beyond_ends([table], plan.hierarchies)
    return tuple(
        f"Column {name!r}: the cells of {rows} records tell more of a value beyond the limit of "
        f"{getattr(plan.hierarchies[name], 'text', '')} than that it is beyond."
        for name, rows in found.items()
        if rows
    )


def _losses(
    table: pl.DataFrame,
    plan: Plan,
    rulers: Sequence[tuple[Column, Ruler | None]],
    classes: Classes,
    *,
    withheld: int,
) -> tuple[tuple[str, ...], tuple[ColumnLoss, ...], float | None]:
    """Reasons from cells that do not fit, the loss of each column, and the entropy."""
    reasons: list[str] = []
    losses: list[ColumnLoss] = []
    bits: list[tuple[float, float] | None] = []
    for column, ruler in rulers:
        cells = _read(table, plan, ruler, classes)
        if cells is None or ruler is None:
            losses.append(ColumnLoss(column.name, column.weight, column.denominator, None))
            continue
        losses.append(loss_of_column(cells, ruler, withheld=withheld))
        if cells.unfit:
            reasons.append(
                f"Column {column.name!r}: the cells of {cells.unfit} of {classes.total} records "
                f"({int(cells.readings.unfit.sum())} different cells) cannot be read or do not fit its "
                "values."
            )
        if column.counts and len(column.axes) == 1:  # a place's values are pairs, which are not counted
            bits.append(bits_of(cells, column.counts[0], withheld=withheld))
        del cells  # of many classes there is room for one column's
    entropy = entropy_share(bits) if len(bits) == len(rulers) else None
    return tuple(reasons), tuple(losses), entropy


def _read(table: pl.DataFrame, plan: Plan, ruler: Ruler | None, classes: Classes) -> PublishedCells | None:
    if ruler is None or plan.style not in _MEASURED:
        return None
    if ruler.published in {RANGES, PLACES} and plan.cells == "middle":
        return None
    names = published_names(ruler, plan.cells)
    if any(name not in table.columns for name in names):
        return None
    return read_column(table.select(names)[classes.row], names, ruler, classes.sizes)
