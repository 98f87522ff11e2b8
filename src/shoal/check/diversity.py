"""How well the values of a sensitive column are mixed in each class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.closeness import equal_distances, ordered_distances, shares_of
from shoal.check.kanonymity import Classes, codes_of
from shoal.check.mix import Mix, mix_of
from shoal.model.verdict import Sensitive

__all__ = ["measure", "numbers_of", "ranks_of_values", "worse_of", "worst_of"]

Floats = NDArray[np.float64]
SOME = 1 << 17
"""Classes that are measured at a time."""


def measure(series: pl.Series, classes: Classes) -> Sensitive:
    """Everything we measure of one sensitive column, each figure in its own worst class.

    A missing value is a value of its own.
    """
    codes, values = codes_of(series)
    mix = mix_of(classes, codes, values)
    if classes.sizes.size == 0:
        return Sensitive(series.name, 0, 0.0, 0.0, 0.0, 0.0, None)
    del codes
    sizes = classes.sizes.astype(np.float64)
    ranks = ranks_of_values(series)
    by_rank = None if ranks is None else mix_of(classes, ranks, int(ranks.max()) + 1)
    if sizes.size <= SOME:
        return worst_of(series.name, mix, by_rank, sizes)
    whole, by_rank_whole = shares_of(mix), None if by_rank is None else shares_of(by_rank)
    found = None
    for first in range(0, sizes.size, SOME):  # of many classes some at a time
        last = first + SOME
        its = None if by_rank is None else by_rank.part(first, last)
        one = worst_of(
            series.name,
            mix.part(first, last),
            its,
            sizes[first:last],
            whole=whole,
            whole_by_rank=by_rank_whole,
        )
        found = one if found is None else worse_of(found, one)
    assert found is not None, "there are classes"
    return found


def worse_of(one: Sensitive, other: Sensitive) -> Sensitive:
    """Of one column the worse of every figure in two parts of the classes."""
    ordered = one.closeness_ordered
    return replace(
        one,
        distinct=min(one.distinct, other.distinct),
        entropy=min(one.entropy, other.entropy),
        recursive=max(one.recursive, other.recursive),
        largest_share=max(one.largest_share, other.largest_share),
        closeness_equal=max(one.closeness_equal, other.closeness_equal),
        closeness_ordered=None if ordered is None else max(ordered, other.closeness_ordered or 0.0),
    )


def worst_of(
    name: str,
    mix: Mix,
    by_rank: Mix | None,
    sizes: Floats,
    *,
    whole: Floats | None = None,
    whole_by_rank: Floats | None = None,
) -> Sensitive:
    """Each figure in its own worst class, of at least one.

    `whole` has the shares of the values in the whole table, where these are not all of its classes.
    """
    starts = mix.start[:-1]
    ordered = None
    if by_rank is not None:
        ordered = float(ordered_distances(by_rank, sizes, whole_by_rank).max())
    share = mix.records / np.repeat(sizes, np.diff(mix.start))
    entropy = -np.add.reduceat(share * np.log(share), starts)
    largest = np.maximum.reduceat(mix.records, starts).astype(np.float64)
    rest = sizes - largest
    recursive = np.divide(largest, rest, out=np.full(rest.size, np.inf), where=rest > 0)
    return Sensitive(
        name=name,
        distinct=int(np.diff(mix.start).min()),
        entropy=float(np.exp(entropy.min())),
        recursive=float(recursive.max()),
        largest_share=float((largest / sizes).max()),
        closeness_equal=float(equal_distances(mix, sizes, whole).max()),
        closeness_ordered=ordered,
    )


def ranks_of_values(series: pl.Series) -> NDArray[np.int64] | None:
    """The place of each cell in the order behind a column, missing last; None where it has none."""
    numbers = numbers_of(series)
    if numbers is None:
        return None
    ranks = numbers.rank("dense").cast(pl.Int64)
    last = int(ranks.max() or 0)  # type: ignore[arg-type]
    return ranks.fill_null(last + 1).to_numpy() - 1


def numbers_of(series: pl.Series) -> pl.Series | None:
    """The order behind a column, or None where it has none: numbers, dates, or text that reads as such."""
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return series.fill_nan(None) if series.dtype.is_float() else series
    if isinstance(series.dtype, pl.Categorical | pl.Enum):  # whose hash is not their class's
        series = series.cast(pl.String)
    if series.dtype != pl.String:
        return None
    if not _is_ordered(series.unique().str.strip_chars()):
        return None
    text = series.str.strip_chars()
    text = text.set(text == "", None)
    numbers = text.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == text.null_count() else text


def _is_ordered(values: pl.Series) -> bool:
    """Whether all texts are numbers, or all dates of one form, which stand in the order of their text."""
    present = values.filter(values != "")
    if present.len() == 0:
        return False
    numbers = present.cast(pl.Float64, strict=False)
    if numbers.null_count() == 0:
        return bool(numbers.is_finite().all())
    return any(
        bool(present.str.contains(form).all())
        for form in (r"^\d{4}-\d{2}-\d{2}$", r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$")
    )
