"""What a release is still good for, in figures."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Learned", "Moment", "Usefulness", "Utility"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A mean or correlation of the original beside what the middles of a release give."""

    what: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Usefulness:
    """How far counts from one table are from the original's; `name` is the method that made it.

    `told_apart` compares columns of all kinds: of the pairs of records that differ in a column (a number or
    date by twentieths of the records), the share that the published cells still tell apart for sure.
    `marginals` and `pairs` are total variation: the share of records that stand elsewhere, by column and on
    average over all pairs of columns. `query_error` is the relative error in the middle of random count
    queries, `query_error_high` that which nine of ten stay below.
    """

    name: str
    told_apart: dict[str, float]
    marginals: dict[str, float]
    pairs: float | None
    query_error: float
    query_error_high: float


@dataclass(frozen=True, slots=True)
class Learned:
    """A model of the target that was trained on one table and tested on raw rows held back."""

    trained_on: str
    accuracy: float
    auc: float | None


@dataclass(frozen=True, slots=True)
class Utility:
    """What a release is good for beside another method's, all without a cell.

    A cell that covers several values counts in equal parts for each of them.
    """

    records: int
    queries: int
    tables: tuple[Usefulness, ...]
    moments: tuple[Moment, ...]
    target: str | None = None
    learned: tuple[Learned, ...] = ()
