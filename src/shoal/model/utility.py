"""What a release is still good for, in figures."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.model.spoken import Spoken

__all__ = ["Learned", "Moment", "Usefulness", "Utility"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A mean or correlation of the original beside what the middles of a release give, with an interval.

    The mean of what the cells may hold is between `low` and `high`. A correlation has no such ends: they
    are the least and the greatest of 20 tables with a value drawn inside each cell.
    """

    what: str
    before: float
    after: float
    low: float
    high: float


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


@dataclass(frozen=True, slots=True, repr=False)
class Utility(Spoken):
    """What a release is good for beside another method's, all without a cell.

    A cell that covers several values counts in equal parts for each of them.
    """

    records: int
    queries: int
    tables: tuple[Usefulness, ...]
    moments: tuple[Moment, ...]
    target: str | None = None
    learned: tuple[Learned, ...] = ()

    def in_words(self) -> str:
        """How the release serves counts, in a few sentences, without any cell."""
        ours, *others = self.tables
        beside = "".join(f" ({one.name}: {one.query_error:.2%})" for one in others)
        pairs = (
            f"In tables of two columns {ours.pairs:.2%} of the records stand elsewhere, on average. "
            if ours.pairs is not None
            else ""
        )
        return (
            f"{pairs}Of {self.queries:,} random count queries half err by at most "
            f"{ours.query_error:.2%}{beside} and nine of ten by at most {ours.query_error_high:.2%}."
        )

    def figures(self) -> tuple[tuple[str, str], ...]:
        """What was measured of the release, each with its name."""
        ours = self.tables[0]
        return (
            *((f"pairs told apart by {name}", f"{share:.1%}") for name, share in ours.told_apart.items()),
            *((f"marginal of {name}", f"{share:.2%}") for name, share in ours.marginals.items()),
            *(
                (one.what, f"{one.after:.4g} ({one.low:.4g} to {one.high:.4g}; original {one.before:.4g})")
                for one in self.moments
            ),
            *(
                (f"{self.target} learned from {one.trained_on}, right", f"{one.accuracy:.2%}")
                for one in self.learned
            ),
        )
