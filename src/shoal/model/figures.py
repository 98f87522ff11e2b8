"""What a run measured, to the last digit, and the same rounded for everybody.

A figure to the last digit is a fingerprint without a salt: whoever tries every original that fits a release
keeps those with the same bound. So the exact figures stay in the private receipt, and a certificate tells
three digits: what was lost rounded up, what nobody can beat rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from shoal.model.verdict import ColumnLoss

__all__ = [
    "Figures",
    "Places",
    "Ranges",
    "is_rounded_up",
    "ratio_of",
    "round_down",
    "round_up",
    "shown_bound",
    "shown_ratio",
]

DIGITS = 3
"""What the words of a certificate need."""
RATIO_DIGITS = 4
NOISE = 1e-9
"""Sums of floats differ by less from one order to another: 0.3 and what lies so close to it are one."""
BEST = 1e-8
"""A value this close above its bound is the best possible."""

Ranges = Mapping[str, tuple[tuple[float, float] | None, ...]]
"""By column of numbers, dates or places: the least and the greatest published value of each axis."""
Places = Mapping[str, tuple[tuple[int, int] | None, ...]]
"""The same as places among the column's sorted values."""


LARGEST = 1e300
"""A bound so many times smaller says nothing, and a larger ratio may be no number."""


def ratio_of(value: float, bound: float | None) -> float | None:
    """How far `value` can be from the best: 1 at 0, None where the bound says nothing.

    >>> ratio_of(3.0, 2.0), ratio_of(0.0, 0.0), ratio_of(3.0, 0.0), ratio_of(8.0, 2.6e-318)
    (1.5, 1.0, None, None)
    """
    if value <= 0.0:
        return 1.0
    if bound is None or bound <= 0.0:
        return None
    ratio = max(1.0, value / bound)
    return ratio if ratio < LARGEST else None


def round_up(figure: float, digits: int = DIGITS) -> float:
    """The least number of so many digits that is not below `figure`, but for the noise of sums.

    >>> round_up(12.341), round_up(0.3), round_up(0.1 + 0.2), round_up(99.95), round_up(0.0)
    (12.4, 0.3, 0.3, 100.0, 0.0)
    """
    return _rounded(figure * (1 - NOISE), digits, ROUND_CEILING)


def round_down(figure: float, digits: int = DIGITS) -> float:
    """The greatest number of so many digits that is not above `figure`.

    >>> round_down(12.349), round_down(0.3), round_down(0.0)
    (12.3, 0.3, 0.0)
    """
    return _rounded(figure, digits, ROUND_FLOOR)


def _rounded(figure: float, digits: int, way: str) -> float:
    if figure == 0.0 or not math.isfinite(figure):
        return figure
    exact = Decimal(repr(figure))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=way))


def is_rounded_up(said: float | None, exact: float, *, tolerance: float = 1e-6) -> bool:
    """Whether `said` is `exact` rounded up, however a sum was added up."""
    return said is not None and round_up(exact * (1 - tolerance)) <= said <= round_up(
        exact * (1 + tolerance)
    )


def shown_bound(value: float, bound: float) -> float:
    """A bound as everybody sees it; that of the best possible release is its value rounded down."""
    if bound > 0.0 and value <= bound * (1 + BEST):
        bound = value * (1 + NOISE)
    return round_down(bound)


def shown_ratio(value: float, bound: float | None) -> float | None:
    """The ratio as everybody sees it: of the figures shown, rounded up; 1 for the best possible release.

    >>> shown_ratio(12.341, 10.009), shown_ratio(0.30041, 0.30041), shown_ratio(3.0, None)
    (1.24, 1.0, None)
    """
    if bound is not None and value <= bound * (1 + BEST):
        return 1.0
    ratio = ratio_of(round_up(value), None if bound is None else shown_bound(value, bound))
    return ratio if ratio is None else round_up(ratio, RATIO_DIGITS)


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a run, exact: private, since they are a function of every row of the original.

    They are in the unit of what is published (docs/proofs/published-unit.md): `places` says between which
    of the sorted values of a number, date or place column that is, without saying the values. `persons` is
    the least number of different persons in a class where the plan names a unit. `more` are the figures
    that a certificate has besides.
    """

    value: float
    bound: float | None
    bound_name: str | None
    loss: float | None
    loss_percent: float | None
    columns: tuple[ColumnLoss, ...]
    steps: int = 0
    bound_parameters: Mapping[str, float] = field(default_factory=dict)
    bound_shares: str = ""
    bound_cuts: str = ""
    places: Places = field(default_factory=dict)
    persons: int | None = None
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Value / bound."""
        return ratio_of(self.value, self.bound)
