"""Risk of a table as it is: who stands alone, by which columns, and in the population.

Journalist risk: the expected 1 / F of a class with f records in the sample, F its unknown size in the
population (Benedetti and Franconi 1998, as in mu-Argus). Population uniques: Zayatz 1991, who takes the
population's class sizes to be distributed like the sample's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kanonymity import classes_of, records_of
from shoal.errors import DataError, PlanError
from shoal.model.exposure import Exposure, Singling
from shoal.model.names import check_named

__all__ = ["expose", "journalist_risk", "population_uniques"]

MOST_PAIRS = 10
ZAYATZ = "Zayatz 1991"
WHOLE = "none needed: the table is its own population"
Sizes = NDArray[np.int64]


def expose(
    table: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sampling: float | None = None,
    threshold: float = 0.2,
    count: str | None = None,
) -> Exposure:
    """Measure the risks of a table by the columns `quasi`; empty text and null are one missing value."""
    _check(table, quasi, sampling, threshold, count)
    named = [*quasi, *((count,) if count is not None else ())]
    table = table.select(named).with_columns(pl.when(pl.col(pl.String) != "").then(pl.col(pl.String)))
    records = records_of(table, count)
    sizes = classes_of(table, quasi, records).sizes
    total = int(sizes.sum())
    if total == 0:
        raise DataError("The table holds no records. Nothing can be at risk.")

    def singling(columns: Sequence[str]) -> Singling:
        its = sizes if tuple(columns) == tuple(quasi) else classes_of(table, columns, records).sizes
        return Singling(tuple(columns), int((its == 1).sum()), _above(its, threshold))

    whole = singling(quasi)
    alone = sorted((singling([name]) for name in quasi), key=_worst_first)
    pairs = sorted((singling(pair) for pair in combinations(quasi, 2)), key=_worst_first)
    without = [singling([other for other in quasi if other != name]) for name in quasi if len(quasi) > 1]
    dropped = [
        Singling((name,), left.uniques, left.at_risk) for name, left in zip(quasi, without, strict=False)
    ]
    share = 1.0 if sampling is None else sampling
    risk = journalist_risk(sizes, share)
    return Exposure(
        records=total,
        classes=sizes.size,
        smallest_class=int(sizes.min()),
        threshold=threshold,
        uniques=whole.uniques,
        at_risk=whole.at_risk,
        prosecutor_highest=1.0 / int(sizes.min()),
        prosecutor_mean=sizes.size / total,
        journalist_highest=float(risk.max()),
        marketer=float((risk * sizes).sum() / total),
        sampling=sampling,
        population_uniques=population_uniques(sizes, share),
        estimator=WHOLE if sampling is None else ZAYATZ,
        columns=tuple(alone),
        pairs=tuple(pairs[:MOST_PAIRS]),
        without=tuple(sorted(dropped, key=lambda one: (one.uniques, one.at_risk))),
    )


def journalist_risk(sizes: Sizes, sampling: float) -> NDArray[np.float64]:
    """The expected 1 / F for each class of f records: the integral of p u^(f - 1) / (p + (1 - p) u).

    F has a negative binomial distribution given f, and 1 / h is the integral of t^(h - 1).
    """
    from scipy.integrate import quad  # a release needs none: its users do not wait for SciPy

    values, place = np.unique(sizes, return_inverse=True)
    if sampling >= 1:
        return 1.0 / sizes
    rest = 1 - sampling
    found = [
        quad(lambda u, f=size: sampling * u ** (f - 1) / (sampling + rest * u), 0.0, 1.0, limit=200)[0]
        for size in values.tolist()
    ]
    return np.array(found)[place]


def population_uniques(sizes: Sizes, sampling: float) -> float:
    """How many records are alone in the population: sample uniques times P(1 there | 1 here).

    With C_j the share of classes of j, P = p C_1 / sum of C_j j p (1 - p)^(j - 1).
    """
    uniques = int((sizes == 1).sum())
    if uniques == 0 or sampling >= 1:
        return float(uniques)
    seen_once = sizes * (1 - sampling) ** (sizes - 1.0)
    return float(uniques * uniques / seen_once.sum())


def _above(sizes: Sizes, threshold: float) -> int:
    return int(sizes[1.0 / sizes > threshold + 1e-12].sum())


def _worst_first(one: Singling) -> tuple[int, int]:
    return -one.uniques, -one.at_risk


def _check(
    table: pl.DataFrame,
    quasi: Sequence[str],
    sampling: float | None,
    threshold: float,
    count: str | None,
) -> None:
    if not quasi:
        raise PlanError("No quasi-identifier is named. Name at least one column with -q or quasi.")
    if sampling is not None and not 0 < sampling <= 1:
        raise PlanError(f"sampling = {sampling!r} is not a share. Give a number above 0 and at most 1.")
    if not 0 < threshold <= 1:
        raise PlanError(f"threshold = {threshold!r} is not a chance. Give a number above 0 and at most 1.")
    named = [*quasi, *((count,) if count is not None else ())]
    doubled = sorted({name for name in named if named.count(name) > 1})
    if doubled:
        raise PlanError(f"A column is named twice: {', '.join(doubled)}. Name it once.")
    check_named(named, table.columns)
