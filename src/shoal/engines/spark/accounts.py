"""What every part says of its groups: a line among its rows, and all that the driver knows of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.ask import collected
from shoal.engines.spark.values import ACCOUNT, Account
from shoal.model.coded import pack
from shoal.model.column import Column
from shoal.recode.faces import Faces, lost_on

__all__ = ["account_of", "accounts_in", "with_account"]


def with_account(arrays: list[Any], names: Sequence[str], account: Account) -> Any:
    """Published rows, and one more that says what is known of them."""
    rows = len(arrays[0])
    table = pa.table([*arrays, pa.nulls(rows, pa.string())], names=[*names, ACCOUNT])
    told = [pa.nulls(1, one.type) for one in table.columns[:-1]]
    line = pa.table([*told, pa.array([json.dumps(asdict(account))], pa.string())], names=[*names, ACCOUNT])
    return pa.concat_tables([line, table])


def account_of(
    columns: Sequence[Column],
    faces: Faces,
    *,
    part: int,
    steps: int,
    withheld: int,
    paid: tuple[tuple[int, str], ...] = (),
) -> Account:
    """What the groups of a part show and lose."""
    metric = pack([(axis, column.weight) for column in columns for axis in column.axes])
    lows, highs, losses, stars = [], [], [], []
    for axis, column in enumerate(columns):
        lost = lost_on(metric, faces, axis) * faces.size
        low, high = faces.low[axis], faces.high[axis]
        missing = column.axes[0].missing
        shown = high != missing if column.numbers else np.zeros(faces.groups, dtype=np.bool_)
        starred = (high == missing) & (low != high) if column.numbers else shown
        lows.append(int(low[shown].min()) if shown.any() else -1)
        highs.append(int(high[shown].max()) if shown.any() else -1)
        losses.append(math.fsum(lost[~starred]))
        stars.append(math.fsum(lost[starred]))
    return Account(
        part=part,
        records=int(faces.size.sum()),
        groups=faces.groups,
        withheld=withheld,
        steps=steps,
        low=tuple(lows),
        high=tuple(highs),
        lost=tuple(losses),
        starred=tuple(stars),
        paid=paid,
    )


def accounts_in(published: Any) -> tuple[Account, ...]:
    """What all parts say, by part; asking for it makes Spark do the work."""
    from pyspark.sql import functions as f

    told = published.where(f.col(ACCOUNT).isNotNull()).select(f.col(ACCOUNT))
    lines = collected(told, "grouping parts").column(0).to_pylist()
    found = [Account(**{word: _fixed(value) for word, value in json.loads(line).items()}) for line in lines]
    return tuple(sorted(found, key=lambda one: (one.part, one.records, one.lost)))


def _fixed(value: Any) -> Any:
    return tuple(map(_fixed, value)) if isinstance(value, list) else value
