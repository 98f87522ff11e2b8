"""Builders for codes that everybody knows, and for bands with edges of one's own."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import pairwise

from shoal.errors import PlanError
from shoal.model.hierarchy import Builder

__all__ = ["bands", "countries", "icd9", "icd10"]

ICD_LEVELS = ("category", "block", "chapter")
ICD10_LETTERED = {"C4A": "C44", "D3A": "D36", "I1A": "I16", "M1A": "M14"}
"""Categories of ICD-10-CM that end in a letter and belong beside another than the one before them."""


def icd9(*levels: str) -> Builder:
    """Codes of ICD-9-CM: 250.83, then its category, block and chapter, or those of them that are named.

    >>> icd9().path("250.83")
    ['250.-', '249-259', '240-279 endocrine, nutrition, metabolism, immunity']
    """

    def category(value: str) -> str:
        match = re.fullmatch(r"(\d{1,3}|V\d{2}|E\d{3})(\.\d{0,2})?", value)
        if match is None or match[1].strip("0") == "":
            raise ValueError
        return match[1]

    def padded(code: str) -> str:  # 38 is 038
        return code.zfill(3) if code.isdigit() else code

    return _icd("icd9", levels, category, padded)


def icd10(*levels: str) -> Builder:
    """Codes of ICD-10: E11.9, then its category, block and chapter, or those of them that are named.

    >>> icd10().path("E11.9"), icd10("chapter").path("E119")
    (['E11.-', 'E08-E14', 'E00-E90 endocrine, nutrition, metabolism'], \
['E00-E90 endocrine, nutrition, metabolism'])
    """

    def category(value: str) -> str:
        match = re.fullmatch(r"([A-Z]\d[0-9A-Z])\.?[0-9A-Z]{0,4}[-*+!]?", value)
        if match is None:
            raise ValueError
        return match[1]

    return _icd("icd10", levels, category, lambda code: ICD10_LETTERED.get(code, code))


def _icd(
    name: str,
    levels: Sequence[str],
    category_of: Callable[[str], str],
    ordered: Callable[[str], str],
) -> Builder:
    wanted = levels or ICD_LEVELS
    if any(level not in ICD_LEVELS for level in wanted) or sorted(set(wanted), key=ICD_LEVELS.index) != [
        *wanted
    ]:
        raise PlanError(
            f"{name} has the levels category, block and chapter, in this order: {name}(block, chapter).",
            field="hierarchies",
        )

    def path(value: str) -> list[str]:
        category = category_of(value.strip().upper())
        block, chapter = _block_of(name, ordered(category))
        # a dot and a dash, as in books: a value may be the category itself
        found = {"category": f"{category}.-", "block": block, "chapter": chapter}
        return [found[level] for level in wanted]

    return Builder(f"{name}({', '.join(levels)})", path)


def _block_of(name: str, code: str) -> tuple[str, str]:
    """The block that begins last before a code, and its chapter; both have a letter, or neither."""
    blocks, starts = _blocks(name)
    at = bisect_right(starts, code) - 1
    if at < 0 or starts[at][0].isdigit() != code[0].isdigit():
        raise ValueError
    return blocks[at]


@cache
def _blocks(name: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Every block with its chapter, and where they begin."""
    blocks = [(block, chapter) for chapter, those in _lines(name) for block in those.split()]
    return blocks, [block.partition("-")[0] for block, _ in blocks]


def _lines(name: str) -> list[tuple[str, str]]:
    """The lines of a text file of ours: what stands before the colon, and what behind it."""
    text = files("shoal.model").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    parted = [line.partition(": ") for line in text.splitlines() if not line.startswith("#")]
    return [(before, behind) for before, _, behind in parted]


def countries() -> Builder:
    """Countries by ISO code or English name, then the region and the continent of the UN (M49).

    >>> countries().path("AT"), countries().path("South Korea")
    (['Western Europe', 'Europe'], ['Eastern Asia', 'Asia'])
    """

    def path(value: str) -> list[str]:
        found = _lands().get(_bare(value))
        if found is None:
            raise ValueError
        return [*found]

    return Builder("countries()", path)


@cache
def _lands() -> dict[str, tuple[str, str]]:
    """Region and continent by everything a country is called."""
    found: dict[str, tuple[str, str]] = {}
    for where, those in _lines("lands"):
        continent, _, region = where.partition(" / ")
        for land in those.split("; "):
            two, three, names = land.split(" ", 2)
            for name in (two, three, *names.split(" = ")):
                found[_bare(name)] = (region or continent, continent)
    return found


def _bare(name: str) -> str:
    """A name in small letters, without accents, signs and a leading article."""
    letters = unicodedata.normalize("NFKD", name.casefold().replace("&", " and "))
    words = re.findall(r"\w+", "".join(sign for sign in letters if not unicodedata.combining(sign)))
    return " ".join(words[1:] if words[:1] == ["the"] else words)


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
