"""Every part grouped by itself, where its rows were put aside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.keys import narrowest, pack_keys, unpack_keys
from shoal.engines.stream.tuples import heavy
from shoal.engines.stream.under_way import under_way
from shoal.engines.stream.values import InParts, PartGroups
from shoal.errors import DataError
from shoal.group.parts.cut import merge_small, parts_of
from shoal.group.parts.sample import add, count_tuples
from shoal.model.coded import Coded
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task, quiet
from shoal.read.nameless import Nameless, check_room
from shoal.recode.faces import Faces, faces_of, join_faces

__all__ = ["bytes_a_row", "carried_kinds", "deal", "group_in_parts"]

Work = Callable[[Task, Coded], Grouping]
LARGE = 3
"""A part of so many times the rows that were wanted is looked at for tuples of very many copies."""
CHUNK = 1 << 20


def carried_kinds(coded: InParts) -> list[tuple[str, np.dtype[Any]]]:
    """How what is carried is put aside, by column."""
    kinds = narrowest([one.size for one in coded.carried])
    return [(f"s{at}", kind) for at, kind in enumerate(kinds)]


def bytes_a_row(coded: InParts) -> int:
    """Of scratch, for each row: its codes and what is carried, then its class and what is carried."""
    codes = sum(kind.itemsize for kind in narrowest(coded.coder.sizes))
    carried = sum(kind.itemsize for _, kind in carried_kinds(coded))
    return (codes if coded.whole is None else 0) + 8 + 2 * carried


def group_in_parts(coded: InParts, task: Task, plan: Plan, work: Work) -> PartGroups:
    """The work applied to the few tuples, or to each part."""
    check_room(coded.table.folder, bytes_a_row(coded) * coded.total)
    if coded.whole is not None:
        grouping = work(task, coded.whole)
        faces, _ = faces_of(coded.whole, grouping)
        return PartGroups(
            faces,
            np.zeros(1, dtype=np.int64),
            (),
            grouping.withheld,
            grouping.steps,
            1,
            whole=grouping,
            proof=grouping.proof,
            objective=grouping.objective,
            factor=grouping.factor,
        )
    return _PutAside(coded, plan).group(task, work)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    faces: Faces
    rows: Nameless
    withheld: int
    steps: int


class _PutAside:
    """The rows of every part in a file of its own."""

    def __init__(self, coded: InParts, plan: Plan) -> None:
        assert coded.cuts is not None, "a table of many tuples is cut"
        self.coded = coded
        self.plan = plan
        self.cuts = coded.cuts
        codes = narrowest(coded.coder.sizes)
        self.carried = carried_kinds(coded)
        self.line = np.dtype([*((f"q{at}", kind) for at, kind in enumerate(codes)), *self.carried])
        self.out = np.dtype([("g", np.int32), *self.carried])
        self.folder = coded.table.folder

    def group(self, task: Task, work: Work) -> PartGroups:
        """Spill, merge what is too small, group."""
        task.progress("putting rows aside", 0.0)
        files, records = self._spill(task)
        alone: list[_Solved] = []
        for part in np.flatnonzero(records > LARGE * self.plan.part).tolist():
            files[part], lonely = self._without_heavy(files[part])
            records[part] = files[part].size // self.line.itemsize
            alone += lonely
        block = merge_small(records, task.k)
        members = [np.flatnonzero(block == at).tolist() for at in range(int(block.max()) + 1)]
        if records.sum() < task.k:  # so few are left beside the heavy tuples that they cannot stand alone
            members = [] if not records.sum() else members
        quiet_task = replace(task, threads=1, progress=quiet)

        def solve(its: list[int]) -> _Solved:
            rows = np.concatenate([files[part].rows(self.line) for part in its])
            for part in its:
                files[part].close()
            return self._solve(rows, quiet_task, work)

        solved: list[_Solved] = []
        for at, one in enumerate(under_way(solve, members, self.coded.table.workers)):
            solved.append(one)
            task.progress(f"grouping part {at + 1:,} of {len(members):,}", (at + 1) / len(members))
        solved += alone
        first = np.cumsum([0, *(one.faces.groups for one in solved)])
        return PartGroups(
            join_faces([one.faces for one in solved]),
            first[:-1],
            tuple(one.rows for one in solved),
            sum(one.withheld for one in solved),
            sum(one.steps for one in solved),
            len(members),
        )

    def _spill(self, task: Task) -> tuple[list[Nameless], NDArray[np.int64]]:
        """Send every row to the file of its part."""
        parts = self.cuts.parts
        files = [Nameless(self.folder) for _ in range(parts)]
        records = np.zeros(parts, dtype=np.int64)
        lock = threading.Lock()
        names = [*self.plan.quasi, *(one.name for one in self.coded.carried)]

        def send(batch: pa.RecordBatch) -> NDArray[np.int64]:
            codes = self.coded.coder.codes_of(batch)
            part = parts_of(codes, self.cuts).astype(np.min_scalar_type(parts))
            lines = np.empty(len(codes), dtype=self.line)
            for axis in range(codes.shape[1]):
                lines[f"q{axis}"] = codes[:, axis]
            for (name, _), one in zip(self.carried, self.coded.carried, strict=True):
                lines[name] = one.lookup.codes_of(batch.column(one.name))
            lines = lines[np.argsort(part, kind="stable")]
            held = np.bincount(part, minlength=parts)
            ends = np.cumsum(held)
            with lock:
                for at in np.flatnonzero(held).tolist():
                    files[at].write(lines[ends[at] - held[at] : ends[at]])
            return held

        for held in under_way(send, self.coded.table.scan.batches(names), self.coded.table.workers):
            records += held
            task.progress("putting rows aside", float(records.sum()) / self.coded.total)
        if records.sum() != self.coded.total:
            raise DataError("The table changed while it was read. Let nobody write to it, and try again.")
        return files, records

    def _without_heavy(self, file: Nameless) -> tuple[Nameless, list[_Solved]]:
        """A part without the tuples of very many copies, each of which is a class of its own."""
        sizes = self.coded.coder.sizes
        rows = file.size // self.line.itemsize
        found = None
        for first in range(0, rows, CHUNK):
            some = count_tuples(
                pack_keys(self._codes(file.rows(self.line, first=first, many=CHUNK)), sizes)
            )
            found = some if found is None else add([found, some], 8 * self.plan.part)
        assert found is not None, "a large part has rows"
        most = np.flatnonzero(found.count >= heavy(self.plan))
        if most.size == 0:
            return file, []
        chosen = unpack_keys(found.keys[:, most], sizes)
        rest, own = Nameless(self.folder), [Nameless(self.folder) for _ in most]
        held = np.zeros(most.size, dtype=np.int64)
        for first in range(0, rows, CHUNK):
            lines = file.rows(self.line, first=first, many=CHUNK)
            codes = self._codes(lines)
            free = np.ones(len(lines), dtype=np.bool_)
            for at, line in enumerate(chosen):
                same = (codes == line).all(axis=1)
                free &= ~same
                held[at] += int(same.sum())
                own[at].write(self._labelled(lines[same], np.zeros(int(same.sum()), dtype=np.int32)))
            rest.write(lines[free])
        file.close()
        solved = []
        for line, its, many in zip(chosen, own, held.tolist(), strict=True):
            one = self.coded.coder.coded(line[np.newaxis], np.array([many]), self.plan)
            grouping = Grouping.of_labels(np.zeros(1, dtype=np.int32), one.count)
            solved.append(_Solved(faces_of(one, grouping)[0], its, 0, 0))
        return rest, solved

    def _codes(self, lines: NDArray[Any]) -> NDArray[np.int32]:
        codes = np.empty((len(lines), len(self.coded.columns)), dtype=np.int32)
        for axis in range(codes.shape[1]):
            codes[:, axis] = lines[f"q{axis}"]
        return codes

    def _labelled(self, lines: NDArray[Any], group: NDArray[np.int32]) -> NDArray[Any]:
        out = np.empty(len(lines), dtype=self.out)
        out["g"] = group
        for name, _ in self.carried:
            out[name] = lines[name]
        return out

    def _solve(self, lines: NDArray[Any], task: Task, work: Work) -> _Solved:
        """Group one part; its share of what may be withheld is that of its rows."""
        keys = pack_keys(self._codes(lines), self.coded.coder.sizes)
        tuples = count_tuples(keys)
        row = _places(tuples.keys, keys)
        codes = unpack_keys(tuples.keys, self.coded.coder.sizes)
        coded = self.coded.coder.coded(codes, tuples.count, self.plan, row=row)
        task = replace(task, withhold=task.withhold * len(lines) // self.coded.total)
        grouping = work(task, coded)
        faces, _ = faces_of(coded, grouping)
        group = deal(row, [lines[name] for name, _ in self.carried], grouping, coded.distinct, task.seed)
        file = Nameless(self.folder)
        kept = group >= 0
        file.write(self._labelled(lines[kept], group[kept]))
        return _Solved(faces, file, grouping.withheld, grouping.steps)


def _places(known: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """The place of every row's tuple among the known ones, which stand in rising order."""
    if len(known) == 1:
        places: NDArray[np.int32] = np.searchsorted(known[0], keys[0]).astype(np.int32)
        return places
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    new = np.r_[False, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)]
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.cumsum(new)
    return place


def deal(
    row: NDArray[np.int32],
    carried: list[NDArray[Any]],
    grouping: Grouping,
    distinct: int,
    random: int | np.random.Generator,
) -> NDArray[np.int32]:
    """The group of every row, whose tuple is `row`; copies that were split are dealt as in memory.

    They stand in the order of what is carried and are then shuffled, so that neither the order of the input
    nor what is sensitive about them says who goes where.
    """
    first = np.full(distinct, WITHHELD, dtype=np.int32)
    first[grouping.distinct[::-1]] = grouping.group[::-1]
    group: NDArray[np.int32] = first[row]
    shared = np.bincount(grouping.distinct, minlength=distinct) > 1
    split = np.flatnonzero(shared[row])
    if split.size:
        split = split[np.lexsort([*(one[split] for one in reversed(carried)), row[split]])]
        luck = np.random.default_rng(random).random(split.size)
        split = split[np.lexsort((luck, row[split]))]
        dealt = np.flatnonzero(shared[grouping.distinct])
        group[split] = np.repeat(grouping.group[dealt], grouping.count[dealt])
    return group
