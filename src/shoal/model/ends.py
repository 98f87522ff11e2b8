"""Builders for numbers whose ends, or last digits, tell much: top and bottom coding, and rounding."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

from shoal.errors import PlanError
from shoal.model.bands import Band, in_full, number_in
from shoal.model.hierarchy import Builder, Hierarchy, begin_of

__all__ = ["bottom", "check_measure", "rounded", "top"]


def top(*limits: float) -> Builder:
    """All numbers from a limit on as one, `>= 90`: `top(90)`; `top(90, 80)` has a node `>= 80` besides.

    No release says more of a number beyond the first limit.

    >>> top(90, 80).build(["70", "85", "90", "101"], column="age").leaves
    ('70', '85', '>= 90')
    """
    return _ends("top", limits, falling=True)


def bottom(*limits: float) -> Builder:
    """All numbers up to a limit as one, `<= 18`: `bottom(18)`; `bottom(18, 25)` has a node `<= 25` besides.

    No release says more of a number below the first limit.
    """
    return _ends("bottom", limits, falling=False)


def rounded(width: float) -> Builder:
    """One level of numbers rounded to a multiple, halves up: `round(10)` makes ~50 of 45 to 54."""
    if not (math.isfinite(width) and width > 0):
        raise PlanError("round needs a width above 0, such as round(10).", field="hierarchies")
    exact = Fraction(str(width))

    def path(value: str) -> list[str]:
        nearest = (number_in(value) / exact + Fraction(1, 2)) // 1 * exact
        return [f"~{in_full(nearest.numerator, nearest.denominator)}"]

    return Builder(f"round({in_full(exact.numerator, exact.denominator)})", path, Decimal)


def check_measure(tree: Hierarchy | Builder, column: str) -> None:
    """Refuse ends where a hierarchy only measures: the column is published as it is."""
    if isinstance(tree, Builder) and tree.ends:
        raise PlanError(
            f"The hierarchy of column {column!r} is {tree.text}, which codes cells; that of a sensitive "
            "column only measures, and its cells are published as they are. Recode the column beforehand, "
            "or measure by bins or bands.",
            field="hierarchies",
            column=column,
        )


def _ends(name: str, limits: tuple[float, ...], *, falling: bool) -> Builder:
    if not limits or not all(math.isfinite(limit) for limit in limits):
        raise PlanError(
            f"{name} needs a number, such as {name}({90 if falling else 18}).", field="hierarchies"
        )
    exact = [Fraction(str(limit)) for limit in limits]
    if any(after >= before if falling else after <= before for before, after in itertools.pairwise(exact)):
        order = "falling" if falling else "rising"
        raise PlanError(f"{name} needs its numbers {order}, the outermost first.", field="hierarchies")
    coded, *wider = [Band(limit, None) if falling else Band(None, limit) for limit in exact]

    def path(value: str) -> list[str]:
        return [band.name for band in wider if band.holds(value)]

    text = ", ".join(in_full(limit.numerator, limit.denominator) for limit in exact)
    return Builder(f"{name}({text})", path, begin_of, (coded,), is_bare=not wider)
