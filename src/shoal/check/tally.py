"""What is counted and measured of the classes of a finished table that is judged piece by piece.

Every piece holds whole classes, so a tally says all of them; what was counted in several places is joined.
Nothing of what made the table is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.apart import CellsSeen
from shoal.check.diversity import worse_of, worst_of
from shoal.check.judge import ruler_by, wrong_columns
from shoal.check.kanonymity import Classes
from shoal.check.loss import total_of
from shoal.check.mix import mix_of
from shoal.check.passing import RECORDS, ValuesThere, changes
from shoal.check.persons import Standing
from shoal.check.readings import read_cells
from shoal.check.risk import persons_of, risk_of
from shoal.check.ruler import Ruler
from shoal.check.rules import Close, close_on, rule_on, unit_ruling
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.rule import CLOSE, Rule
from shoal.model.verdict import ColumnLoss, Ruling, Sensitive, Verdict

__all__ = ["ClassTally", "ClassesCounted", "JudgedClasses", "quasi_of"]

Integers = NDArray[np.int64]


def quasi_of(names: Sequence[str], plan: Plan) -> list[str]:
    """The columns that make classes: all that the plan does not call sensitive, kept or count."""
    return [name for name in names if name not in {*plan.sensitive, *plan.keep, plan.whom.count}]


@dataclass(slots=True)
class _ColumnTally:
    """What one quasi-identifier has lost so far."""

    lost: list[float]
    kept: list[float]
    cells: CellsSeen
    unfit: int = 0
    different: int = 0
    knows: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ClassesCounted:
    """What was counted of some classes: small, whatever their number."""

    sizes: dict[int, int]
    by_column: dict[str, _ColumnTally]
    sensitive: dict[str, Sensitive]
    rulings: dict[str, Ruling]


class ClassTally:
    """Everything that is counted while classes go by.

    `rulers` read the cells of the quasi-identifiers, those that are known; `spreads` has what is known of
    the sensitive columns in all of the table; `trees` are those of rules; `up_to` has, by column, the
    original's records below each code.
    """

    def __init__(
        self,
        rulers: Mapping[str, Ruler | None],
        rules: Sequence[Rule],
        spreads: Mapping[str, ValuesThere],
        trees: Mapping[str, Hierarchy],
        up_to: Mapping[str, Integers | None] | None = None,
    ) -> None:
        self.rulers = rulers
        self.rules = rules
        self.spreads = spreads
        self.up_to = up_to or {}
        self.close = {
            rule.text: Close.of(spread.cells, spread.records, rule, trees.get(rule.column))
            for rule in rules
            if rule.kind == CLOSE and (spread := spreads.get(rule.column)) is not None
        }
        self.sizes: dict[int, int] = {}
        self.by_column = {name: _ColumnTally([], [], CellsSeen()) for name in rulers}
        self.sensitive: dict[str, Sensitive] = {}
        self.rulings: dict[str, Ruling] = {}

    @property
    def total(self) -> int:
        """Records so far."""
        return sum(size * times for size, times in self.sizes.items())

    def add(self, part: pl.DataFrame, quasi: Sequence[str]) -> None:
        """Count whole classes, whose lines stand together; a column more has the records of each line."""
        starts = np.flatnonzero(changes(part.select(quasi)))
        heads = part.select(quasi)[starts]
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
        for rule in self.rules:
            if rule.column not in places:
                continue
            if rule.kind == CLOSE:
                self._rule(close_on(self.close[rule.text], places[rule.column], classes))
            else:
                self._rule(rule_on(part[rule.column], classes, rule, None))

    def loss_of(self, ruler: Ruler, *, withheld: int) -> tuple[ColumnLoss, int]:
        """What a column has lost, and how many of its records do not fit it."""
        its, everything = self.by_column[ruler.name], self.total + withheld
        share = (math.fsum(its.lost) + withheld) / everything if everything else 0.0
        apart = its.cells.told_apart(ruler, withheld=withheld)
        return ColumnLoss(ruler.name, ruler.weight, ruler.denominator, share, apart), its.unfit

    @property
    def counted(self) -> ClassesCounted:
        """What was counted so far, to be joined elsewhere."""
        return ClassesCounted(self.sizes, self.by_column, self.sensitive, self.rulings)

    def join(self, other: ClassesCounted) -> None:
        """Add what was counted of other classes."""
        for size, times in other.sizes.items():
            self.sizes[size] = self.sizes.get(size, 0) + times
        for name, its in other.by_column.items():
            mine = self.by_column[name]
            mine.lost += its.lost
            mine.kept += its.kept
            mine.cells.join(its.cells)
            mine.unfit += its.unfit
            mine.different += its.different
            mine.knows &= its.knows
        for found in other.sensitive.values():
            self._worsen(found)
        for ruling in other.rulings.values():
            self._rule(ruling)

    def _lose(self, cells: pl.Series, sizes: Integers) -> None:
        name = cells.name
        ruler, tally = self.rulers[name], self.by_column[name]
        assert ruler is not None, "columns with a ruler are measured"
        by_cell = pl.DataFrame({"cell": cells, "n": sizes}).group_by("cell").agg(pl.col("n").sum())
        records = by_cell["n"].to_numpy()
        tally.cells.add(by_cell["cell"], records)
        readings = read_cells(by_cell.select("cell"), ruler)
        bad = readings.unfit
        tally.lost.append(math.fsum(np.where(bad, 1.0, readings.span) * records))
        tally.unfit += int(records[bad].sum())
        tally.different += int(bad.sum())
        up_to = self.up_to.get(name)
        if up_to is None:
            tally.knows = False
        if tally.knows and up_to is not None:
            covered = readings.axes[0].records(up_to)
            tally.knows = bool((covered > 0).all())
            if tally.knows:
                tally.kept.append(math.fsum(records * np.log2(covered)))

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
        self._worsen(found)

    def _worsen(self, found: Sensitive) -> None:
        self.sensitive[found.name] = worse_of(found, self.sensitive.get(found.name, found))

    def _rule(self, found: Ruling) -> None:
        old = self.rulings.get(found.rule, found)
        worse = _is_worse(found, old, self.rules)
        self.rulings[found.rule] = replace(
            found if worse else old,
            holds=found.holds and old.holds,
            failing=found.failing + (old.failing if found.rule in self.rulings else 0),
        )


class JudgedClasses(ClassTally):
    """The classes of a table that is judged by its plan, and the verdict on them."""

    def __init__(
        self,
        plan: Plan,
        columns: tuple[Column, ...],
        spreads: Mapping[str, ValuesThere],
        trees: Mapping[str, Hierarchy],
    ) -> None:
        super().__init__(
            {column.name: ruler_by(plan, column) for column in columns},
            plan.rules_read,
            spreads,
            trees,
            {one.name: np.r_[0, np.cumsum(one.counts[0])] if one.counts else None for one in columns},
        )
        self.plan = plan
        self.columns = columns
        self.standing: Standing | None = None

    def stand(self, standing: Standing) -> None:
        """Take in how persons stand in the classes."""
        self.standing = standing
        unit = self.plan.whom.unit
        if unit is not None:
            ruling = unit_ruling(unit, standing, self.plan.k)
            self.rulings[ruling.rule] = ruling

    def verdict(self, names: Sequence[str], reasons: tuple[str, ...] = (), *, withheld: int) -> Verdict:
        """The judgement on a table with the columns `names`; `reasons` speak against it already."""
        plan, sizes, count = self.plan, self.sizes, self.plan.whom.count
        wanted = [*self.rulers, *((count,) if count is not None else ())]
        strange = [repr(name) for name in quasi_of(names, plan) if name not in self.rulers]
        reasons = wrong_columns(names, plan, wanted) + reasons
        if strange:
            reasons += (f"The table has columns that nobody asked for: {', '.join(strange)}.",)
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
        ruler, its = self.rulers[column.name], self.by_column[column.name]
        if ruler is None or not (its.lost or not total):
            return ColumnLoss(column.name, column.weight, column.denominator, None)
        return self.loss_of(ruler, withheld=withheld)[0]

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


def _is_worse(one: Ruling, other: Ruling, rules: Sequence[Rule]) -> bool:
    """Whether the first measures worse: few values are bad, large shares are."""
    a, b = one.measured or 0.0, other.measured or 0.0
    kinds = {rule.text: rule.kind for rule in rules}
    return a < b if kinds[one.rule] in {"distinct", "entropy"} else a > b
