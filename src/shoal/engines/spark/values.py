"""What passes between the verbs of the Spark engine: small things, and names of frames that Spark keeps."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode.batch import Carried, Coder
from shoal.engines.parts import PartTask
from shoal.engines.spark.ask import collected, named
from shoal.model.coded import Coded
from shoal.model.column import Column
from shoal.model.figures import Places
from shoal.model.grouping import Grouping, Groups, Proof
from shoal.model.known import Known
from shoal.model.parts import Cuts

__all__ = [
    "ACCOUNT",
    "FIRST",
    "PERSON",
    "TIMES",
    "Account",
    "InSpark",
    "Kept",
    "OnSpark",
    "PartsSolved",
    "SparkTable",
    "SurveyedInSpark",
]


PERSON = "\0person"
"""The column of the person behind a row, by number; for the judge alone."""
FIRST = "\0first"
"""The column of whether a line is a row's first, where counts may be weights; for the judge alone."""
TIMES = "times"
"""The column of the records that a row stands for, or of how often it stands there."""
ACCOUNT = "a"
"""The column of what a part says of itself; a row that has it is no row of the table."""


class Kept:
    """A frame whose rows Spark keeps on its disks until it is let go."""

    def __init__(self, frame: Any) -> None:
        from pyspark import StorageLevel

        self.frame = frame.persist(StorageLevel.DISK_ONLY)
        self._end = weakref.finalize(self, _let_go, self.frame)

    def close(self) -> None:
        """Let go of it."""
        self._end()


def _let_go(frame: Any) -> None:
    try:
        frame.unpersist()
    except Exception:
        return  # the session is gone, and the rows with it


@dataclass(frozen=True, slots=True, eq=False)
class SparkTable:
    """A frame of Spark; `like` has its columns without rows, those that no plan names without a type."""

    frame: Any
    like: pl.DataFrame
    receipts: list[Any] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.like.columns)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.frame.count())


@dataclass(frozen=True, slots=True, eq=False)
class SurveyedInSpark(Known):
    """What is known of a table: also the records of every cell of a book, and what rules look at.

    Of all: its records, and the rows that stand for any.
    """

    counts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    total: int = 0
    lines: int = 0
    ruled: tuple[Carried, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class InSpark:
    """A coded table: rows as keys with what is carried, where Spark keeps them, and how many there are.

    Its distinct tuples, where these are few (`whole`), with the keys of each, or how it is cut into parts.
    """

    table: SparkTable
    rows: Kept
    about: PartTask
    columns: tuple[Column, ...]
    lines: int
    whole: Coded | None = None
    keys: NDArray[np.int64] | None = None
    cuts: Cuts | None = None

    @property
    def coder(self) -> Coder:
        """What rows were coded by."""
        return self.about.coder

    @property
    def total(self) -> int:
        """How many records there are."""
        return self.about.total

    @property
    def records(self) -> Any:
        """How Spark adds up the records of rows."""
        from pyspark.sql import functions as f

        return f.sum(TIMES) if self.about.plan.whom.count is not None else f.count(f.lit(1))

    @property
    def is_ruled(self) -> bool:
        """Whether rules or a unit are held."""
        return self.about.is_ruled

    @property
    def weight(self) -> float:
        """The sum of the columns' weights."""
        return float(sum(column.weight for column in self.columns))


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """What one part says of its groups: all that is known of them on the driver.

    Per axis: `low` and `high` are the least and the greatest code that cells of numbers show, -1 where none
    do; `lost` is what cells that show something lose, by the original's ruler, and `starred` what those
    lose that mix missing with present. Where a bound was looked for meanwhile, `paid` is what was found
    (`bound/border`, `paid_in_part`) in each part of the cuts that was grouped here, as bytes in letters.
    """

    part: int
    records: int
    groups: int
    withheld: int
    steps: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    lost: tuple[float, ...]
    starred: tuple[float, ...]
    paid: tuple[tuple[int, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class PartsSolved:
    """The groups of all parts: published rows where Spark keeps them, and what each part says.

    `looked` is whether they say what their records pay at least.
    """

    rows: Kept
    accounts: tuple[Account, ...]
    withheld: int
    steps: int
    looked: bool = False
    whole: Grouping | None = None
    proof: Proof | None = None
    objective: str | None = None
    factor: float | None = None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return sum(one.groups for one in self.accounts)

    def places(self, columns: tuple[Column, ...]) -> Places:
        """The least and the greatest code of each number column in cells that say something of them."""
        places: dict[str, tuple[tuple[int, int] | None, ...]] = {}
        for axis, column in enumerate(columns):
            if column.numbers:
                shown = [(one.low[axis], one.high[axis]) for one in self.accounts if one.low[axis] >= 0]
                ends = (min(low for low, _ in shown), max(high for _, high in shown)) if shown else None
                places[column.name] = (ends,)
        return places


@dataclass(frozen=True, slots=True, eq=False)
class OnSpark:
    """A finished table where Spark keeps it, in the order of its published cells.

    `content` is what its rows were recognised by when they were judged.
    """

    rows: Kept
    names: tuple[str, ...]
    parts: int
    content: list[int] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> Groups:
        """None: which row went where is not kept."""
        return Groups(np.zeros(0, dtype=np.int32))

    def beside(self, column: str) -> Any:
        """The table with one column more that is told the judge alone."""
        return self.rows.frame.select(*map(named, (*self.names, column)))

    def frame(self) -> Any:
        """The table."""
        return self.rows.frame.select(*map(named, self.names))

    def first_lines(self) -> str:
        """The first lines as HTML, for notebooks."""
        few: Any = pl.from_arrow(collected(self.frame().limit(5), "showing the first lines"))
        shown: str = few._repr_html_()
        return shown
