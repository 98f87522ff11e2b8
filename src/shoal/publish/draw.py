"""Small plots as SVG: attributes alone, so that they stand in a page with a strict policy, and in print.

They are given names and numbers. Each bar has its number beside it, so nothing is told by length or colour
alone; a page shows the same numbers as a table for those who cannot see the plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "bars"]

WIDE, LEFT, LONG = 640, 170, 330
HIGH, APART, BETWEEN = 16, 4, 10
LONGEST = 24
INK, EMPTY = "#1d2733", "#e6eaee"
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
    return (
        f'<svg viewBox="0 0 {WIDE} {top}" width="{WIDE}" height="{top}" role="img" '
        f'aria-label="{escape(label)}" '
        f'font-family="sans-serif" font-size="13">{"".join(parts)}</svg>'
    )


def _bar(top: float, length: float, colour: str) -> str:
    return f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{HIGH}" fill="{colour}"/>'


def _text(x: float, middle: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{middle + 4.5:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
