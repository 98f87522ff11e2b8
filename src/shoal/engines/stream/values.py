"""What passes between the verbs of the stream engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.engines.stream.lines import Layout
from shoal.engines.stream.under_way import Hands
from shoal.model.coded import Coded, Metric, pack
from shoal.model.column import Column
from shoal.model.grouping import Grouping, Groups, Proof
from shoal.model.parts import Cuts
from shoal.model.whom import Repeats
from shoal.read.nameless import Nameless
from shoal.read.scan import Scan
from shoal.recode.faces import Faces

Told = Callable[[int, int], NDArray[Any]]
Again = Callable[[], tuple[NDArray[np.int32], NDArray[np.int64]]]
__all__ = ["InParts", "PartGroups", "Sorted", "Streamed"]

LINES = 1 << 16
"""Lines of a finished table that are read together: texts take more memory than codes."""


@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """A table that is read batch by batch, the folder for its scratch files, and who works on it."""

    scan: Scan
    folder: Path
    hands: Hands

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.scan.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.scan.rows


@dataclass(frozen=True, slots=True, eq=False)
class InParts:
    """A coded table: its distinct rows, where these are few, or how it is cut into parts.

    Few are held as `whole`, with the key of each in `keys`. `repeats` are the identifiers that do.
    """

    table: Streamed
    layout: Layout
    columns: tuple[Column, ...]
    repeats: tuple[Repeats, ...] = ()
    whole: Coded | None = None
    keys: NDArray[np.int64] | None = None
    cuts: Cuts | None = None

    def with_few(self, whole: Coded, keys: NDArray[np.int64]) -> InParts:
        """The table held by its distinct rows."""
        return replace(self, whole=whole, keys=keys)

    def with_cuts(self, cuts: Cuts) -> InParts:
        """The table cut into parts."""
        return replace(self, cuts=cuts)

    @property
    def total(self) -> int:
        """How many records there are."""
        return self.layout.about.total

    @property
    def metric(self) -> Metric:
        """What kernels measure with."""
        return pack([(axis, column.weight) for column in self.columns for axis in column.axes])

    @property
    def is_ruled(self) -> bool:
        """Whether rules or a unit are held."""
        return self.layout.about.is_ruled

    @property
    def weight(self) -> float:
        """The sum of the columns' weights."""
        return float(sum(column.weight for column in self.columns))

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return 1 if self.cuts is None else self.cuts.parts


@dataclass(frozen=True, slots=True, eq=False)
class PartGroups:
    """The groups of all parts by their faces, one part after the other.

    `rows` has for each part a file of its lines with the group within the part. `whole` is the grouping of
    a table of few tuples, whose rows are still where they came from; else `again` has for every part that
    was cut who gives its distinct tuples, with their records.
    """

    faces: Faces
    first: NDArray[np.int64]
    rows: tuple[Nameless, ...]
    withheld: int
    steps: int
    parts: int
    whole: Grouping | None = None
    again: tuple[Again, ...] = ()
    proof: Proof | None = None
    objective: str | None = None
    factor: float | None = None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.faces.groups


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """A finished table in a file without a name, in published order; `digest` is that of the file.

    `beside` has what is told the judge of every line, of the `kind` given, and nobody else.
    """

    file: Nameless
    beside: Nameless
    kind: np.dtype[Any]
    names: tuple[str, ...]
    like: pl.DataFrame
    lines: int
    digest: str
    parts: int
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> Groups:
        """None: which row went where is not kept."""
        return Groups(np.zeros(0, dtype=np.int32))

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Its lines."""
        chosen = list(self.names if names is None else names)
        file = pq.ParquetFile(self.file.reader(), memory_map=False, buffer_size=1 << 20)
        yield from file.iter_batches(batch_size=LINES, columns=chosen, use_threads=False)

    def frames(self, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Its lines as Polars frames."""
        chosen = list(self.names if names is None else names)
        for batch in self.batches(chosen):
            frame: Any = pl.from_arrow(batch)
            yield frame.cast(dict(self.like.select(chosen).schema))

    def told(self, name: str) -> Told:
        """One field of what is told beside the table: gives lines first .. first + many."""
        return lambda first, many: self.beside.rows(self.kind, first=first, many=many)[name]

    def first_lines(self) -> str:
        """The first lines as HTML, for notebooks."""
        return next(self.frames()).head(5)._repr_html_()
