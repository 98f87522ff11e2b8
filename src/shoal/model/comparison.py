"""Several methods on one table, side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Comparison", "Fall", "Trial"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One method at one k; where it could not run, `note` says why and the figures are None.

    `told_apart_percent` compares across kinds: see `Certificate`. `seconds` is the time for grouping alone,
    after a warm-up.
    """

    method: str
    k: int
    objective: str
    loss_percent: float | None = None
    told_apart_percent: float | None = None
    value: float | None = None
    bound: float | None = None
    ratio: float | None = None
    classes: int | None = None
    smallest_class: int | None = None
    withheld: int | None = None
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fall:
    """How the loss of one run fell: seconds and percent, and what no release can beat."""

    points: tuple[tuple[float, float], ...]
    least: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All trials, methods in the order asked, k rising within each."""

    trials: tuple[Trial, ...]

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame with a row for each trial; `.to_pandas()` makes it one of pandas."""
        import polars as pl

        return pl.DataFrame([asdict(trial) for trial in self.trials], infer_schema_length=None)

    def __repr__(self) -> str:
        lines = [f"{'method':<16}{'k':>6}{'loss %':>10}{'apart %':>10}{'ratio':>8}{'seconds':>10}"]
        for trial in self.trials:
            figures = "".join(
                " " * (width - 1) + "-" if figure is None else f"{figure:>{width}.{digits}f}"
                for figure, width, digits in (
                    (trial.loss_percent, 10, 2),
                    (trial.told_apart_percent, 10, 1),
                    (trial.ratio, 8, 2),
                    (trial.seconds, 10, 3),
                )
            )
            lines.append(f"{trial.method:<16}{trial.k:>6}{figures}  {trial.note}".rstrip())
        return "\n".join(lines)
