"""Bands that stand in a table as text: `[50-60)`, `50-59`, `50 to 59`, and open ones such as `80+`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

__all__ = ["Band", "in_full", "number_in", "usual_width"]

_NUMBER = r"-?\d{1,15}(?:\.\d{1,15})?"
_CLOSED = re.compile(rf"([\[(]?)\s*({_NUMBER})\s*(?:-|\u2013|,|\bto\b|\bbis\b)\s*({_NUMBER})\s*([\])]?)")
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|from|ab|über)\s*({_NUMBER})|({_NUMBER})\s*(?:\+|and over|and older|u\.ä\.)"
)
_BELOW = re.compile(rf"(?:<=?|≤|under|unter|bis)\s*({_NUMBER})")


@dataclass(frozen=True, slots=True)
class Band:
    """From `low` up to `high`, without the latter where `is_half_open`; None where it has no such end."""

    low: Fraction | None
    high: Fraction | None
    is_half_open: bool = False

    @classmethod
    def parse(cls, text: str) -> Band | None:
        """Read a band; None where the text is none.

        >>> Band.parse("[50-60)").width, Band.parse("50-59").width, Band.parse("fifty")
        (Fraction(10, 1), Fraction(10, 1), None)
        """
        text = text.strip()
        match = _CLOSED.fullmatch(text)
        if match is not None:
            low, high = Fraction(match[2]), Fraction(match[3])
            return cls(low, high, match[4] == ")") if low <= high else None
        match = _ABOVE.fullmatch(text)
        if match is not None:
            return cls(Fraction(match[1] or match[2]), None)
        match = _BELOW.fullmatch(text)
        return cls(None, Fraction(match[1])) if match is not None else None

    @property
    def width(self) -> Fraction | None:
        """How wide it is, where both ends are known: of whole numbers that include their end, one more."""
        if self.low is None or self.high is None:
            return None
        is_whole = self.low.denominator == self.high.denominator == 1
        return self.high - self.low + (1 if is_whole and not self.is_half_open else 0)

    @property
    def name(self) -> str:
        """An open band as it is published: `>= 90`, `<= 5`."""
        limit = self.low if self.low is not None else self.high
        assert limit is not None, "a band has an end"
        sign = ">=" if self.low is not None else "<="
        return f"{sign} {in_full(limit.numerator, limit.denominator)}"

    def holds(self, text: str) -> bool:
        """Whether a number or a band, as text, lies in this open one.

        Raises ValueError or ArithmeticError where the text is neither, or a band that crosses the limit.

        >>> Band(Fraction(90), None).holds("95.5"), Band(Fraction(90), None).holds("90+")
        (True, True)
        """
        band = Band.parse(text) or Band(number_in(text), number_in(text))
        if self.low is not None:
            inside = band.low is not None and band.low >= self.low
            below = band.high is not None and band.high < self.low
            outside = below or (band.is_half_open and band.high == self.low)
        else:
            assert self.high is not None, "a band has an end"
            inside = band.high is not None and band.high <= self.high
            outside = band.low is not None and band.low > self.high
        if inside == outside:
            raise ValueError
        return inside

    def bin(self, width: Fraction) -> Fraction | None:
        """Where the bin of `width` that holds it whole begins; None where it crosses an edge or is open."""
        if self.low is None or self.high is None:
            return None
        start = self.low // width * width
        fits = self.high <= start + width if self.is_half_open else self.high < start + width
        return Fraction(start) if fits else None


def usual_width(texts: Iterable[str]) -> Fraction | None:
    """The commonest width of texts that are all bands; None where one is none, or fewer than two have ends.

    >>> usual_width(["[0-10)", "[10-20)", "90+"])
    Fraction(10, 1)
    """
    bands = [Band.parse(text) for text in texts]
    if not bands or not all(bands):
        return None
    widths = Counter(band.width for band in bands if band is not None and band.width)
    if widths.total() < 2:
        return None
    return min(widths, key=lambda width: (-widths[width], width))


def number_in(text: str) -> Fraction:
    """The number that a text is; ValueError or ArithmeticError where it is none that we can count with."""
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise ValueError
    return Fraction(number)


def in_full(top: int, bottom: int) -> str:
    """A fraction in full: 1200000, 0.25. Needs one that has finitely many decimals."""
    if bottom == 1:
        return str(top)
    number, places = Fraction(top, bottom), 0
    while number.denominator != 1:
        number *= 10
        places += 1
    if places == 0:
        return str(number)
    digits = str(abs(number.numerator)).rjust(places + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"
