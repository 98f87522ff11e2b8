"""The border bound on Spark: parts are looked at where their rows are, which is where they are grouped.

What the records of a part pay at least comes home with what the part says of its groups: one number, or one
for each row that is drawn, of which there are as many whatever the size of the table. The cap of these
follows from the release, so it is put on them here. Where what is published has another unit, which only
the release tells, tuples are sent to workers once more.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.bound.border import (
    QUICKLY,
    BoxSearch,
    Part,
    paid_in_part,
    proof_of_shares,
    search_for,
    share_of_paid,
)
from shoal.encode.keys import unpack_keys
from shoal.engines.spark.ask import collected
from shoal.engines.spark.route import Alone, route_all
from shoal.engines.spark.send import of_group
from shoal.engines.spark.tuples import key_names
from shoal.engines.spark.values import InSpark, PartsSolved
from shoal.errors import BrokenPromise
from shoal.group.parts.cut import parts_of
from shoal.model.coded import Coded, Metric, pack
from shoal.model.column import LINE
from shoal.model.grouping import Proof
from shoal.model.parts import Cuts
from shoal.model.task import Task, quiet

__all__ = ["Looking", "look_at_part", "look_at_tuples", "looking_for", "prove_by_parts"]


@dataclass(frozen=True, slots=True, eq=False)
class Looking:
    """What it takes to look at any part: small, and all that travels.

    `alone` are the tuples whose rows come to no worker, though they belong to parts.
    """

    sizes: tuple[int, ...]
    metric: Metric
    cuts: Cuts
    task: Task
    search: BoxSearch
    alone: Alone

    def paid(self, part: Part) -> NDArray[np.float64]:
        """What is found in a part."""
        return paid_in_part(part, metric=self.metric, cuts=self.cuts, task=self.task, search=self.search)


def looking_for(coded: InSpark, task: Task, alone: Alone) -> Looking | None:
    """What workers look for while they group; None where that could not be used.

    What is published may have another unit where rows are withheld, or numbers are missing: then looking at
    every row twice is too dear. And of many columns so many rows may be drawn that they are not sent home.
    """
    looking = _looking(coded, task, 0.0, alone)
    metric, every = looking.metric, looking.search.every
    has_gaps = bool((metric.missing[metric.form == LINE] >= 0).any())
    if task.withhold or (has_gaps and every == 1):
        return None
    return looking if every == 1 or coded.total <= 2 * QUICKLY * every else None


def look_at_tuples(looking: Looking, coded: Coded) -> tuple[tuple[int, str], ...]:
    """On a worker: what is found in every part of which tuples are here, in letters."""
    return tuple((part, _in_letters(looking.paid(its))) for part, its in _parted(looking, coded.plain))


def prove_by_parts(coded: InSpark, task: Task, grouping: PartsSolved, loss: float) -> Proof:
    """What the records of all parts pay at least, added up in the order of parts.

    `loss` is that of a record in the release at hand, on average.
    """
    if not grouping.looked or coded.columns is not coded.coder.columns:
        return _prove_once_more(coded, task, loss)
    assert coded.cuts is not None, "a table of many tuples is cut"
    search = _looking(coded, task, loss).search
    told = sorted(one for account in grouping.accounts for one in account.paid)
    if len({part for part, _ in told}) != len(told):
        raise BrokenPromise("Every part is looked at once.")
    shares = [share_of_paid(_of_letters(letters), search) for _, letters in told]
    return proof_of_shares(shares, search, coded.cuts, coded.total)


def _looking(coded: InSpark, task: Task, loss: float, alone: Alone | None = None) -> Looking:
    assert coded.cuts is not None, "a table of many tuples is cut"
    return Looking(
        tuple(coded.coder.sizes),
        pack([(axis, column.weight) for column in coded.columns for axis in column.axes]),
        coded.cuts,
        replace(task, threads=1, progress=quiet),
        search_for(task, coded.total, len(coded.columns), coded.about.plan.part, loss),
        Alone.none(len(key_names(coded.coder))) if alone is None else alone,
    )


def _parted(looking: Looking, coded: Coded) -> Iterator[tuple[int, Part]]:
    """The tuples of each part that are here, and those of it that stand alone: all that it has."""
    codes, count = coded.codes, coded.count
    alone = unpack_keys(looking.alone.keys, looking.sizes)
    belongs, part = parts_of(alone, looking.cuts), parts_of(codes, looking.cuts)
    for one in np.unique(part).tolist():
        mine, more = part == one, belongs == one
        if not more.any():
            yield one, ((codes, count) if mine.all() else (codes[mine], count[mine]))
            continue
        its_codes = np.concatenate([codes[mine], alone[more]])
        its_count = np.concatenate([count[mine], looking.alone.records[more]])
        order = np.lexsort(its_codes.T[::-1])
        yield one, (its_codes[order], its_count[order])


def _in_letters(numbers: NDArray[np.float64]) -> str:
    return b64encode(numbers.astype("<f8").tobytes()).decode("ascii")


def _of_letters(letters: str) -> NDArray[np.float64]:
    return np.frombuffer(b64decode(letters), dtype="<f8").astype(np.float64)


def _prove_once_more(coded: InSpark, task: Task, loss: float) -> Proof:
    """The same by sending all tuples to workers, in the unit of what is published."""
    looking = _looking(coded, task, loss)
    names = key_names(coded.coder)
    tuples = coded.rows.frame.groupBy(*names).agg(coded.records.alias("n"))
    by_part = route_all(tuples, looking.cuts, looking.sizes, len(names))
    told = by_part.groupBy("block").applyInArrow(
        of_group(look_at_part, looking), "part bigint, share double"
    )
    found = collected(told, "proving a bound")
    order = np.argsort(found.column("part").to_numpy(), kind="stable")
    shares = found.column("share").to_numpy()[order].tolist()
    return proof_of_shares(shares, looking.search, looking.cuts, coded.total)


def look_at_part(looking: Looking, part: int, table: Any) -> Any:
    """On a worker: what the records of one part pay at least."""
    many = table.num_columns - 2
    keys = np.stack([table.column(1 + at).to_numpy() for at in range(many)])
    order = np.lexsort(keys[::-1])  # the same sums whatever the order in which tuples came
    codes = unpack_keys(keys[:, order], looking.sizes)
    count = table.column("n").to_numpy().astype(np.int64)[order]
    share = share_of_paid(looking.paid((codes, count)), looking.search)
    return pa.table({"part": pa.array([part], pa.int64()), "share": pa.array([share])})
