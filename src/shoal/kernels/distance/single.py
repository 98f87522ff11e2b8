"""Single precision: what is taken off a sum of columns so that it is not above the true one.

A sum of d columns has at most 2 d + 3 roundings, each of a part in 2^24: up to 64 columns, together less
than the part that DOWN takes off. Of more columns PER_COLUMN each is taken off besides.
"""

from __future__ import annotations

__all__ = ["COLUMNS", "DOWN", "PER_COLUMN", "down_for", "slack_for"]

DOWN = 1.0 - 1e-5
COLUMNS, PER_COLUMN = 64, 2e-7
SLACK = 4e-7
"""More than places on lines add to a distance, as a share of all columns."""


def down_for(columns: int) -> float:
    """What is left, beside DOWN, of a sum of so many columns in single precision.

    >>> down_for(64), down_for(1064)
    (1.0, 0.9998)
    """
    return max(0.0, 1.0 - PER_COLUMN * max(0, columns - COLUMNS))


def slack_for(columns: int, weight: float) -> float:
    """What a radius, DOWN taken off, may still be too large by in single precision.

    It is so much too much for the difference of two sums, too.
    """
    return weight * (SLACK + 2 * PER_COLUMN * max(0, columns - COLUMNS))
