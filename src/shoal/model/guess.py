"""What is guessed of a column that nobody described, for those who read plans and those who encode."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

__all__ = ["NUMBER", "Guess", "Guesses", "doubt_kept", "doubt_label", "guess_kind", "is_questionable"]

ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
OTHER_DATE = r"^(\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})|\d{4}[./]\d{1,2}[./]\d{1,2}|\d{4}-\d{2}-\d{2}T.*)$"
TIME = r"^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?$"
CODE = re.compile(r"(^|[\W_]|(?<=[a-z])(?=[A-Z]))(id|code|typ|type)$", re.IGNORECASE)
"""Names of columns whose whole numbers are names of something."""
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
DATE_FORMS = (
    (r"^\d{1,2}\.\d{1,2}\.\d{4}$", ("%d.%m.%Y",)),
    (r"^\d{1,2}/\d{1,2}/\d{4}$", ("%d/%m/%Y", "%m/%d/%Y")),
    (r"^\d{1,2}-\d{1,2}-\d{4}$", ("%d-%m-%Y", "%m-%d-%Y")),
    (r"^\d{4}/\d{1,2}/\d{1,2}$", ("%Y/%m/%d",)),
    (r"^\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d{2}$", ("%d.%m.%Y %H:%M",)),
    (r"^\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d{2}:\d{2}$", ("%d.%m.%Y %H:%M:%S",)),
)
"""How days are written besides YYYY-MM-DD: a shape, and the forms that may be meant by it."""
MOST_STRANGE = 0.2
"""The share of cells that are no numbers up to which a column may well be one of numbers."""
NEARLY_ALL = 0.9
"""The share of rows from which on as many different values tell most of them apart."""
MANY = 50
"""So many labels that look like something else are hardly meant as a set."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What is guessed of one column, with the reason, for a person to check. Holds counts, never a value.

    Attributes:
        name: The column.
        role: "identifier", "quasi", "sensitive", or "" where nothing speaks for one.
        kind: How it would be measured, as in `kinds` of a plan; "" where its type cannot be published.
        why: What speaks for the role, in words.
        hierarchy: A builder that fits its values, such as "prefixes(5, 3, 1)"; "" where none is known.
        rule: What each class should show of it, such as "diagnosis: 2-diverse"; "" for none.
        rule_costs: Whether most cells hold one value, so that the rule may cost much.
        distinct: How many different values it has.
        missing: How many cells are empty.
        marks: How many cells look like a mark for a missing value.

    """

    name: str
    role: str
    kind: str
    why: str
    hierarchy: str = ""
    rule: str = ""
    rule_costs: bool = False
    distinct: int = 0
    missing: int = 0
    marks: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Guesses:
    """What is guessed of a table: every column in its order, whom k counts, and marks for missing cells.

    Attributes:
        columns: A `Guess` for every column.
        rows: How many rows the table has.
        unit: The column that tells persons apart; None where every row may be another person.
        why_unit: What speaks for it, in words.
        missing: Marks for missing cells that stand in the table, of a list of usual ones.

    Example:
        >>> import polars as pl, shoal
        >>> visits = pl.DataFrame({"patient_nbr": [1, 1, 2], "age": ["[0-10)", "?", "[10-20)"]})
        >>> guesses = shoal.guess(visits)
        >>> [(one.name, one.role, one.kind, one.hierarchy) for one in guesses.columns]
        [('patient_nbr', 'identifier', 'number', ''), ('age', 'quasi', 'tree', 'bins(20, 40)')]
        >>> guesses.unit, guesses.missing
        ('patient_nbr', ('?',))

    """

    columns: tuple[Guess, ...]
    rows: int
    unit: str | None = None
    why_unit: str = ""
    missing: tuple[str, ...] = ()

    def of_role(self, role: str) -> tuple[Guess, ...]:
        """The columns of a role; "" for those without any."""
        return tuple(one for one in self.columns if one.role == role)

    def __repr__(self) -> str:
        wide = max((len(one.name) for one in self.columns), default=0)
        lines = [f"Guesses of {self.rows:,} rows; k counts {self.unit or 'rows'}. Check every line:"]
        for one in self.columns:
            more = f", {one.hierarchy}" if one.hierarchy else ""
            lines.append(f"{one.name:<{wide}}  {one.role or 'no role':<10}  {one.kind}{more}; {one.why}")
        return "\n".join(lines)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that cost little, for the sensitive columns."""
        return tuple(one.rule for one in self.columns if one.rule and not one.rule_costs)

    @property
    def hierarchies(self) -> dict[str, str]:
        """The builders proposed for quasi-identifiers, by column."""
        return {one.name: one.hierarchy for one in self.of_role("quasi") if one.hierarchy}


def guess_kind(series: pl.Series) -> str:
    """Guess number, date, date(FORM) or label; codes such as ZIPs are labels, never numbers.

    Text is a number only where every value reads as one and it does not look like a code: no leading
    zeros, not digits of one width of 4 or more (years from 1800 to 2199 apart), and not a few whole numbers
    in a column whose name ends in id, code or type. Text is a date where
    all of it is written in one way that can be read in one way only.
    """
    if series.dtype.is_numeric():
        is_few = series.dtype.is_integer() and series.n_unique() <= MANY
        return "label" if is_few and CODE.search(series.name) else "number"
    if series.dtype == pl.Date or isinstance(series.dtype, pl.Datetime):
        return "date"
    if series.dtype != pl.String:
        return "label"
    values = series.drop_nulls().unique().str.strip_chars()
    if values.len() == 0:
        return "label"
    if values.str.contains(ISO_DATE).all():
        return "date"
    forms = _forms(values)
    if len(forms) == 1:
        return f"date({forms[0]})"
    if not values.str.contains(NUMBER).all() or values.str.contains(r"^[+-]?0\d").any():
        return "label"
    is_named = CODE.search(series.name) is not None and values.len() <= MANY
    if is_named and values.str.contains(r"^\d+$").all():
        return "label"
    return "label" if _looks_like_code(values) else "number"


def _forms(values: pl.Series) -> list[str]:
    """The forms in which all values are dates."""
    for shape, forms in DATE_FORMS:
        if values.str.contains(shape).all():
            target = pl.Datetime("us") if "%H" in forms[0] else pl.Date
            read = [values.str.strptime(target, form, strict=False) for form in forms]
            return [form for form, days in zip(forms, read, strict=True) if days.null_count() == 0]
    return []


def doubt_label(series: pl.Series, missing: Iterable[str] = ()) -> str:
    """What speaks against taking a text column for labels, in a sentence without a cell; "" if nothing."""
    if series.dtype != pl.String:
        return ""
    cells = _present(series, missing)
    if not len(cells):
        return f"Column {series.name!r} has nothing in it: all of its cells are missing."
    strange = len(cells) - int(cells.str.contains(NUMBER).sum())
    if 0 < strange <= MOST_STRANGE * len(cells):
        verb = "is no number" if strange == 1 else "are no numbers"
        return (
            f"Column {series.name!r} was taken for labels because {strange:,} of its {len(cells):,} cells "
            f"{verb}. Name its missing marks, or clean it."
        )
    if cells.str.contains(OTHER_DATE).all():
        forms = [f"date({form})" for form in _forms(cells.unique())] or ["date(%d.%m.%Y)"]
        return (
            f"Column {series.name!r} was taken for labels, but its cells look like dates. Say how they are "
            f"written, as in {' or '.join(forms)}."
        )
    if cells.str.contains(TIME).all():
        return (
            f"Column {series.name!r} was taken for labels, but its cells look like times of day. Round "
            "them first, or give a hierarchy; whoever wants sets of them declares the kind label."
        )
    return ""


def doubt_kept(name: str, values: int, rows: int) -> str:
    """What speaks against publishing a column as it is that has so many values in so many rows; or ""."""
    if values <= 1 or values < NEARLY_ALL * rows:
        return ""
    return (
        f"Column {name!r} is published as it is, and has {values:,} different values in {rows:,} rows: "
        "whoever knows one of them finds its record. Leave it out unless nobody can."
    )


def is_questionable(series: pl.Series, missing: Iterable[str] = ()) -> bool:
    """Whether labels that are doubted are so many that sets of them are hardly meant."""
    return _present(series, missing).n_unique() > MANY


def _present(series: pl.Series, missing: Iterable[str]) -> pl.Series:
    cells = series.str.strip_chars()
    return cells.filter(~cells.is_in(["", *missing])).drop_nulls()


def _looks_like_code(values: pl.Series) -> bool:
    if not values.str.contains(r"^\d{4,}$").all():
        return False
    widths = values.str.len_chars()
    if widths.min() != widths.max():
        return False
    return not values.str.contains(r"^(18|19|20|21)\d\d$").all()
