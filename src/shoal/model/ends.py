"""Builders for numbers whose ends, or last digits, tell much: nodes for the ends, and rounding."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

from shoal.errors import PlanError
from shoal.model.hierarchy import Builder, in_full

__all__ = ["bottom", "rounded", "top"]


def top(*limits: float) -> Builder:
    """Levels in which ever more of the greatest numbers are one: `top(90)`, `top(90, 80)` for ages.

    A class whose records share a value beyond the limit publishes that value: recode the column beforehand
    where none may be published.

    >>> top(90, 80).build(["70", "85", "90", "101"], column="age").nodes()[">= 90"]
    (2, 3, 1)
    """
    return _ends("top", ">=", limits, falling=True)


def bottom(*limits: float) -> Builder:
    """Levels in which ever more of the least numbers are one: `bottom(18)`, `bottom(18, 25)` for ages.

    As with `top`, a class whose records share a value publishes it.
    """
    return _ends("bottom", "<=", limits, falling=False)


def rounded(width: float) -> Builder:
    """One level of numbers rounded to a multiple, halves up: `round(10)` makes ~50 of 45 to 54."""
    if not (math.isfinite(width) and width > 0):
        raise PlanError("round needs a width above 0, such as round(10).", field="hierarchies")
    exact = Fraction(str(width))

    def path(value: str) -> list[str]:
        number = _number(value)
        nearest = (number / exact + Fraction(1, 2)) // 1 * exact
        return [f"~{in_full(nearest.numerator, nearest.denominator)}"]

    return Builder(f"round({in_full(exact.numerator, exact.denominator)})", path, Decimal)


def _ends(name: str, sign: str, limits: tuple[float, ...], *, falling: bool) -> Builder:
    if not limits or not all(math.isfinite(limit) for limit in limits):
        raise PlanError(
            f"{name} needs a number, such as {name}({90 if falling else 18}).", field="hierarchies"
        )
    exact = [Fraction(str(limit)) for limit in limits]
    if any(after >= before if falling else after <= before for before, after in itertools.pairwise(exact)):
        order = "falling" if falling else "rising"
        raise PlanError(f"{name} needs its numbers {order}, the outermost first.", field="hierarchies")
    names = [f"{sign} {in_full(limit.numerator, limit.denominator)}" for limit in exact]

    def path(value: str) -> list[str]:
        number = _number(value)
        pairs = zip(names, exact, strict=True)
        return [said for said, limit in pairs if (number >= limit if falling else number <= limit)]

    return Builder(f"{name}({', '.join(said.partition(' ')[2] for said in names)})", path, Decimal)


def _number(value: str) -> Fraction:
    number = Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise ValueError
    return Fraction(number)
