"""Every part grouped by itself, where its rows were put aside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode import distinct_lines
from shoal.encode.keys import pack_keys, unpack_keys
from shoal.encode.part import Rows
from shoal.engines.parts import (
    LARGE,
    SolvedPart,
    Work,
    heavy,
    obeys,
    solve_part,
    too_heavy,
    withhold_in_parts,
)
from shoal.engines.stream.limits import PER_CODE
from shoal.engines.stream.lines import Lines
from shoal.engines.stream.under_way import under_way
from shoal.engines.stream.values import InParts, PartGroups
from shoal.errors import DataError
from shoal.group.parts.cut import parts_of
from shoal.group.parts.rules import joined_until
from shoal.group.parts.sample import Tuples, add, count_tuples
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task, quiet
from shoal.read.nameless import Nameless, check_room
from shoal.recode.faces import Faces, faces_of, join_faces
from shoal.recode.pieces import RowPieces

__all__ = ["bytes_a_row", "group_in_parts"]

CHUNK = 1 << 20


def bytes_a_row(coded: InParts) -> int:
    """Of scratch, for each row: its codes and what is carried, then its class and what is carried."""
    put, out = coded.layout.put.itemsize, coded.layout.out.itemsize
    return (put if coded.whole is None else 0) + 2 * out


def group_in_parts(coded: InParts, task: Task, plan: Plan, work: Work) -> PartGroups:
    """The work applied to the few tuples, or to each part."""
    needed = bytes_a_row(coded) * coded.table.rows
    task.progress(f"scratch files of about {needed / 1e9:.2g} GB", 0.0)
    check_room(coded.table.folder, needed)
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
    return _PutAside(coded, plan).group(withhold_in_parts(task, plan), work)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The lines of a part in a file; `joined` where each may stand for several that are alike."""

    file: Nameless
    joined: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    faces: Faces
    lines: Nameless
    withheld: int
    steps: int


class _PutAside:
    """The rows of every part in a file of its own."""

    def __init__(self, coded: InParts, plan: Plan) -> None:
        assert coded.cuts is not None, "a table of many tuples is cut"
        self.table = coded.table
        self.cuts = coded.cuts
        self.layout = coded.layout
        self.about = coded.layout.about
        self.plan = plan
        self.parts: list[_Part] = []
        self.heavy: dict[int, list[tuple[NDArray[np.int32], int]]] = {}

    def group(self, task: Task, work: Work) -> PartGroups:
        """Spill, join parts that cannot stand alone, group."""
        rows = self._spill(task)
        alone: list[_Solved] = []
        for part in np.flatnonzero(rows > LARGE * self.plan.part).tolist():
            alone += self._lighten(part)
        there = [part for part, one in enumerate(self.parts) if one.file.size]
        blocks = list(joined_until(there, self._suffices))
        if alone and len(blocks) == 1 and not self._suffices(blocks[0]):
            raise too_heavy(self.plan)
        quiet_task = replace(task, threads=1, progress=quiet)

        def solve(its: list[int]) -> _Solved:
            part = self._load(its)
            found = solve_part(part, self.about, quiet_task, work)
            return self._kept(found.faces, self.layout.labelled(part, found.pieces), found)

        solved: list[_Solved] = []
        done = 0
        for one in under_way(solve, blocks, self.table.hands, self._bytes_of):
            solved.append(one)
            done += int(one.faces.size.sum()) + one.withheld
            told = f"grouping record {done:,} of {self.about.total:,}"
            task.progress(told, done / self.about.total)
        solved += alone
        first = np.cumsum([0, *(one.faces.groups for one in solved)])
        return PartGroups(
            join_faces([one.faces for one in solved]),
            first[:-1],
            tuple(one.lines for one in solved),
            sum(one.withheld for one in solved),
            sum(one.steps for one in solved),
            len(blocks),
            again=tuple(
                partial(self.again, part)
                for part, one in enumerate(self.parts)
                if one.file.size or self.heavy.get(part)
            ),
        )

    def again(self, part: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The distinct tuples of a part with their records, once more."""
        sizes = self.about.coder.sizes
        rows = self._load([part])
        records = np.ones(rows.rows, dtype=np.int64) if rows.records is None else rows.records
        lone = self.heavy.get(part, [])
        codes = np.concatenate([rows.codes, *(line for line, _ in lone)]) if lone else rows.codes
        records = np.append(records, [many for _, many in lone]).astype(np.int64)
        del rows
        lines, row = distinct_lines([codes[:, axis] for axis in range(len(sizes))], sizes)
        return lines, np.rint(np.bincount(row, weights=records)).astype(np.int64)

    def _kept(self, faces: Faces, lines: Lines, found: SolvedPart | None = None) -> _Solved:
        file = Nameless(self.table.folder)
        file.write(lines)
        return _Solved(faces, file, found.withheld if found else 0, found.steps if found else 0)

    def _load(self, parts: list[int]) -> Rows:
        """All rows of some parts."""
        joined = any(self.parts[part].joined for part in parts)
        loaded: list[Lines] = []
        for part in parts:
            one = self.parts[part]
            lines = one.file.rows(self.layout.joined if one.joined else self.layout.put)
            loaded.append(self.layout.once(lines) if joined and not one.joined else lines)
        return self.layout.read(loaded[0] if len(loaded) == 1 else np.concatenate(loaded))

    def _bytes_of(self, parts: list[int]) -> int:
        """About the memory that it takes to group some parts together."""
        held = sum(self.parts[part].file.size for part in parts) // self.layout.put.itemsize
        return PER_CODE * len(self.about.coder.sizes) * held

    def _suffices(self, parts: list[int]) -> bool:
        """Whether some parts together can stand alone."""
        if self.about.is_ruled:
            return obeys(self._load(parts), self.about)
        if self.layout.counted is None and not any(self.parts[part].joined for part in parts):
            rows = sum(self.parts[part].file.size for part in parts) // self.layout.put.itemsize
            return rows >= self.plan.k
        return self._load(parts).total >= self.plan.k

    def _spill(self, task: Task) -> NDArray[np.int64]:
        """Send every row to the file of its part; the rows of each."""
        parts, total = self.cuts.parts, self.table.rows
        files = [Nameless(self.table.folder) for _ in range(parts)]
        self.parts = [_Part(file) for file in files]
        rows = np.zeros(parts, dtype=np.int64)
        lock = threading.Lock()

        def send(batch: pa.RecordBatch) -> tuple[int, NDArray[np.int64]]:
            its = self.layout.rows_of(batch)
            part = parts_of(its.codes, self.cuts).astype(np.min_scalar_type(parts))
            lines = self.layout.lines_of(its)[np.argsort(part, kind="stable")]
            held = np.bincount(part, minlength=parts)
            ends = np.cumsum(held)
            with lock:
                for at in np.flatnonzero(held).tolist():
                    files[at].write(lines[ends[at] - held[at] : ends[at]])
            return batch.num_rows, held

        seen = 0
        for many, held in under_way(send, self.table.scan.batches(self.layout.names), self.table.hands):
            rows += held
            seen += many
            task.progress(f"putting row {seen:,} of {total:,} aside", seen / total)
        if seen != total:
            raise DataError("The table changed while it was read. Let nobody write to it, and try again.")
        return rows

    def _lighten(self, part: int) -> list[_Solved]:
        """Join the lines of a part that are alike; where these are still too many, part by tuple.

        Then tuples of very many rows are classes of their own.
        """
        if self.layout.counted is None:
            found = self._joined(part, self.layout.keys_of)
            if found is not None:
                lines = self.layout.of_keys(found.keys, found.count)
                self._replace(part, lines, joined=True)
                return []
        sizes = self.about.coder.sizes
        tuples = self._joined(part, lambda lines: pack_keys(self.layout.read(lines).codes, sizes))
        if tuples is None:
            return []
        return [self._alone(part, keys) for keys in tuples.keys[:, tuples.count >= heavy(self.plan)].T]

    def _joined(self, part: int, keys_of: Callable[[Lines], NDArray[np.int64]]) -> Tuples | None:
        """What is alike in a part, with its rows; None where too much is not."""
        file, kind = self.parts[part].file, self.layout.put
        found: Tuples | None = None
        for first in range(0, file.size // kind.itemsize, CHUNK):
            some = count_tuples(keys_of(file.rows(kind, first=first, many=CHUNK)))
            found = add([some] if found is None else [found, some], LARGE * self.plan.part)
            if not found.are_all:
                return None
        return found

    def _replace(self, part: int, lines: Lines, *, joined: bool) -> None:
        self.parts[part].file.close()
        self.parts[part] = _Part(Nameless(self.table.folder), joined)
        self.parts[part].file.write(lines)

    def _alone(self, part: int, keys: NDArray[np.int64]) -> _Solved:
        """Take the rows of one tuple out of a part, as a class of their own."""
        sizes, kind = self.about.coder.sizes, self.layout.put
        file, rest, own = self.parts[part].file, Nameless(self.table.folder), Nameless(self.table.folder)
        records = 0
        for first in range(0, file.size // kind.itemsize, CHUNK):
            lines = file.rows(kind, first=first, many=CHUNK)
            its = self.layout.read(lines)
            same = (pack_keys(its.codes, sizes) == keys[:, np.newaxis]).all(axis=0)
            mine = its.take(same)
            records += mine.total
            row = np.arange(mine.rows, dtype=np.int32)
            held = np.ones(mine.rows, dtype=np.int64) if mine.records is None else mine.records
            own.write(self.layout.labelled(mine, RowPieces(row, np.zeros_like(row), held)))
            rest.write(lines[~same])
        file.close()
        self.parts[part] = _Part(rest)
        if self.about.is_ruled and not self._obeys_alone(own):
            raise too_heavy(self.plan)
        line = unpack_keys(keys[:, np.newaxis], sizes)
        self.heavy.setdefault(part, []).append((line, records))
        one = self.about.coder.coded(line, np.array([records]), self.plan)
        grouping = Grouping.of_labels(np.zeros(1, dtype=np.int32), one.count)
        return _Solved(faces_of(one, grouping)[0], own, 0, 0)

    def _obeys_alone(self, own: Nameless) -> bool:
        lines = own.rows(self.layout.out)
        return obeys(self.layout.read(lines, codes=False), self.about)
