"""Sizes of memory as they are written in plans."""

from __future__ import annotations

import re

from shoal.errors import PlanError

__all__ = ["bytes_of"]

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(text: str, *, field: str = "memory") -> int:
    """Bytes from 2GB, 1.5 GiB, 800M.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of("800M")
    (2000000000, 1610612736, 800000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?\s*", text.upper())
    if match is None:
        raise PlanError(f"{field} = {text!r} is not a size. Write it as 2GB or 800MB.", field=field)
    number, unit, binary = match.groups()
    power = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}[unit]
    return int(float(number) * (1024**power if binary else UNITS[unit]))
