"""Small drawings of values, as SVG for pages and notebooks; every one of them says its numbers as text."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from shoal.errors import PlanError
from shoal.model.certificate import Certificate
from shoal.model.comparison import Comparison, Fall
from shoal.model.preview import Profile
from shoal.model.verdict import Verdict
from shoal.publish.draw import Bar, Point, bars, fall, over_k, upright
from shoal.publish.report import losses_drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["in_few", "svg"]

MOST_SIZES = 24


@singledispatch
def svg(value: object) -> str:
    """Draw a value as a small SVG, without script or style, for a page or a notebook.

    Args:
        value: A certificate (loss by column), a verdict (classes by size), a profile (a column before and
            after), a comparison (loss over k, one method), or a fall (loss over time).

    Returns:
        The SVG as text.

    Raises:
        PlanError: There is no drawing of such a value.

    Example:
        >>> import polars as pl, shoal
        >>> release = shoal.anonymize(pl.DataFrame({"age": [21, 22, 35, 36]}), k=2, quasi=["age"])
        >>> shoal.svg(release.certificate)[:4], "age 6.67 %" in shoal.svg(release.certificate)
        ('<svg', True)

    """
    raise PlanError(f"There is no drawing of a {type(value).__name__}. Give a certificate or a verdict.")


@svg.register
def _(value: Certificate) -> str:
    return losses_drawn((column.name, column.loss) for column in value.columns)


@svg.register
def _(value: Verdict) -> str:
    rows = in_few(value.sizes)
    said = ", ".join(f"{number:,} of {name}" for name, number in rows)
    return upright(rows, label=f"Classes by size: {said}")


@svg.register
def _(value: Profile) -> str:
    most = max((max(bar.before, bar.after) for bar in value.bars), default=1) or 1
    rows = [
        (
            bar.label,
            [
                Bar(bar.before / most, f"{bar.before:,.0f} before"),
                Bar(bar.after / most, f"{bar.after:,.0f} after"),
            ],
        )
        for bar in value.bars
    ]
    return bars(rows, label=f"Rows of {value.column} before and after")


@svg.register
def _(value: Comparison) -> str:
    points = [
        Point(trial.k, trial.loss_percent, trial.loss_percent / trial.ratio if trial.ratio else None)
        for trial in value.trials
        if trial.loss_percent is not None
    ]
    said = ", ".join(f"{point.y:.3g} % at k = {point.x:g}" for point in points)
    return over_k(points, label=f"Loss over k: {said}") if points else ""


@svg.register
def _(value: Fall) -> str:
    points = [Point(seconds, loss, value.least) for seconds, loss in value.points]
    return fall(points, label=f"Loss: {points[-1].y:.3g} %") if points else ""


def in_few(sizes: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Classes by size, sizes in equal ranges where they are many."""
    if len(sizes) <= MOST_SIZES:
        return [(f"{size:,}", classes) for size, classes in sizes]
    low, high = sizes[0][0], sizes[-1][0]
    width = -(-(high - low + 1) // MOST_SIZES)
    found: dict[int, int] = {}
    for size, classes in sizes:
        found[(size - low) // width] = found.get((size - low) // width, 0) + classes
    return [(f"{low + at * width:,}", found.get(at, 0)) for at in range(max(found) + 1)]
