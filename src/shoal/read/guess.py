"""What the columns of a table may be: roles, kinds, hierarchies and rules, with the reasons."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import ShoalError
from shoal.model.bands import usual_width
from shoal.model.codes import countries, icd9, icd10
from shoal.model.guess import Guess, Guesses, guess_kind
from shoal.model.hierarchy import Builder, bins
from shoal.model.plain import has_text
from shoal.model.whom import Repeats, Whom
from shoal.read.frames import to_polars
from shoal.read.words import IDENTIFIER, ILLNESS, OUTCOME, PERSON, QUASI, SENSITIVE, WEAK_IDENTIFIER

__all__ = ["guess", "person_keys", "repeats_in"]

UNIQUE_SHARE = 0.9
UNIQUE_ROWS = 20
KEY_SHARE = 0.3
"""Codes of which so many are distinct tell rows or persons apart, whatever the column is called."""
MOST_ROWS = 20
"""Rows that a person may have on average, where a column's name says no more than that it is an id."""
MOST_VALUES = 5000
"""More values are no bands."""
SURE_MARKS = ("?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "k.a.")
"""Texts that mean a missing cell wherever they stand."""
MARKS = (*SURE_MARKS, "none", "unknown", "missing", "-9", "-99", "-999")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A guess, how its values repeat, and which sure marks stand in the column."""

    guess: Guess
    repeats: Repeats | None
    sure: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        return _words(self.guess.name)


def guess(frame: Any) -> Guesses:
    """Guess each column's role and kind, whom k counts, rules and hierarchies, from names and counts.

    What is guessed is for a person to check: `guess_plan` writes it as a plan with the reasons beside it.
    No value of the table is in it but usual marks for missing cells, such as `?`.

    Args:
        frame: A pandas, Polars or Arrow frame, eager or lazy. It is not changed.

    Returns:
        A guess for every column, and the column whose persons k should count.

    Example:
        >>> import polars as pl, shoal
        >>> frame = pl.DataFrame({"Patientennr": ["a", "a", "b"], "readmitted": ["no", "yes", "no"]})
        >>> for one in shoal.guess(frame).columns:
        ...     print(one.name, one.role, "because", one.why)
        Patientennr identifier because its name says who somebody is
        readmitted sensitive because its name speaks of an outcome

    """
    _, table = to_polars(frame)
    seen = [_look(table[name]) for name in table.columns]
    unit, why = _unit([one for one in seen if one.guess.role == "identifier"])
    marks = tuple(dict.fromkeys(mark for one in seen for mark in one.sure))
    return Guesses(tuple(one.guess for one in seen), table.height, unit, why, marks)


def person_keys(table: pl.DataFrame, *, without: Collection[str] = ()) -> tuple[Repeats, ...]:
    """Columns that look as if they told persons apart and whose values repeat, the likeliest first.

    `without` names columns that are known to be something else.
    """
    plain = [name for name in table.columns if name not in without and has_text(table[name].dtype)]
    named = [name for name in plain if _speaks(_words(name), PERSON | IDENTIFIER | WEAK_IDENTIFIER)]
    return _keys([_look(table[name]) for name in named])


def repeats_in(
    table: pl.DataFrame, others: Collection[str], *, unit: str | None, count: str | None
) -> tuple[Repeats, ...]:
    """Columns of any table that seem to tell persons apart and repeat, where nobody said whom to count.

    `others` are columns that were named as something else.
    """
    whom = Whom.read(unit=unit, count=count)
    if whom.means_rows or whom.counted == "persons":
        return ()
    return person_keys(table, without={*others, *whom.columns})


def _keys(seen: Sequence[_Seen]) -> tuple[Repeats, ...]:
    """Identifiers that repeat: a person's number before names, which strangers share, then the finest."""
    found = [one for one in seen if one.guess.role == "identifier" and _is_key(one)]
    found.sort(key=lambda one: (not _speaks(one.words, PERSON), -one.guess.distinct))
    return tuple(one.repeats for one in found if one.repeats is not None)


def _is_key(seen: _Seen) -> bool:
    """Whether it may tell persons apart: an `id` of a few values is one of shops, wards or days."""
    if seen.repeats is None or _speaks(seen.words, PERSON | IDENTIFIER):
        return seen.repeats is not None
    return seen.repeats.rows <= MOST_ROWS * seen.repeats.values


def _unit(identifiers: Sequence[_Seen]) -> tuple[str | None, str]:
    """Whom k counts: where an identifier repeats, that of persons, else rows without a word."""
    keys = _keys(identifiers)
    numbers = [one.guess.name for one in identifiers if _speaks(one.words, PERSON)]
    if not keys:
        return None, ""
    first = keys[0]
    if first.column not in numbers and numbers:  # names repeat, but each number stands once
        return numbers[0], "another identifier repeats, this one does not"
    return (
        first.column,
        f"{first.values} of its values stand in {first.rows} rows, one in up to {first.most}",
    )


def _look(series: pl.Series) -> _Seen:
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        stripped = series.str.strip_chars()
        series = stripped.set(stripped == "", None)
    elif series.dtype.is_float():
        series = series.fill_nan(None)
    name = series.name
    if not has_text(series.dtype):
        unfit = Guess(name, "", "", "its type cannot be published", missing=series.null_count())
        return _Seen(unfit, None, ())
    values = series.drop_nulls()
    distinct, marks, sure = values.n_unique(), 0, ()
    told = values
    if series.dtype == pl.String:
        small = values.str.to_lowercase()
        is_mark, is_sure = small.is_in(list(MARKS)), small.is_in(list(SURE_MARKS))
        marks = int(is_mark.sum())
        sure = tuple(sorted(values.filter(is_sure).unique().to_list()))
        values, told = values.filter(~is_mark), values.filter(~is_sure)
    kind = guess_kind(values)
    role, why = _role(name, values, kind)
    hierarchy = _hierarchy(values) if kind == "label" and role == "quasi" else ""
    if not hierarchy and kind in {"label", "number"} and _speaks(_words(name), ILLNESS):
        hierarchy = next((one.text for one in (icd9(), icd10()) if _fits(one, _texts(values))), "")
    sizes = values.value_counts(name="\0rows")["\0rows"]
    shares = told.value_counts(name="\0rows")["\0rows"] / max(len(told), 1)
    commonest = float(shares.max() or 0.0)  # type: ignore[arg-type]
    often = sizes.filter(sizes > 1)
    repeats = None
    if len(often):
        repeats = Repeats(name, len(often), int(often.sum()), int(often.max() or 0))  # type: ignore[arg-type]
    found = Guess(
        name,
        role,
        "tree" if hierarchy and role == "quasi" else kind,
        why,
        hierarchy,
        rule=f"{name}: 2-diverse" if role == "sensitive" else "",
        rule_costs=role == "sensitive" and not (distinct > 1 and commonest <= 1 / 2),
        distinct=distinct,
        missing=series.null_count(),
        marks=marks,
    )
    return _Seen(found, repeats, sure)


def _hierarchy(values: pl.Series) -> str:
    """A builder for labels: bands become wider, codes of one width shorter."""
    if values.dtype != pl.String or not len(values):
        return ""
    texts = values.unique()
    width = usual_width(texts.to_list()) if len(texts) <= MOST_VALUES else None
    if width is not None and width.denominator == 1:
        builder = bins(2 * int(width), 4 * int(width))
        return builder.text if _fits(builder, texts) else ""
    if _fits(countries(), texts):
        return countries().text
    lengths = texts.str.len_chars()
    is_code = texts.str.contains(r"^[0-9A-Za-z]+$").all() and texts.str.contains(r"\d").all()
    least, most = lengths.min(), lengths.max()
    if not is_code or least != most or not isinstance(most, int) or most < 3:
        return ""
    return f"prefixes({', '.join(map(str, range(most, -1, -2 if most > 3 else -1)))})"


def _texts(values: pl.Series) -> pl.Series:
    return values.unique().cast(pl.String)


def _fits(builder: Builder, texts: pl.Series) -> bool:
    """Whether a builder has a place for every text."""
    if not 0 < len(texts) <= MOST_VALUES:
        return False
    try:
        builder.build(texts.to_list(), column=texts.name)
    except ShoalError:
        return False
    return True


def _role(name: str, values: pl.Series, kind: str) -> tuple[str, str]:
    words = _words(name)
    for is_said in (_says, _speaks):  # a word itself before one inside a longer one: discharge, no charge
        for role, known, why in (
            ("identifier", PERSON | IDENTIFIER, "its name says who somebody is"),
            ("sensitive", OUTCOME, "its name speaks of an outcome"),
            ("sensitive", SENSITIVE, "its name speaks of what nobody should learn"),
            ("quasi", QUASI, "its name speaks of what others may know"),
        ):
            if is_said(words, known):
                return role, why
    if _speaks(words, WEAK_IDENTIFIER):
        return "identifier", "its name says who somebody is"
    if kind.startswith("date"):
        return "quasi", "others may know a day"
    unique = values.n_unique() / len(values) if len(values) else 0.0
    if len(values) >= UNIQUE_ROWS:
        if kind == "label" and unique >= UNIQUE_SHARE:
            return "identifier", "almost every value stands once"
        if kind == "number" and unique == 1.0 and _is_whole(values):
            return "identifier", "every value is a whole number that stands once"
        if kind == "label" and unique >= KEY_SHARE and _are_codes(values):
            return "identifier", "codes of one shape, many of which stand once: a key that repeats"
    return "", "nothing speaks for a role"


def _are_codes(values: pl.Series) -> bool:
    """Whether all are letters and digits of one width, six and more, with a digit in each."""
    if values.dtype != pl.String:
        return False
    texts = values.unique()
    if not texts.str.contains(r"^[0-9A-Za-z-]{6,}$").all() or not texts.str.contains(r"\d").all():
        return False
    return texts.str.len_chars().n_unique() == 1


def _is_whole(values: pl.Series) -> bool:
    if values.dtype == pl.String:
        return bool(values.str.contains(r"^\d+$").all())
    return values.dtype.is_integer()


def _words(name: str) -> list[str]:
    """A column's name as lower-case words without accents: `BirthDate_1` is birth, date."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    bare = unicodedata.normalize("NFKD", parted.casefold())
    bare = "".join(letter for letter in bare if not unicodedata.combining(letter))
    words = re.findall(r"[^\W\d_]+", bare)
    return [*words, *(one + other for one, other in itertools.pairwise(words))]


def _says(words: list[str], known: frozenset[str]) -> bool:
    """Whether a word is known."""
    return any(word in known for word in words)


def _speaks(words: list[str], known: frozenset[str]) -> bool:
    """Whether a word is known; long known words also count inside longer ones, as in German."""
    stems = [stem for stem in known if len(stem) >= 6 or not stem.isascii()]
    return any(word in known or any(stem in word for stem in stems) for word in words)
