"""Risk of a table as it is: who stands alone, by which columns, and in the population.

Journalist risk: the expected 1 / F of a class with f records in the sample, F its unknown size in the
population (Benedetti and Franconi 1998, as in mu-Argus). Population uniques: Zayatz 1991, who takes the
population's class sizes to be distributed like the sample's.

Where a unit says who a row belongs to, all of this counts persons; who stands in several classes is
found in the smallest of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kanonymity import Classes, codes_of, join_codes, records_of
from shoal.check.persons import Standing, people_of, standing_of
from shoal.errors import DataError, PlanError
from shoal.model.exposure import Exposure, Singling
from shoal.model.names import check_named
from shoal.model.whom import Behind, Whom

__all__ = ["expose", "journalist_risk", "population_uniques"]

MOST_PAIRS = 10
MOST_COLUMNS = 20
"""Columns that are looked at in pairs and one at a time left out: those that single out most alone."""
PIECES = 64
ZAYATZ = "Zayatz 1991"
WEIGHTS = "by sampling weights"
WHOLE = "none needed: the table is its own population"
Sizes = NDArray[np.int64]
Codes = tuple[NDArray[np.int64], int]


def expose(
    table: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sampling: float | None = None,
    sampling_weight: str | None = None,
    threshold: float = 0.2,
    count: str | None = None,
    unit: str | None = None,
    pairs: bool = True,
) -> Exposure:
    """Measure the risks of a table by the columns `quasi`; empty text and null are one missing value.

    `sampling_weight` names the column that says how many of the population each record speaks for.
    Without `pairs`, columns are looked at alone and all together, which is sooner done.
    """
    whom = Whom.read(unit=unit, count=count)
    _check(table, quasi, sampling, threshold, whom)
    weights = None
    if sampling_weight is not None:
        weights = _weights(table, sampling_weight, quasi, sampling, whom)
        sampling = min(1.0, table.height / float(weights.sum()))
    table = table.select(*quasi, *whom.columns)
    table = table.with_columns(pl.when(pl.col(pl.String) != "").then(pl.col(pl.String)))
    records = records_of(table, whom.count)
    total = int(records.sum())
    if total == 0:
        raise DataError("The table holds no records. Nothing can be at risk.")
    persons = None
    is_row = whom.count is None and whom.unit is not None and table[whom.unit].n_unique() == table.height
    if whom.unit is not None and not is_row:  # as numbers, which are sorted sooner than texts
        persons = Behind(np.arange(table.height), pl.Series(people_of(table[whom.unit])[0]))

    def standing(parts: Iterable[Codes]) -> Standing:
        return standing_of(_classes(join_codes(parts, table.height)[0], records), persons)

    def singling(columns: Sequence[str], stand: Standing) -> Singling:
        return Singling(tuple(columns), stand.alone, stand.above(threshold))

    alone = sorted(
        (singling([name], standing([codes_of(table[name])])) for name in quasi), key=_worst_first
    )
    worst = {name for one in alone[:MOST_COLUMNS] for name in one.columns}
    near = {name: codes_of(table[name]) for name in quasi if name in worst}  # as they were named
    far = join_codes((codes_of(table[name]) for name in quasi if name not in worst), table.height)
    whole = standing([far, *near.values()])
    paired = [
        singling(pair, standing([near[name] for name in pair]))
        for pair in combinations(near if pairs else (), 2)
    ]
    dropped = [
        singling([name], standing([far, *(codes for other, codes in near.items() if other != name)]))
        for name in near
        if pairs and len(quasi) > 1
    ]
    share = 1.0 if sampling is None else sampling
    risk = journalist_risk(whole.smallest, share)
    highest, right = float(risk.max()), float((risk * whole.many).sum())
    uniques = whole.alone * _chance_alone(whole.sizes, share)
    if weights is not None:
        label = _classes(join_codes([far, *near.values()], table.height)[0], records).label
        highest, right, uniques = _by_weight(label, weights)
    return Exposure(
        records=total,
        persons=whole.total if whom.counted == "persons" else None,
        classes=whole.sizes.size,
        smallest_class=int(whole.sizes.min()),
        threshold=threshold,
        uniques=whole.alone,
        at_risk=whole.above(threshold),
        prosecutor_highest=1.0 / int(whole.sizes.min()),
        prosecutor_mean=float((whole.many / whole.smallest).sum()) / whole.total,
        journalist_highest=highest,
        marketer=right / whole.total,
        sampling=sampling,
        population_uniques=uniques,
        estimator=WEIGHTS if weights is not None else WHOLE if sampling is None else ZAYATZ,
        columns=tuple(alone),
        pairs=tuple(sorted(paired, key=_worst_first)[:MOST_PAIRS]),
        without=tuple(sorted(dropped, key=lambda one: (one.uniques, one.at_risk))),
        not_paired=len(quasi) - len(near) * pairs,
    )


def _classes(key: NDArray[np.int64], records: NDArray[np.int64]) -> Classes:
    """Rows with one key are a class; rows of 0 records are in none."""
    alive = records > 0
    kept, first, place = np.unique(key[alive], return_index=True, return_inverse=True)
    label = np.full(key.size, -1, dtype=np.int64)
    label[alive] = place.ravel()
    sizes = np.rint(np.bincount(place.ravel(), weights=records[alive], minlength=kept.size))
    return Classes(label, records, sizes.astype(np.int64), np.flatnonzero(alive)[first])


def _weights(
    table: pl.DataFrame, name: str, quasi: Sequence[str], sampling: float | None, whom: Whom
) -> NDArray[np.float64]:
    """The sampling weight of every row."""
    if sampling is not None or name in quasi or whom.count is not None or whom.counted == "persons":
        raise PlanError(
            "A sampling weight says of each record how many of the population it speaks for: it is no "
            "quasi-identifier, and goes with neither a share, a count nor a unit. Leave these out.",
            field="sampling_weight",
            column=name,
        )
    check_named([name], table.columns)
    numbers = table[name].cast(pl.Float64, strict=False)
    bad = int((~(numbers.is_finite() & (numbers >= 1))).fill_null(True).sum())
    if bad:
        raise DataError(
            f"Column {name!r} has {bad} of {table.height} cells that are no sampling weight: a number of "
            "at least 1. Clean those rows first.",
            field="sampling_weight",
            column=name,
        )
    return numbers.to_numpy()


def _by_weight(label: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[float, float, float]:
    """The highest journalist risk, the right matches expected, and how many are alone in the population.

    The sampling share of a class is its records by the sum of their weights (Benedetti and Franconi 1998);
    a record alone here is alone there with just that chance.
    """
    sizes = np.bincount(label)
    share = np.round(np.minimum(1.0, sizes / np.bincount(label, weights=weights)), 4)
    alike, many = np.unique(np.column_stack([sizes, np.maximum(share, 1e-4)]), axis=0, return_counts=True)
    risks = [float(journalist_risk(np.array([int(size)]), p)[0]) for size, p in alike.tolist()]
    right = float(np.dot(many * alike[:, 0], risks))
    return max(risks), right, float(share[sizes == 1].sum())


def journalist_risk(sizes: Sizes, sampling: float) -> NDArray[np.float64]:
    """The expected 1 / F for each class of f records: the integral of p u^(f - 1) / (p + (1 - p) u).

    F has a negative binomial distribution given f, and 1 / h is the integral of t^(h - 1). With v = log(p +
    (1 - p) u) the integrand is p / (1 - p) u^(f - 1), without a pole; it is summed over pieces that halve
    towards v = 0, where that of a large class stands.
    """
    if sampling >= 1:
        return 1.0 / sizes
    values, place = np.unique(sizes, return_inverse=True)
    node, weight = np.polynomial.legendre.leggauss(32)
    edge = np.append(math.log(sampling) * 0.5 ** np.arange(PIECES), 0.0)
    half = np.diff(edge)[:, None] / 2
    v = edge[:-1, None] + half * (1 + node)
    u = np.clip(1 + np.expm1(v) / (1 - sampling), 0.0, 1.0)
    odds = sampling / (1 - sampling)
    found = [odds * float((u ** (size - 1) * weight * half).sum()) for size in values.tolist()]
    return np.array(found)[place]


def population_uniques(sizes: Sizes, sampling: float) -> float:
    """How many records are alone in the population: sample uniques times P(1 there | 1 here)."""
    return int((sizes == 1).sum()) * _chance_alone(sizes, sampling)


def _chance_alone(sizes: Sizes, sampling: float) -> float:
    """P(alone in the population | alone here).

    With C_j the share of classes of j, P = p C_1 / sum of C_j j p (1 - p)^(j - 1).
    """
    uniques = int((sizes == 1).sum())
    if uniques == 0 or sampling >= 1:
        return 1.0
    seen_once = sizes * (1 - sampling) ** (sizes - 1.0)
    return float(uniques / seen_once.sum())


def _worst_first(one: Singling) -> tuple[int, int]:
    return -one.uniques, -one.at_risk


def _check(
    table: pl.DataFrame, quasi: Sequence[str], sampling: float | None, threshold: float, whom: Whom
) -> None:
    if not quasi:
        raise PlanError("No quasi-identifier is named. Name at least one column.", field="quasi")
    if sampling is not None and not 0 < sampling <= 1:
        raise PlanError(
            f"sampling = {sampling!r} is not a share. Give a number above 0 and at most 1.",
            field="sampling",
        )
    if not 0 < threshold <= 1:
        raise PlanError(
            f"threshold = {threshold!r} is not a chance. Give a number above 0 and at most 1.",
            field="threshold",
        )
    named = [*quasi, *whom.columns]
    doubled = sorted({name for name in named if named.count(name) > 1})
    if doubled:
        raise PlanError(
            f"A column is named twice: {', '.join(doubled)}. Give it one role.", column=doubled[0]
        )
    check_named(named, table.columns)
    whom.check_against(table.columns)
