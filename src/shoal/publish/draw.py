"""Small plots as SVG: attributes alone, so that they stand in a page with a strict policy, and in print.

They are given names and numbers. Each bar has its number beside it, so nothing is told by length or colour
alone; a page shows the same numbers as a table for those who cannot see the plot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "Point", "bars", "fall", "over_k", "upright"]

WIDE, LEFT, LONG = 640, 170, 330
HIGH, APART, BETWEEN = 16, 4, 10
LONGEST = 24
TALL, MOST_UPRIGHT, MARGIN = 220, 24, 56
INK, EMPTY, EDGE = "#1d2733", "#e6eaee", "#7b8794"
COLOURS = ("#0a5c99", "#b35900")
"""Told apart by the colour-blind, and as light and dark grey in print."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its share of the whole length, from 0 to 1, and its number in words."""

    share: float
    text: str


def bars(rows: Sequence[tuple[str, Sequence[Bar]]], *, label: str) -> str:
    """Horizontal bars by name, one or two for each; `label` says what is drawn."""
    parts = []
    top = 2
    for name, its in rows:
        middle = top + (len(its) * (HIGH + APART) - APART) / 2
        parts.append(_text(LEFT - 10, middle, _short(name), anchor="end"))
        for bar, colour in zip(its, COLOURS, strict=False):
            length = LONG * min(max(bar.share, 0.0), 1.0)
            parts.append(_bar(top, LONG, EMPTY) + _bar(top, length, colour))
            parts.append(_text(LEFT + LONG + 10, top + HIGH / 2, bar.text))
            top += HIGH + APART
        top += BETWEEN - APART
    return _svg(top, label, parts)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve, and what nothing can beat there, where that is known."""

    x: float
    y: float
    least: float | None = None


def upright(rows: Sequence[tuple[str, int]], *, label: str) -> str:
    """Upright bars by name, with the number of each above it; names that stand too close are left out."""
    most = max((number for _, number in rows), default=1) or 1
    step = (WIDE - 20) / max(len(rows), 1)
    parts = []
    for at, (name, number) in enumerate(rows):
        high = (TALL - 50) * number / most
        left = 10 + at * step
        parts.append(
            f'<rect x="{left + 1:.1f}" y="{TALL - 24 - high:.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{high:.1f}" fill="{COLOURS[0]}"/>'
        )
        middle = left + step / 2
        if len(rows) <= MOST_UPRIGHT // 2 or at % 3 == 0:
            parts.append(_text(middle, TALL - 12, name, anchor="middle"))
            parts.append(_text(middle, TALL - 34 - high, f"{number:,}", anchor="middle"))
    return _svg(TALL, label, parts)


def fall(points: Sequence[Point], *, label: str) -> str:
    """A line that falls, above what nothing can beat."""
    least = points[-1].least
    lowest = min(point.y for point in points) if least is None else min(least, points[-1].y)
    top, bottom = 1.02 * max(point.y for point in points), 0.98 * lowest
    scale = _Scale(points[0].x, points[-1].x, bottom, top)
    parts = [_line([scale.place(point.x, point.y) for point in points], COLOURS[0])]
    parts.append(_text(MARGIN - 6, scale.place(0, points[0].y)[1], f"{points[0].y:.3g} %", anchor="end"))
    if least is not None:
        y = scale.place(0, least)[1]
        parts.append(_line([(MARGIN, y), (WIDE - 10, y)], COLOURS[1], dotted=True))
        parts.append(_text(MARGIN + 6, y - 12, f"no release can lose less: {least:.3g} %"))
    return _svg(TALL, label, parts)


def over_k(points: Sequence[Point], *, label: str) -> str:
    """Loss over k, each with its number, above what nothing can beat; k stands on a logarithmic line."""
    scale = _Scale(
        math.log(points[0].x), math.log(points[-1].x), 0.0, 1.1 * max(point.y for point in points) or 1.0
    )
    floor = scale.place(0, 0.0)[1]
    parts = [f'<line x1="{MARGIN}" x2="{WIDE - 10}" y1="{floor:.1f}" y2="{floor:.1f}" stroke="{EDGE}"/>']
    parts.append(_line([scale.place(math.log(point.x), point.y) for point in points], COLOURS[0]))
    known = [(math.log(point.x), point.least) for point in points if point.least is not None]
    parts.append(_line([scale.place(x, least) for x, least in known], COLOURS[1], dotted=True))
    for point in points:
        x, y = scale.place(math.log(point.x), point.y)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[0]}"/>')
        parts.append(_text(x, y - 14, f"{point.y:.3g} %", anchor="middle"))
        parts.append(_text(x, TALL - 10, f"{point.x:g}", anchor="middle"))
    return _svg(TALL, label, parts)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where numbers lie in a drawing."""

    left: float
    right: float
    bottom: float
    top: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / max(self.right - self.left, 1e-9)
        down = (self.top - y) / max(self.top - self.bottom, 1e-9)
        return MARGIN + (WIDE - MARGIN - 30) * across, 20 + (TALL - 50) * down


def _line(places: Sequence[tuple[float, float]], colour: str, *, dotted: bool = False) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = ' stroke-dasharray="3 4"' if dotted else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dots}/>'


def _svg(high: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDE} {high}" width="{WIDE}" height="{high}" role="img" '
        f'aria-label="{escape(label)}" '
        f'font-family="sans-serif" font-size="13">{"".join(parts)}</svg>'
    )


def _bar(top: float, length: float, colour: str) -> str:
    return f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{HIGH}" fill="{colour}"/>'


def _text(x: float, middle: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{middle + 4.5:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
