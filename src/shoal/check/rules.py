"""Whether every class of a finished table obeys its rules, measured from the published values alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.diversity import numbers_of
from shoal.check.kanonymity import Classes, codes_of
from shoal.check.mix import Mix, mix_of
from shoal.check.persons import Standing
from shoal.model.hierarchy import Hierarchy
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE, Rule
from shoal.model.verdict import Ruling

__all__ = ["broken", "rule_on", "rulings_of", "unit_ruling"]

_TOLERANCE = 1e-9
Floats = NDArray[np.float64]


def rulings_of(
    table: pl.DataFrame, classes: Classes, rules: Sequence[Rule], trees: Mapping[str, Hierarchy]
) -> tuple[Ruling, ...]:
    """Every rule, measured in its worst class. Needs the column of each rule, and its tree by hierarchy."""
    return tuple(rule_on(table[rule.column], classes, rule, trees.get(rule.column)) for rule in rules)


def rule_on(series: pl.Series, classes: Classes, rule: Rule, tree: Hierarchy | None) -> Ruling:
    """One rule on the values of one column; empty text and missing are one value."""
    if series.dtype == pl.String:
        series = series.set(series == "", None)
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if classes.sizes.size == 0:
        return Ruling(rule.text, 0.0, False)
    if rule.kind == CLOSE:
        found = _distances(series, classes, rule, tree)
        return _ruling(rule, found, found <= rule.limit + _TOLERANCE, worst=np.max)
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


def _distances(series: pl.Series, classes: Classes, rule: Rule, tree: Hierarchy | None) -> Floats:
    """How far each class's distribution is from the table's."""
    if rule.distance == "equal":
        return _apart(classes, *codes_of(series))
    if rule.distance == "ordered":
        numbers = numbers_of(series)
        ranks = (series if numbers is None else numbers).rank("dense").cast(pl.Int64)
        last = int(ranks.max() or 0)  # type: ignore[arg-type]
        codes = ranks.fill_null(last + 1).to_numpy() - 1
        size = int(codes.max()) + 1
        # each gap between neighbouring values parts the values in two
        halves = [_apart(classes, (codes > gap).astype(np.int64), 2) for gap in range(size - 1)]
        return np.sum(halves, axis=0) / (size - 1) if halves else np.zeros(classes.sizes.size)
    assert tree is not None, "a rule by hierarchy comes with its tree"
    place = {leaf: at for at, leaf in enumerate(tree.leaves)}
    text = series.cast(pl.String) if not series.dtype.is_float() else _whole(series)
    codes = np.array([place.get(value, len(place)) for value in text.to_list()], dtype=np.int64)
    height = max(tree.height, 1)
    total = np.zeros(classes.sizes.size)
    for level in range(height):
        first = np.append(tree.first[min(level, tree.height)], len(place)).astype(np.int64)
        total += _apart(classes, first[codes], len(place) + 1)
    return total / height


def _whole(series: pl.Series) -> pl.Series:
    return series.cast(pl.Int64).cast(pl.String)


def _apart(classes: Classes, codes: NDArray[np.int64], values: int) -> Floats:
    """Half the sum of |p - q| over the values, per class."""
    mix = mix_of(classes, codes, values)
    whole = np.bincount(mix.value, weights=mix.records, minlength=values) / classes.total
    p = mix.records / np.repeat(classes.sizes.astype(np.float64), np.diff(mix.start))
    q = whole[mix.value]
    # values that a class lacks differ by their whole share: 1 less the shares of those it has
    here = np.add.reduceat(np.abs(p - q) - q, mix.start[:-1])
    return np.maximum(0.0, (here + 1.0) / 2)


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
