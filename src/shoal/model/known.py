"""What a survey of a table found: enough to turn any of its rows into numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.model.column import Column

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Book", "Known"]


@dataclass(frozen=True, slots=True, eq=False)
class Book:
    """A quasi-identifier's cells as they were read, each once, with its codes: one array per axis.

    `cells` has the columns that the quasi-identifier is made of: one, or the two of a place.
    """

    column: Column
    cells: pl.DataFrame
    codes: tuple[NDArray[np.int32], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The quasi-identifiers of a table in the order of the plan.

    `guessed` has the kinds that nobody declared, `doubts` what speaks against them, in sentences without
    any cell.
    """

    books: tuple[Book, ...]
    guessed: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
