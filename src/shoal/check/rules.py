"""Whether every class of a finished table obeys its rules, measured from the published values alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.closeness import equal_distances, ordered_distances
from shoal.check.diversity import numbers_of
from shoal.check.kanonymity import Classes, codes_of
from shoal.check.mix import Mix, mix_of
from shoal.check.persons import Standing
from shoal.model.hierarchy import Hierarchy
from shoal.model.plain import as_text
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE, Rule
from shoal.model.verdict import Ruling

__all__ = ["Close", "broken", "close_on", "rule_on", "rulings_of", "unit_ruling"]

_TOLERANCE = 1e-9
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def rulings_of(
    table: pl.DataFrame, classes: Classes, rules: Sequence[Rule], trees: Mapping[str, Hierarchy]
) -> tuple[Ruling, ...]:
    """Every rule, measured in its worst class. Needs the column of each rule, and its tree by hierarchy."""
    return tuple(rule_on(table[rule.column], classes, rule, trees.get(rule.column)) for rule in rules)


def rule_on(series: pl.Series, classes: Classes, rule: Rule, tree: Hierarchy | None) -> Ruling:
    """One rule on the values of one column; empty text and missing are one value."""
    if classes.sizes.size == 0:
        return Ruling(rule.text, 0.0, False)
    series = _one_missing(series)
    if rule.kind == CLOSE:
        return close_on(Close.of(series, classes.records, rule, tree), np.arange(len(series)), classes)
    sizes = classes.sizes.astype(np.float64)
    mix = mix_of(classes, *codes_of(series))
    starts = mix.start[:-1]
    share = mix.records / np.repeat(sizes, np.diff(mix.start))
    if rule.kind == DISTINCT:
        found = np.diff(mix.start).astype(np.float64)
        return _ruling(rule, found, found >= rule.limit, worst=np.min)
    if rule.kind == ENTROPY:
        found = np.exp(-np.add.reduceat(share * np.log(share), starts))
        return _ruling(rule, found, found >= rule.limit * (1 - _TOLERANCE), worst=np.min)
    largest = np.maximum.reduceat(mix.records, starts).astype(np.float64)
    if rule.kind == RECURSIVE:
        rest = sizes - _commonest(mix, rule.tail - 1)
        found = np.divide(largest, rest, out=np.full(rest.size, np.inf), where=rest > 0)
        return _ruling(rule, found, largest < rule.limit * rest, worst=np.max)
    found = largest / sizes
    return _ruling(rule, found, found <= rule.limit + _TOLERANCE, worst=np.max)


def _ruling(rule: Rule, found: Floats, holds: NDArray[np.bool_], *, worst: np.ufunc | object) -> Ruling:
    failing = int((~holds).sum())
    return Ruling(rule.text, float(worst(found)), failing == 0, failing)  # type: ignore[operator]


def _commonest(mix: Mix, many: int) -> Floats:
    """The records of each class's `many` commonest values."""
    owner = np.repeat(np.arange(mix.start.size - 1), np.diff(mix.start))
    order = np.lexsort((-mix.records, owner))
    rank = np.arange(order.size) - mix.start[owner[order]]
    kept = order[rank < many]
    weights = mix.records[kept].astype(np.float64)
    return np.bincount(owner[kept], weights=weights, minlength=mix.start.size - 1).astype(np.float64)


def _one_missing(series: pl.Series) -> pl.Series:
    """Empty text and what is no number are missing."""
    if series.dtype == pl.String:
        return series.set(series == "", None)
    return series.fill_nan(None) if series.dtype.is_float() else series


@dataclass(frozen=True, slots=True, eq=False)
class Close:
    """A rule of closeness, and how it sees the cells of a whole table.

    `codes` has a line per step of the hierarchy, of which other distances have one; `shares` those of its
    codes in the whole table.
    """

    rule: Rule
    codes: tuple[Integers, ...]
    shares: tuple[Floats, ...]

    @classmethod
    def of(cls, cells: pl.Series, records: Integers, rule: Rule, tree: Hierarchy | None) -> Close:
        """From all cells, or from the different ones with their records."""
        codes = _steps(_one_missing(cells), rule, tree)
        held = [np.bincount(its, weights=records) for its in codes]
        return cls(rule, codes, tuple(its / max(its.sum(), 1.0) for its in held))


def _steps(series: pl.Series, rule: Rule, tree: Hierarchy | None) -> tuple[Integers, ...]:
    """Codes of the cells, one array per step of the hierarchy."""
    if rule.distance == "equal":
        return (codes_of(series)[0],)
    if rule.distance == "ordered":
        numbers = numbers_of(series)
        ranks = (series if numbers is None else numbers).rank("dense").cast(pl.Int64)
        last = int(ranks.max() or 0)  # type: ignore[arg-type]
        return (ranks.fill_null(last + 1).to_numpy() - 1,)
    assert tree is not None, "a rule by hierarchy comes with its tree"
    place = {leaf: at for at, leaf in enumerate(tree.leaves)}
    codes = np.array([place.get(value, len(place)) for value in as_text(series).to_list()], dtype=np.int64)
    return tuple(
        np.append(tree.first[min(level, tree.height)], len(place)).astype(np.int64)[codes]
        for level in range(max(tree.height, 1))
    )


def close_on(close: Close, cells: Integers, classes: Classes) -> Ruling:
    """The rule on some classes, whose rows have these cells by their places in what it has seen."""
    measure = ordered_distances if close.rule.distance == "ordered" else equal_distances
    sizes = classes.sizes.astype(np.float64)
    total = np.zeros(sizes.size)
    for codes, shares in zip(close.codes, close.shares, strict=True):
        total += measure(mix_of(classes, codes[cells], shares.size), sizes, shares)
    found = total / len(close.codes)
    return _ruling(close.rule, found, found <= close.rule.limit + _TOLERANCE, worst=np.max)


def unit_ruling(unit: str, standing: Standing, k: int) -> Ruling:
    """Whether every class holds k different persons."""
    persons = standing.sizes
    failing = int((persons < k).sum())
    fewest = float(persons.min()) if persons.size else 0.0
    holds = persons.size > 0 and failing == 0
    return Ruling(f"{unit}: at least {k} in every class", fewest, holds, failing)


def broken(rulings: Sequence[Ruling], classes: Classes) -> tuple[str, ...]:
    """What speaks against the rules, in words and counts."""
    return tuple(
        f"The rule {ruling.rule!r} fails in {ruling.failing} of {classes.sizes.size} classes; the worst "
        f"measures {_figure(ruling.measured)}."
        for ruling in rulings
        if not ruling.holds
    )


def _figure(value: float | None) -> str:
    return "infinity" if value is None or math.isinf(value) else f"{value:.6g}"
