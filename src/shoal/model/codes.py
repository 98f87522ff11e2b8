"""Builders for codes that everybody knows, and for bands with edges of one's own."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from shoal.errors import PlanError
from shoal.model.hierarchy import Builder

__all__ = ["bands", "icd9", "icd10"]

ICD9 = (
    (1, "001-139 infections"),
    (140, "140-239 neoplasms"),
    (240, "240-279 endocrine, nutrition, metabolism, immunity"),
    (280, "280-289 blood"),
    (290, "290-319 mental disorders"),
    (320, "320-389 nerves and senses"),
    (390, "390-459 circulation"),
    (460, "460-519 respiration"),
    (520, "520-579 digestion"),
    (580, "580-629 urine and genitals"),
    (630, "630-679 pregnancy and birth"),
    (680, "680-709 skin"),
    (710, "710-739 muscles and bones"),
    (740, "740-759 congenital"),
    (760, "760-779 around birth"),
    (780, "780-799 symptoms"),
    (800, "800-999 injury and poisoning"),
)
"""The chapters of ICD-9-CM, by the number at which they begin."""
ICD10 = (
    ("A00", "A00-B99 infections"),
    ("C00", "C00-D49 neoplasms"),
    ("D50", "D50-D89 blood and immunity"),
    ("E00", "E00-E90 endocrine, nutrition, metabolism"),
    ("F00", "F00-F99 mental disorders"),
    ("G00", "G00-G99 nerves"),
    ("H00", "H00-H59 eye"),
    ("H60", "H60-H95 ear"),
    ("I00", "I00-I99 circulation"),
    ("J00", "J00-J99 respiration"),
    ("K00", "K00-K95 digestion"),
    ("L00", "L00-L99 skin"),
    ("M00", "M00-M99 muscles and bones"),
    ("N00", "N00-N99 urine and genitals"),
    ("O00", "O00-O9A pregnancy and birth"),
    ("P00", "P00-P96 around birth"),
    ("Q00", "Q00-Q99 congenital"),
    ("R00", "R00-R99 symptoms"),
    ("S00", "S00-T98 injury and poisoning"),
    ("U00", "U00-U99 special purposes"),
    ("V00", "V00-Y99 external causes"),
    ("Z00", "Z00-Z99 contacts with health services"),
)
"""The chapters of ICD-10 and ICD-10-CM, by the code at which they begin."""


def icd9() -> Builder:
    """Codes of ICD-9-CM: 250.83, its category 250, its chapter.

    >>> icd9().path("250.83")
    ['250', '240-279 endocrine, nutrition, metabolism, immunity']
    """

    def path(value: str) -> list[str]:
        match = re.fullmatch(r"(\d{1,3}|V\d{2}|E\d{3})(\.\d{0,2})?", value.strip().upper())
        if match is None:
            raise ValueError
        category = match[1]
        if category[0] == "V":
            chapter = "V01-V91 contacts with health services"
        elif category[0] == "E":
            chapter = "E000-E999 external causes"
        else:
            at = bisect_right([start for start, _ in ICD9], int(category)) - 1
            if at < 0:
                raise ValueError
            chapter = ICD9[at][1]
        return [chapter] if category == value else [category, chapter]

    return Builder("icd9()", path)


def icd10() -> Builder:
    """Codes of ICD-10: E11.9, its category E11, its chapter.

    >>> icd10().path("E11.9")
    ['E11', 'E00-E90 endocrine, nutrition, metabolism']
    """

    def path(value: str) -> list[str]:
        match = re.fullmatch(r"([A-Z]\d[0-9A-Z])\.?[0-9A-Z]{0,4}[-*+!]?", value.strip().upper())
        if match is None:
            raise ValueError
        category = match[1]
        chapter = ICD10[bisect_right([start for start, _ in ICD10], category) - 1][1]
        return [chapter] if category == value else [category, chapter]

    return Builder("icd10()", path)


def bands(*edges: float) -> Builder:
    """Bands of numbers with edges of one's own, open at both ends: `bands(18, 30, 45, 65)` for ages.

    >>> [bands(18, 65).path(age) for age in ("17", "18", "65")]
    [['< 18'], ['[18, 65)'], ['>= 65']]
    """
    if (
        not edges
        or not all(math.isfinite(edge) for edge in edges)
        or any(a >= b for a, b in pairwise(edges))
    ):
        raise PlanError("bands needs rising edges, such as bands(18, 30, 45, 65).", field="hierarchies")
    exact = [Fraction(str(edge)) for edge in edges]
    names = [f"{edge:g}" for edge in edges]
    listed = [f"< {names[0]}", *(f"[{a}, {b})" for a, b in pairwise(names)), f">= {names[-1]}"]

    def order(value: str) -> Fraction:
        number = Decimal(value)
        if not number.is_finite() or abs(number.adjusted()) > 300:
            raise ValueError
        return Fraction(number)

    return Builder(
        f"bands({', '.join(names)})", lambda value: [listed[bisect_right(exact, order(value))]], order
    )
