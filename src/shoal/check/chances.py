"""Who stands in classes of which size, in a table as it was and as it is published."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.check import centres
from shoal.check.claims import Claims, classes_as_said
from shoal.check.exposure import journalist_risk
from shoal.check.kanonymity import classes_of, codes_of, records_of
from shoal.check.mix import mix_of
from shoal.check.persons import Standing, standing_of
from shoal.errors import DataError
from shoal.model.plain import is_plain
from shoal.model.report import BANDS, Chances, Context, Mixed
from shoal.model.whom import Behind, Whom

__all__ = ["alone_with", "chances_before", "chances_now", "mixed_of"]


def chances_before(table: pl.DataFrame, claims: Claims, whom: Whom, context: Context) -> Chances | None:
    """The chances in the original, None where it does not fit the plan, as `verify` says.

    Empty text and null are one missing value.
    """
    quasi: list[str] = []
    for name in claims.quasi:
        quasi += claims.parts[name] if claims.kinds.get(name) == "place" else (name,)
    wanted = list(dict.fromkeys([*quasi, *whom.columns]))
    if not {*wanted} <= {*table.columns}:
        return None
    table = table.select(wanted)
    table = table.with_columns(pl.when(pl.col(pl.String) != "").then(pl.col(pl.String)))
    try:
        classes = classes_of(table, quasi, records_of(table, whom.count))
    except DataError:  # a count that counts nothing, a column that is no plain one
        return None
    if classes.total == 0:
        return None
    persons = None if whom.unit is None else Behind(np.arange(table.height), table[whom.unit])
    return _chances(standing_of(classes, persons), whom.counted, context)


def chances_now(table: pl.DataFrame, claims: Claims, whom: Whom, context: Context) -> Chances | None:
    """The chances in a release; None where it holds no record.

    Nobody can count its persons: where the plan names a unit, the chances are those of its k, or of one
    person where a class holds fewer records than that.
    """
    found = standing_of(classes_as_said(table, claims))
    if found.total == 0:
        return None
    limit = None if whom.unit is None else claims.k if 1 <= claims.k <= found.sizes.min() else 1
    counted = "records" if whom.unit is not None else whom.counted
    return _chances(found, counted, context, limit=limit)


def mixed_of(table: pl.DataFrame, claims: Claims, names: tuple[str, ...]) -> tuple[Mixed, ...]:
    """How well sensitive values are mixed, and how many records stand where there is but one."""
    found = []
    for name in names:
        classes = classes_as_said(table, claims)
        values = table[name]
        if claims.style == "centres":
            values, classes, unfit = centres.unfold(values, classes)
            if unfit:  # which `verify` says
                continue
        mix = mix_of(classes, *codes_of(values))
        many = np.diff(mix.start)
        largest = np.maximum.reduceat(mix.records, mix.start[:-1]) / classes.sizes
        certain = int(classes.sizes[many == 1].sum())
        found.append(Mixed(name, int(many.min()), float(largest.max()), certain))
    return tuple(found)


def alone_with(table: pl.DataFrame, claims: Claims, kept: tuple[str, ...]) -> int:
    """How many records are alone once the kept columns are known besides; 0 where lines are centres."""
    if not kept or claims.style == "centres":
        return 0
    sensitive = {name for name in claims.others if name not in kept}
    known = [
        name
        for name, dtype in table.schema.items()
        if name not in {*sensitive, claims.count, claims.pseudonym} and is_plain(dtype)
    ]
    return int((classes_of(table, known, records_of(table, claims.count)).sizes == 1).sum())


def _chances(standing: Standing, counted: str, context: Context, *, limit: int | None = None) -> Chances:
    share = 1.0 if context.sampling is None else context.sampling
    smallest, many = standing.smallest, standing.many
    if limit is not None:
        smallest, many = np.array([limit]), np.array([standing.total])
    risk = journalist_risk(smallest, share)
    band = np.searchsorted([most for _, most in BANDS if most is not None], standing.smallest)
    bands = np.bincount(band, weights=standing.many, minlength=len(BANDS))
    return Chances(
        counted=counted,
        total=standing.total,
        classes=int(standing.sizes.size),
        smallest=int(standing.sizes.min()),
        alone=standing.alone,
        above=int(many[1.0 / smallest > context.threshold + 1e-12].sum()),
        highest=float(1.0 / smallest.min()),
        mean=float((many / smallest).sum() / many.sum()),
        journalist=float(risk.max()),
        marketer=float((risk * many).sum() / many.sum()),
        bands=tuple(np.rint(bands).astype(int).tolist()),
        at_most=limit is not None,
    )
