"""Builders for dates: by the calendar, and by the age of whoever was born on them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import date

from shoal.errors import PlanError
from shoal.model.hierarchy import Builder

__all__ = ["ages", "calendar", "read_day"]

_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})\b")


def read_day(text: str) -> date:
    """The day of a text that can be read in one way only: 2020-01-31, 2020/01/31 or 31.1.2020.

    >>> read_day("31.1.2020"), read_day("2020-01-31 10:30")
    (datetime.date(2020, 1, 31), datetime.date(2020, 1, 31))
    """
    match = _DOTS.match(text)
    if match is not None:
        return date(int(match[3]), int(match[2]), int(match[1]))
    return date.fromisoformat(text[:10].replace("/", "-"))


_CALENDAR: dict[str, Callable[[date], str]] = {
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
    "century": lambda day: f"{day.year // 100:02d}00s",
}


def calendar(*levels: str) -> Builder:
    """Levels of a date: `calendar("month", "year", "decade")`."""
    order = list(_CALENDAR)
    if not levels:
        raise PlanError(
            'calendar needs levels, such as calendar("month", "year", "decade").', field="hierarchies"
        )
    for level in levels:
        if level not in _CALENDAR:
            raise PlanError(
                f"calendar has no level {level!r}. Choose one of: {', '.join(order)}.", field="hierarchies"
            )
    if [order.index(level) for level in levels] != sorted({order.index(x) for x in levels}):
        raise PlanError(
            f"calendar needs its levels from fine to coarse: {', '.join(order)}.", field="hierarchies"
        )

    def path(value: str) -> list[str]:
        day = read_day(value)
        return [_CALENDAR[level](day) for level in levels]

    return Builder(f"calendar({', '.join(levels)})", path)


def ages(on: date | str, *widths: int) -> Builder:
    """Ages in full years, of those born on a date: `ages("2025-12-31", 5, 10)`, then bands so many wide.

    >>> ages("2025-06-30", 5, 10).path("1980-07-01")
    ['44 years', '40-44 years', '40-49 years']
    """
    try:
        day = on if isinstance(on, date) else read_day(on)
    except ValueError:
        raise PlanError(
            "ages needs the day on which they are counted, such as ages(2025-12-31, 5, 10).",
            field="hierarchies",
        ) from None
    if any(width < 2 for width in widths) or any(b <= a or b % a for a, b in itertools.pairwise(widths)):
        raise PlanError(
            "ages needs whole widths above 1, each a multiple of the one before: ages(2025-12-31, 5, 10).",
            field="hierarchies",
        )

    def path(value: str) -> list[str]:
        born = read_day(value)
        if born > day:
            raise ValueError
        age = day.year - born.year - ((day.month, day.day) < (born.month, born.day))
        starts = [age // width * width for width in widths]
        bands = [f"{start}-{start + width - 1} years" for start, width in zip(starts, widths, strict=True)]
        return [f"{age} years", *bands]

    words = ", ".join(map(str, (day.isoformat(), *widths)))
    return Builder(f"ages({words})", path, read_day)
