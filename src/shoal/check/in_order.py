"""A finished table that is too large for memory, judged in one pass over its lines in published order.

Nothing of what made the table is used: its lines, the plan and the columns' values. The cells of the
quasi-identifiers must rise strictly from class to class, so no class can come back later, and one pass that
remembers little counts every class. Where they do not rise, the table does not pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.apart import CellsSeen
from shoal.check.diversity import worst_of
from shoal.check.judge import wrong_columns
from shoal.check.kanonymity import Classes
from shoal.check.loss import total_of
from shoal.check.mix import mix_of
from shoal.check.passing import RECORDS, Lines, ValuesThere, changes, class_ends, rises, whole_classes
from shoal.check.persons import Standing
from shoal.check.persons_in_order import Told, standing_by_class
from shoal.check.ranges import read_spans
from shoal.check.risk import persons_of, risk_of
from shoal.check.ruler import Ruler, ruler_of
from shoal.check.rules import Close, close_on, rule_on, unit_ruling
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.rule import CLOSE
from shoal.model.verdict import ColumnLoss, Ruling, Sensitive, Verdict

__all__ = ["judge_in_order"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def judge_in_order(
    lines: Lines,
    names: Sequence[str],
    plan: Plan,
    columns: tuple[Column, ...],
    *,
    withheld: int,
    persons: Told | None = None,
    trees: Mapping[str, Hierarchy] | None = None,
) -> Verdict:
    """Judge a table with the columns `names`, whose cells are texts; see `judge` for what is looked at.

    Every column that the plan does not call sensitive, kept or count is taken for a quasi-identifier.
    `persons` says who stands behind each line; `trees` are those of rules.
    """
    rulers = {column.name: ruler_of(column, loss=plan.loss) for column in columns}
    count = plan.whom.count
    reasons = wrong_columns(names, plan, [*rulers, *((count,) if count is not None else ())])
    if count not in names:
        count = None
    quasi = [name for name in names if name not in {*plan.sensitive, *plan.keep, count}]
    sensitive = [name for name in plan.sensitive if name in names]
    strange = [repr(name) for name in quasi if name not in rulers]
    if strange:
        reasons += (f"The table has columns that nobody asked for: {', '.join(strange)}.",)
    if plan.whom.unit is not None and persons is None:
        reasons += ("Nobody said whom the published rows belong to: persons cannot be counted.",)
    spreads = {name: ValuesThere.of(lines, name, count) for name in sensitive}
    tally = _Passing(plan, columns, rulers, spreads, trees or {})
    for part in whole_classes(lines, quasi, sensitive, count):
        tally.add(part, quasi)
    if persons is not None:
        tally.count_persons(class_ends(lines, quasi), persons)
    return tally.verdict(reasons, withheld=withheld)


@dataclass(slots=True)
class _ColumnPassing:
    """What one quasi-identifier has lost so far."""

    lost: list[float]
    kept: list[float]
    cells: CellsSeen
    unfit: int = 0
    different: int = 0
    knows: bool = True


class _Passing:
    """Everything that is counted while the classes go by."""

    def __init__(
        self,
        plan: Plan,
        columns: tuple[Column, ...],
        rulers: Mapping[str, Ruler | None],
        spreads: Mapping[str, ValuesThere],
        trees: Mapping[str, Hierarchy],
    ) -> None:
        self.plan = plan
        self.columns = columns
        self.rulers = rulers
        self.spreads = spreads
        self.close = {
            rule.text: Close.of(spread.cells, spread.records, rule, trees.get(rule.column))
            for rule in plan.rules_read
            if rule.kind == CLOSE and (spread := spreads.get(rule.column)) is not None
        }
        self.sizes: dict[int, int] = {}
        self.by_column = {column.name: _ColumnPassing([], [], CellsSeen()) for column in columns}
        self.sensitive: dict[str, Sensitive] = {}
        self.rulings: dict[str, Ruling] = {}
        self.in_order = True
        self.last: pl.DataFrame | None = None
        self.standing: Standing | None = None
        self.up_to = {
            column.name: np.r_[0, np.cumsum(column.counts[0])] if column.counts else None
            for column in columns
        }

    @property
    def total(self) -> int:
        return sum(size * times for size, times in self.sizes.items())

    def add(self, part: pl.DataFrame, quasi: Sequence[str]) -> None:
        """Count whole classes."""
        starts = np.flatnonzero(changes(part.select(quasi)))
        heads = part.select(quasi)[starts]
        seen = heads if self.last is None else pl.concat([self.last, heads], how="vertical_relaxed")
        self.in_order &= rises(seen)
        self.last = heads[-1:]
        records = part[RECORDS].to_numpy()
        label = np.repeat(np.arange(starts.size), np.diff(np.append(starts, part.height)))
        sizes = np.add.reduceat(records, starts)
        classes = Classes(label, records, sizes, starts)
        for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
            self.sizes[int(size)] = self.sizes.get(int(size), 0) + int(times)
        for name in quasi:
            if self.rulers.get(name) is not None:
                self._lose(heads[name], sizes)
        places = {name: spread.codes_of(part[name]) for name, spread in self.spreads.items()}
        for name, spread in self.spreads.items():
            self._mix(name, places[name], classes, spread)
        for rule in self.plan.rules_read:
            if rule.column not in places:
                continue
            if rule.kind == CLOSE:
                self._rule(close_on(self.close[rule.text], places[rule.column], classes))
            else:
                self._rule(rule_on(part[rule.column], classes, rule, None))

    def _lose(self, cells: pl.Series, sizes: Integers) -> None:
        name = cells.name
        ruler, tally = self.rulers[name], self.by_column[name]
        assert ruler is not None, "columns with a ruler are measured"
        by_cell = pl.DataFrame({"cell": cells, "n": sizes}).group_by("cell").agg(pl.col("n").sum())
        records = by_cell["n"].to_numpy()
        tally.cells.add(by_cell["cell"], records)
        spans = read_spans(by_cell["cell"], ruler, self.up_to[name])
        bad = np.isnan(spans.span)
        tally.lost.append(math.fsum(np.where(bad, 1.0, spans.span) * records))
        tally.unfit += int(records[bad].sum())
        tally.different += int(bad.sum())
        tally.knows &= bool((spans.covered > 0).all())
        if tally.knows:
            tally.kept.append(math.fsum(records * np.log2(spans.covered)))

    def _mix(self, name: str, codes: Integers, classes: Classes, spread: ValuesThere) -> None:
        by_rank, shares = None, spread.share_by_rank
        if spread.rank is not None and shares is not None:
            by_rank = mix_of(classes, spread.rank[codes], shares.size)
        found = worst_of(
            name,
            mix_of(classes, codes, spread.records.size),
            by_rank,
            classes.sizes.astype(np.float64),
            whole=spread.share,
            whole_by_rank=shares,
        )
        old = self.sensitive.get(name, found)
        ordered = found.closeness_ordered
        self.sensitive[name] = replace(
            found,
            distinct=min(found.distinct, old.distinct),
            entropy=min(found.entropy, old.entropy),
            recursive=max(found.recursive, old.recursive),
            largest_share=max(found.largest_share, old.largest_share),
            closeness_equal=max(found.closeness_equal, old.closeness_equal),
            closeness_ordered=None if ordered is None else max(ordered, old.closeness_ordered or 0.0),
        )

    def _rule(self, found: Ruling) -> None:
        old = self.rulings.get(found.rule, found)
        worse = _is_worse(found, old, self.plan)
        self.rulings[found.rule] = replace(
            found if worse else old,
            holds=found.holds and old.holds,
            failing=found.failing + (old.failing if found.rule in self.rulings else 0),
        )

    def count_persons(self, ends: Integers, persons: Told) -> None:
        """Count the different persons of every class, and for each person the smallest of them."""
        self.standing = standing_by_class(ends, persons)
        unit = self.plan.whom.unit
        if unit is not None:
            ruling = unit_ruling(unit, self.standing, self.plan.k)
            self.rulings[ruling.rule] = ruling

    def verdict(self, reasons: tuple[str, ...], *, withheld: int) -> Verdict:
        """The judgement."""
        plan, sizes = self.plan, self.sizes
        total, classes = self.total, sum(self.sizes.values())
        small = {size: times for size, times in sizes.items() if size < plan.k}
        if small:
            held = sum(size * times for size, times in small.items())
            reasons += (
                f"{sum(small.values())} of {classes} classes hold fewer than k = {plan.k} records: "
                f"{held} records in all, the smallest class {min(small)}.",
            )
        if total == 0:
            reasons += ("The table holds no records.",)
        if not self.in_order:
            reasons += (
                "The lines do not stand in the order of their published cells, so a class may stand in two "
                "places and cannot be counted.",
            )
        for ruling in self.rulings.values():
            if not ruling.holds:
                reasons += (
                    f"The rule {ruling.rule!r} fails in {ruling.failing} of {classes} classes; the worst "
                    f"measures {ruling.measured:.6g}.",
                )
        losses = tuple(self._loss(column, total, withheld) for column in self.columns)
        for column in self.columns:
            its = self.by_column[column.name]
            if its.unfit:
                reasons += (
                    f"Column {column.name!r}: the cells of {its.unfit} of {total} records "
                    f"({its.different} different cells) cannot be read or do not fit its values.",
                )
        records = total + withheld
        loss, percent = total_of(losses, records=records)
        unique = np.array(sorted(sizes), dtype=np.int64)
        many = np.array([sizes[size] * size for size in sorted(sizes)], dtype=np.int64)
        standing = self.standing
        return Verdict(
            k=plan.k,
            records=records,
            withheld=withheld,
            classes=classes,
            smallest_class=min(sizes, default=0),
            largest_class=max(sizes, default=0),
            mean_class=total / max(classes, 1),
            discernibility=sum(size * size * times for size, times in sizes.items()) + withheld * records,
            entropy=self._entropy(total, withheld),
            loss=loss,
            loss_percent=percent,
            columns=losses,
            sensitive=tuple(self.sensitive.values()),
            risk=risk_of(standing or Standing(unique, unique, many)),
            reasons=reasons,
            rules=tuple(self.rulings.values()),
            persons=persons_of(standing) if standing is not None else None,
            sizes=tuple(sorted(sizes.items())),
        )

    def _loss(self, column: Column, total: int, withheld: int) -> ColumnLoss:
        lost = math.fsum(self.by_column[column.name].lost) + withheld
        everything = total + withheld
        share = lost / everything if everything else 0.0
        ruler, its = self.rulers[column.name], self.by_column[column.name]
        if ruler is None or not (its.lost or not total):
            return ColumnLoss(column.name, column.weight, column.denominator, None)
        apart = its.cells.told_apart(ruler, withheld=withheld)
        return ColumnLoss(column.name, column.weight, column.denominator, share, apart)

    def _entropy(self, total: int, withheld: int) -> float | None:
        """The bits lost of all bits there were; see `entropy_share`."""
        lost = there_were = 0.0
        for column in self.columns:
            its = self.by_column[column.name]
            if not column.counts or not its.knows or int(column.counts[0].sum()) != total + withheld:
                return None
            records = total + withheld
            present = column.counts[0][column.counts[0] > 0]
            bits = float(present @ np.log2(records / present))
            there_were += bits
            lost += bits - (total * math.log2(records) - math.fsum(its.kept) if records else 0.0)
        return max(0.0, lost / there_were) if there_were > 0 else 0.0


def _is_worse(one: Ruling, other: Ruling, plan: Plan) -> bool:
    """Whether the first measures worse: few values are bad, large shares are."""
    a, b = one.measured or 0.0, other.measured or 0.0
    kinds = {rule.text: rule.kind for rule in plan.rules_read}
    return a < b if kinds[one.rule] in {"distinct", "entropy"} else a > b
