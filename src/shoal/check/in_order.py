"""A finished table that is too large for memory, judged in one pass over its lines in published order.

Nothing of what made the table is used: its lines, the plan and the columns' values. The cells of the
quasi-identifiers must rise strictly from class to class, so no class can come back later, and one pass that
remembers little counts every class. Where they do not rise, the table does not pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.diversity import ranks_of_values, worst_of
from shoal.check.judge import wrong_columns
from shoal.check.kanonymity import Classes
from shoal.check.loss import total_of
from shoal.check.mix import mix_of
from shoal.check.persons import Standing
from shoal.check.ranges import read_spans
from shoal.check.risk import persons_of, risk_of
from shoal.check.ruler import Ruler, ruler_of
from shoal.check.rules import rule_on, unit_ruling
from shoal.model.column import Column
from shoal.model.plan import Plan
from shoal.model.rule import CLOSE
from shoal.model.verdict import ColumnLoss, Ruling, Sensitive, Verdict

__all__ = ["judge_in_order"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Lines = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""Gives some columns of the table, part by part, in the order of its lines, as often as it is asked."""
Persons = Callable[[], Iterator[NDArray[np.uint64]]]
"""Gives who stands behind each line, by a number, in the same parts; 0 where that is missing."""

_RECORDS = "\0records"
MANY = 4_000_000
"""Persons that are remembered before those who come again are joined."""


def judge_in_order(
    lines: Lines,
    names: Sequence[str],
    plan: Plan,
    columns: tuple[Column, ...],
    *,
    withheld: int,
    persons: Persons | None = None,
) -> Verdict:
    """Judge a table with the columns `names`, whose cells are texts; see `judge` for what is looked at.

    Every column that the plan does not call sensitive or kept is taken for a quasi-identifier.
    """
    rulers = {column.name: ruler_of(column, loss=plan.loss) for column in columns}
    reasons = wrong_columns(names, plan, list(rulers))
    quasi = [name for name in names if name not in {*plan.sensitive, *plan.keep}]
    sensitive = [name for name in plan.sensitive if name in names]
    strange = [repr(name) for name in quasi if name not in rulers]
    if strange:
        reasons += (f"The table has columns that nobody asked for: {', '.join(strange)}.",)
    if plan.whom.unit is not None and persons is None:
        reasons += ("Nobody said whom the published rows belong to: persons cannot be counted.",)
    tally = _Passing(plan, columns, rulers, {name: _Values.of(lines, name) for name in sensitive})
    for part in _whole_classes(lines, quasi, sensitive):
        tally.add(part, quasi)
    if persons is not None:
        tally.count_persons(lines, quasi, persons)
    return tally.verdict(reasons, withheld=withheld)


def _whole_classes(lines: Lines, quasi: Sequence[str], sensitive: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Parts of whole classes; lines that follow one like them are counted with it, in a column more."""
    held: pl.DataFrame | None = None
    for part in lines([*quasi, *sensitive]):
        if part.height == 0:
            continue
        starts = np.flatnonzero(_changes(part))
        counted = part[starts].with_columns(
            pl.Series(_RECORDS, np.diff(np.append(starts, part.height)).astype(np.int64))
        )
        if held is not None:
            counted = pl.concat([held, counted], how="vertical_relaxed")
        last = int(np.flatnonzero(_changes(counted.select(quasi)))[-1])
        held = counted[last:]
        if last:
            yield counted[:last]
    if held is not None:
        yield held


def _changes(table: pl.DataFrame) -> NDArray[np.bool_]:
    """Which lines differ from the one before; the first does."""
    changed = np.zeros(table.height, dtype=np.bool_)
    changed[0] = True
    for series in table.iter_columns():
        changed[1:] |= series[1:].ne_missing(series[:-1]).to_numpy()
    return changed


def _rises(heads: pl.DataFrame) -> bool:
    """Whether every line is greater than the one before it, missing greatest."""
    if heads.height < 2:
        return True
    above = np.zeros(heads.height - 1, dtype=np.bool_)
    for name in reversed(heads.columns):
        one, other = heads[name][:-1], heads[name][1:]
        more = (other > one).fill_null(False).to_numpy() | (other.is_null() & one.is_not_null()).to_numpy()
        above = more | (one.eq_missing(other).to_numpy() & above)
    return bool(above.all())


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The different values of a sensitive column in the whole table, the share of each, and their order."""

    values: pl.DataFrame
    share: Floats
    rank: Integers | None
    share_by_rank: Floats | None

    @classmethod
    def of(cls, lines: Lines, name: str) -> _Values:
        found: list[pl.DataFrame] = []
        for part in lines([name]):
            found.append(part.group_by(name).len(_RECORDS).cast({_RECORDS: pl.Int64}))
            if len(found) > 32:
                found = [pl.concat(found).group_by(name).agg(pl.col(_RECORDS).sum())]
        counts = pl.concat(found).group_by(name).agg(pl.col(_RECORDS).sum()).sort(name, nulls_last=True)
        records = counts[_RECORDS].to_numpy()
        rank = ranks_of_values(counts[name])
        by_rank = None if rank is None else np.bincount(rank, weights=records) / records.sum()
        return cls(counts.select(name).with_row_index("\0code"), records / records.sum(), rank, by_rank)

    def codes_of(self, series: pl.Series) -> Integers:
        """The place of each cell among the values."""
        found = series.to_frame().join(
            self.values, on=series.name, how="left", nulls_equal=True, maintain_order="left"
        )
        return found["\0code"].cast(pl.Int64).to_numpy()


@dataclass(slots=True)
class _ColumnPassing:
    """What one quasi-identifier has lost so far."""

    lost: list[float]
    kept: list[float]
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
        spreads: Mapping[str, _Values],
    ) -> None:
        self.plan = plan
        self.columns = columns
        self.rulers = rulers
        self.spreads = spreads
        self.sizes: dict[int, int] = {}
        self.by_column = {column.name: _ColumnPassing([], []) for column in columns}
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
        starts = np.flatnonzero(_changes(part.select(quasi)))
        heads = part.select(quasi)[starts]
        seen = heads if self.last is None else pl.concat([self.last, heads], how="vertical_relaxed")
        self.in_order &= _rises(seen)
        self.last = heads[-1:]
        records = part[_RECORDS].to_numpy()
        label = np.repeat(np.arange(starts.size), np.diff(np.append(starts, part.height)))
        sizes = np.add.reduceat(records, starts)
        classes = Classes(label, records, sizes, starts)
        for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
            self.sizes[int(size)] = self.sizes.get(int(size), 0) + int(times)
        for name in quasi:
            if self.rulers.get(name) is not None:
                self._lose(heads[name], sizes)
        for name, spread in self.spreads.items():
            self._mix(part[name], classes, spread)
        for rule in self.plan.rules_read:
            if rule.column in part.columns and rule.kind != CLOSE:
                self._rule(rule_on(part[rule.column], classes, rule, None))

    def _lose(self, cells: pl.Series, sizes: Integers) -> None:
        name = cells.name
        ruler, tally = self.rulers[name], self.by_column[name]
        assert ruler is not None, "columns with a ruler are measured"
        by_cell = pl.DataFrame({"cell": cells, "n": sizes}).group_by("cell").agg(pl.col("n").sum())
        records = by_cell["n"].to_numpy()
        spans = read_spans(by_cell["cell"], ruler, self.up_to[name])
        bad = np.isnan(spans.span)
        tally.lost.append(math.fsum(np.where(bad, 1.0, spans.span) * records))
        tally.unfit += int(records[bad].sum())
        tally.different += int(bad.sum())
        tally.knows &= bool((spans.covered > 0).all())
        if tally.knows:
            tally.kept.append(math.fsum(records * np.log2(spans.covered)))

    def _mix(self, series: pl.Series, classes: Classes, spread: _Values) -> None:
        codes = spread.codes_of(series)
        by_rank = None
        if spread.rank is not None and spread.share_by_rank is not None:
            by_rank = mix_of(classes, spread.rank[codes], spread.share_by_rank.size)
        found = worst_of(
            series.name,
            mix_of(classes, codes, spread.share.size),
            by_rank,
            classes.sizes.astype(np.float64),
            whole=spread.share,
            whole_by_rank=spread.share_by_rank,
        )
        old = self.sensitive.get(series.name, found)
        ordered = found.closeness_ordered
        self.sensitive[series.name] = replace(
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

    def count_persons(self, lines: Lines, quasi: Sequence[str], persons: Persons) -> None:
        """Count the different persons of every class, and for each person the smallest of them."""
        by_person: list[tuple[NDArray[np.uint64], Integers]] = []
        sizes: dict[int, int] = {}
        open_class, who_there = None, np.zeros(0, dtype=np.uint64)

        def close(label: Integers, who: NDArray[np.uint64]) -> None:
            """Count pairs of a class and a person, each once, classes in order."""
            held = np.bincount(label)[label] if label.size else label
            by_person.append((who, held))
            for size, times in zip(*np.unique(np.bincount(label), return_counts=True), strict=True):
                sizes[int(size)] = sizes.get(int(size), 0) + int(times)
            if sum(one.size for one, _ in by_person) > MANY:
                by_person[:] = [_least(by_person)]

        for part, those in zip(lines(quasi), persons(), strict=True):
            if part.height == 0:
                continue
            goes_on = open_class is not None and part[:1].equals(open_class, null_equal=True)
            label, who = np.cumsum(_changes(part)) - 1, those
            if open_class is not None and not goes_on:
                close(np.zeros(who_there.size, dtype=np.int64), who_there)
                who_there = np.zeros(0, dtype=np.uint64)
            label, who = _pairs(
                np.r_[np.zeros(who_there.size, dtype=np.int64), label], np.r_[who_there, who]
            )
            done = label < label[-1]
            if done.any():
                close(label[done], who[done])
            who_there = who[~done]
            open_class = part[-1:]
        if open_class is not None:
            close(np.zeros(who_there.size, dtype=np.int64), who_there)
        _, least = _least(by_person)
        smallest, many = np.unique(least, return_counts=True)
        self.standing = Standing(np.array(list(sizes), dtype=np.int64), smallest, many)
        unit = self.plan.whom.unit
        if unit is not None:
            failing = sum(times for size, times in sizes.items() if size < self.plan.k)
            ruling = unit_ruling(unit, self.standing, self.plan.k)
            self.rulings[ruling.rule] = replace(ruling, failing=failing)

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
        if any(rule.kind == CLOSE for rule in plan.rules_read):
            reasons += ("Rules of closeness cannot be judged line by line.",)
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
        known = self.rulers[column.name] is not None and bool(self.by_column[column.name].lost or not total)
        return ColumnLoss(column.name, column.weight, column.denominator, share if known else None)

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


def _pairs(label: Integers, who: NDArray[np.uint64]) -> tuple[Integers, NDArray[np.uint64]]:
    """Every pair of a class and a person once, by class."""
    order = np.lexsort((who, label))
    label, who = label[order], who[order]
    new = np.r_[True, (label[1:] != label[:-1]) | (who[1:] != who[:-1])]
    return label[new], who[new]


def _least(found: list[tuple[NDArray[np.uint64], Integers]]) -> tuple[NDArray[np.uint64], Integers]:
    """Every person once, with the smallest of the classes."""
    who = np.concatenate([one for one, _ in found])
    size = np.concatenate([its for _, its in found])
    order = np.lexsort((size, who))
    who, size = who[order], size[order]
    first = np.r_[True, who[1:] != who[:-1]] if who.size else np.zeros(0, dtype=np.bool_)
    return who[first], size[first]


def _is_worse(one: Ruling, other: Ruling, plan: Plan) -> bool:
    """Whether the first measures worse: few values are bad, large shares are."""
    a, b = one.measured or 0.0, other.measured or 0.0
    kinds = {rule.text: rule.kind for rule in plan.rules_read}
    return a < b if kinds[one.rule] in {"distinct", "entropy"} else a > b
