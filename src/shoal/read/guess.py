"""A first plan for a table: roles and kinds guessed, with the reasons, for a person to check."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.model.guess import guess_kind
from shoal.model.plain import has_text
from shoal.model.whom import Repeats, Whom
from shoal.read.frames import to_polars
from shoal.read.words import IDENTIFIER, PERSON, QUASI, SENSITIVE, WEAK_IDENTIFIER

__all__ = ["guess_plan", "person_keys", "repeats_in"]

UNIQUE_SHARE = 0.9
UNIQUE_ROWS = 20
MOST_ROWS = 20
"""Rows that a person may have on average, where a column's name says no more than that it is an id."""
MARKS = (
    "?",
    "-",
    ".",
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "unknown",
    "missing",
    "k.a.",
    "-9",
    "-99",
    "-999",
)
DAY_FORMATS = (
    (r"^\d{1,2}\.\d{1,2}\.\d{4}$", ("%d.%m.%Y",)),
    (r"^\d{1,2}/\d{1,2}/\d{4}$", ("%d/%m/%Y", "%m/%d/%Y")),
    (r"^\d{1,2}-\d{1,2}-\d{4}$", ("%d-%m-%Y", "%m-%d-%Y")),
    (r"^\d{4}/\d{1,2}/\d{1,2}$", ("%Y/%m/%d",)),
)


@dataclass(frozen=True, slots=True)
class _Guess:
    """One column: its role ("" for none), its kind, why, and counts. No value."""

    name: str
    role: str
    kind: str
    why: str
    distinct: int
    missing: int
    marks: int
    width: int
    repeats: Repeats | None
    commonest: float


def person_keys(table: pl.DataFrame, *, without: Collection[str] = ()) -> tuple[Repeats, ...]:
    """Columns that look as if they told persons apart and whose values repeat, the likeliest first.

    `without` names columns that are known to be something else.
    """
    plain = [name for name in table.columns if name not in without and has_text(table[name].dtype)]
    named = [name for name in plain if _speaks(_words(name), PERSON | IDENTIFIER | WEAK_IDENTIFIER)]
    return _keys([_guess(table[name]) for name in named])


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


def _keys(guesses: Sequence[_Guess]) -> tuple[Repeats, ...]:
    """Identifiers that repeat: a person's number before names, which strangers share, then the finest."""
    found = [g for g in guesses if g.role == "identifier" and g.repeats is not None]
    found = [g for g in found if _is_key(g)]
    found.sort(key=lambda g: (not _speaks(_words(g.name), PERSON), -g.distinct))
    return tuple(g.repeats for g in found if g.repeats is not None)


def _is_key(guess: _Guess) -> bool:
    """Whether it may tell persons apart: an `id` of a few values is one of shops, wards or days."""
    if _speaks(_words(guess.name), PERSON | IDENTIFIER):
        return True
    return guess.repeats is not None and guess.repeats.rows <= MOST_ROWS * guess.repeats.values


def guess_plan(frame: Any, *, path: str | Path = "table.csv") -> str:
    """A commented plan for `frame` as YAML text: guesses with reasons and counts, never a value.

    `path` is the table's file, named in the comments. The plan says that a person must check it.
    """
    _, table = to_polars(frame)
    guesses = [_guess(table[name]) for name in table.columns]
    return _print(guesses, rows=table.height, file=Path(path).name)


def _guess(series: pl.Series) -> _Guess:
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        stripped = series.str.strip_chars()
        series = stripped.set(stripped == "", None)
    elif series.dtype.is_float():
        series = series.fill_nan(None)
    unfit = not has_text(series.dtype)
    values = series.drop_nulls()
    distinct = 0 if unfit else values.n_unique()
    marks = 0
    if series.dtype == pl.String:
        is_mark = values.str.to_lowercase().is_in(list(MARKS))
        marks = int(is_mark.sum())
        values = values.filter(~is_mark)
    kind = "" if unfit else _kind(values)
    role, why = ("", "its type cannot be published") if unfit else _role(series.name, values, kind)
    width = 0
    if kind == "label" and role == "quasi" and values.dtype == pl.String and len(values):
        lengths = values.str.len_chars()
        is_code = bool(values.str.contains(r"^[0-9A-Za-z]+$").all()) and bool(
            values.str.contains(r"\d").all()
        )
        least, most = lengths.min(), lengths.max()
        width = most if is_code and least == most and isinstance(most, int) and most >= 3 else 0
    sizes = pl.Series([], dtype=pl.UInt32) if unfit else values.value_counts(name="\0rows")["\0rows"]
    often = sizes.filter(sizes > 1)
    repeats = None
    if len(often):
        repeats = Repeats(series.name, len(often), int(often.sum()), int(often.max() or 0))  # type: ignore[arg-type]
    commonest = int(sizes.max() or 0) / max(len(values), 1)  # type: ignore[arg-type]
    nulls = series.null_count()
    return _Guess(series.name, role, kind, why, distinct, nulls, marks, width, repeats, commonest)


def _kind(values: pl.Series) -> str:
    kind = guess_kind(values)
    if kind != "label" or values.dtype != pl.String or not len(values):
        return kind
    days = values.unique()
    for shape, formats in DAY_FORMATS:
        if not days.str.contains(shape).all():
            continue
        fitting = [form for form in formats if days.str.to_date(form, strict=False).null_count() == 0]
        if len(fitting) == 1:
            return f"date({fitting[0]})"
    return kind


def _role(name: str, values: pl.Series, kind: str) -> tuple[str, str]:
    words = _words(name)
    for role, known, why in (
        ("identifier", PERSON | IDENTIFIER, "its name says who somebody is"),
        ("sensitive", SENSITIVE, "its name speaks of what nobody should learn"),
        ("quasi", QUASI, "its name speaks of what others may know"),
        ("identifier", WEAK_IDENTIFIER, "its name says who somebody is"),
    ):
        if _speaks(words, known):
            return role, why
    if kind.startswith("date"):
        return "quasi", "others may know a day"
    unique = values.n_unique() / len(values) if len(values) else 0.0
    if len(values) >= UNIQUE_ROWS:
        if kind == "label" and unique >= UNIQUE_SHARE:
            return "identifier", "almost every value stands once"
        if kind == "number" and unique == 1.0 and _is_whole(values):
            return "identifier", "every value is a whole number that stands once"
    return "", "nothing speaks for a role"


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


def _speaks(words: list[str], known: frozenset[str]) -> bool:
    """Whether a word is known; long known words also count inside longer ones, as in German."""
    stems = [stem for stem in known if len(stem) >= 6 or not stem.isascii()]
    return any(word in known or any(stem in word for stem in stems) for word in words)


def _print(guesses: list[_Guess], *, rows: int, file: str) -> str:
    by_role = {
        role: [g for g in guesses if g.role == role] for role in ("identifier", "quasi", "sensitive", "")
    }
    quasi = by_role["quasi"]
    lines = [
        f"# A first plan for {_quoted(file)} ({rows} rows, {len(guesses)} columns).",
        "# Everything here is guessed from names and counts. CHECK EVERY LINE, move columns between the",
        "# lists as you see fit, then run",
        "#   shoal anonymize TABLE --plan THIS_FILE -o RELEASE",
        "",
        "# Every published row will look like at least k - 1 others.",
        "k: 5",
        "",
        "# Identifiers say who somebody is. They are dropped.",
        *_listed("identifier", by_role["identifier"]),
        "",
        *_unit(by_role["identifier"]),
        "",
        "# Quasi-identifiers: what somebody may know of a person from elsewhere. These are made alike.",
        "# Check these: one that is missing here is not protected.",
        *_listed("quasi", quasi),
        "",
        "# Sensitive: what nobody should learn about a person. Published as it is.",
        *_listed("sensitive", by_role["sensitive"]),
        "",
        *_rules(by_role["sensitive"]),
        "",
        "# Published as it is, though neither of the above. Only what nobody can know or recognise.",
        "keep: []",
        "",
        "# No role: left out of the release. Move a column into a list above to publish it.",
        *([f"#  - {_quoted(g.name)}  # {_why(g)}" for g in by_role[""]] or ["#  (none)"]),
        "",
        "# Kinds of the quasi-identifiers: number, date, date(%d.%m.%Y), label, tree (with a hierarchy).",
        *(["kinds:"] if quasi else ["kinds: {}"]),
        *(f"  {_quoted(g.name)}: {_quoted(g.kind)}" for g in quasi),
        "",
        "# Hierarchies say which labels are close: a file, a builder, or a tree written out here. The kind",
        "# of such a column is tree: change it above.",
        "# hierarchies:",
        *(f"#   {_quoted(g.name)}: {_prefixes(g.width)}" for g in quasi if g.width),
        *(
            f"#   {_quoted(g.name)}: {_quoted(g.name + '.csv')}"
            for g in quasi
            if g.kind == "label" and not g.width
        ),
    ]
    marked = [g for g in guesses if g.marks]
    if marked:
        lines += ["", "# Cells that look like marks for a missing value stand in these columns:"]
        lines += [f"#  - {_quoted(g.name)}  # {g.marks} cells" for g in marked]
    lines += [
        "",
        "# Texts that mean a missing cell, besides the empty one.",
        "missing: []",
        '# missing: ["?", "NA"]',
    ]
    return "\n".join(lines) + "\n"


def _listed(role: str, guesses: list[_Guess]) -> list[str]:
    if not guesses:
        return [f"{role}: []"]
    return [f"{role}:", *(f"  - {_quoted(g.name)}  # {_why(g)}" for g in guesses)]


def _unit(identifiers: list[_Guess]) -> list[str]:
    """Whom k counts: where an identifier repeats, that of persons, else rows without a word."""
    lines = [
        "# Whom k counts: the persons of this column. Say `rows` only where every row is another person."
    ]
    keys = _keys(identifiers)
    numbers = [g.name for g in identifiers if _speaks(_words(g.name), PERSON)]
    if not keys:
        return [*lines, "# unit: rows"]
    first = keys[0]
    if first.column not in numbers and numbers:  # names repeat, but each number stands once
        return [*lines, f"unit: {_quoted(numbers[0])}  # another identifier repeats, this one does not"]
    why = f"{first.values} of its values stand in {first.rows} rows, one in up to {first.most}"
    return [*lines, f"unit: {_quoted(first.column)}  # {why}"]


def _rules(sensitive: list[_Guess]) -> list[str]:
    """A first rule for each sensitive column that is mixed enough to obey it."""
    mixed = [g for g in sensitive if g.distinct > 1 and g.commonest <= 1 / 2]
    others = [g for g in sensitive if g not in mixed]
    lines = [
        "# No class may share one value of a sensitive column: in each at least so many different ones."
    ]
    lines += ["rules:"] if mixed else ["rules: []"]
    lines += [f"  - {_quoted(g.name + ': 2-diverse')}" for g in mixed]
    return lines + [
        f"#  - {_quoted(g.name + ': 2-diverse')}  # may cost much: most cells hold one value"
        for g in others
    ]


def _why(guess: _Guess) -> str:
    counts = f"{guess.distinct} distinct, {guess.missing} missing"
    return f"{guess.why}; {counts}" if guess.role else f"no role: {guess.why}; {counts}"


def _prefixes(width: int) -> str:
    return (
        "prefixes(" + ", ".join(str(length) for length in range(width, -1, -2 if width > 3 else -1)) + ")"
    )


def _quoted(text: str) -> str:
    """A text as YAML, on one line and quoted where it must be."""
    import yaml

    if re.fullmatch(r"[A-Za-z][\w.-]*", text, re.ASCII) and yaml.safe_load(text) == text:
        return text
    printed: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=2**30)
    return printed.strip()
