"""The fields of a plan, each described once, for Python's help, the command line, pages and docs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import cleandoc
from textwrap import fill
from typing import TypeVar

__all__ = ["FIELDS", "NAMES", "NUMBER", "SWITCH", "TABLE", "WHOLE", "WORD", "Field", "explained"]

WHOLE, NUMBER, WORD, SWITCH = "a whole number", "a number", "a word", "yes or no"
NAMES, TABLE = "names", "a mapping by column"
"""What a field takes."""

Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Field:
    """What one field of a plan means; `shoal.FIELDS` holds them by name.

    Attributes:
        name: Its name, in plans, in Python and, often, on the command line.
        takes: A whole number, a number, a word, yes or no, names, or a mapping by column.
        meaning: What it means, in one or two sentences.
        example: A value, written as in a plan file.
        default: What happens where nothing is given; empty where something must be.
        choices: The words it may be, where there are few.
        page: The page of the docs on it.

    Example:
        >>> import shoal
        >>> shoal.FIELDS["style"].choices
        ('generalize', 'suppress', 'centres', 'means')

    """

    name: str
    takes: str
    meaning: str
    example: str
    default: str = ""
    choices: tuple[str, ...] = ()
    page: str = ""


_ALL = (
    Field("k", WHOLE, "Every class holds at least k records, at least 2; with a unit, k persons.", "5"),
    Field(
        "quasi",
        NAMES,
        "Quasi-identifiers: what others may know of a person. A release makes them coarser.",
        "[birth_date, zip, sex]",
    ),
    Field(
        "sensitive",
        NAMES,
        "Sensitive columns: published as they are, measured by the check, held to rules.",
        "[diagnosis]",
        "none",
    ),
    Field("keep", NAMES, "Other columns that are published as they are.", "[ward]", "none"),
    Field("identifier", NAMES, "Columns that name a person: always dropped.", "[name]", "none"),
    Field(
        "pseudonym",
        WORD,
        "An identifier that is published as keyed pseudonyms, so that several tables can be joined. Every "
        "person has one row, and a key file is needed.",
        "patient_id",
        "none",
        page="how-to/pseudonyms.md",
    ),
    Field(
        "kinds",
        TABLE,
        "How a quasi-identifier is measured: number, date, date(%d.%m.%Y), date(%d.%m.%y, from 1930), "
        "tree, label, place(lat, lon) or region.",
        "{birth_date: date}",
        "guessed, and said",
    ),
    Field(
        "hierarchies",
        TABLE,
        "What the values of a column are part of: a tree, or a builder such as prefixes(5, 3, 0). Plan "
        "files name a tree by its file, or a folder of files named after their columns.",
        '{zip: "prefixes(5, 3, 0)"}',
        "none",
        page="how-to/hierarchies.md",
    ),
    Field(
        "graphs",
        TABLE,
        "The borders of a region column: a file of edges, or edges and nodes; from Python frames, too.",
        "{zip: edges.csv}",
        "none",
        page="methods/regions.md",
    ),
    Field(
        "weights",
        TABLE,
        "How much a column's loss counts: 0, or a number from 0.001 to 1000.",
        "{zip: 2}",
        "1 each",
    ),
    Field(
        "missing",
        NAMES,
        "Cells that mean missing, such as '?'.",
        "['?', n/a]",
        "empty cells and nulls only",
        page="how-to/missing.md",
    ),
    Field(
        "count",
        WORD,
        "A column that says how many records a row stands for; persons(n) where column n counts persons of "
        "this very table. A sampling weight is no count.",
        "n",
        "each row is one",
        page="how-to/whom.md",
    ),
    Field(
        "unit",
        WORD,
        "Whom k counts: a column that says who a row belongs to, so that k counts persons; it is never "
        "published. Or rows, where rows are meant.",
        "patient_id",
        "k counts records; an error where an identifier repeats so that these may be few persons",
        page="how-to/whom.md",
    ),
    Field(
        "rules",
        NAMES,
        'What every class must show in a sensitive column: "x: 3-diverse", "x: entropy 3-diverse", '
        '"x: (2, 3)-diverse", "x: 0.2-close", "x: at most 50%".',
        '["diagnosis: 3-diverse"]',
        "none",
        page="how-to/rules.md",
    ),
    Field(
        "loss",
        WORD,
        "How a cell of a tree is charged: by leaves, by levels, or as a set of its values.",
        "leaves",
        "leaves",
        ("leaves", "levels", "sets"),
    ),
    Field(
        "method",
        WORD,
        "How rows are grouped: the name of a method. auto is crowd.",
        "mondrian",
        "auto",
        page="methods/index.md",
    ),
    Field(
        "options",
        TABLE,
        "Settings that only the chosen method knows, by name.",
        "{max_groups: 20}",
        "the method's own",
        page="methods/index.md",
    ),
    Field(
        "style",
        WORD,
        "What a group publishes: what its rows cover, a value or a star, one line with its centre and its "
        "counts, or means.",
        "generalize",
        "generalize",
        ("generalize", "suppress", "centres", "means"),
        "how-to/means.md",
    ),
    Field(
        "cells",
        WORD,
        "How a range is written: as text [25, 45], as two typed columns, as a typed middle; id: sets by "
        "name, with a lookup table.",
        "bounds",
        "text",
        ("text", "bounds", "middle", "id"),
    ),
    Field(
        "distance",
        WORD,
        "How methods that take it measure the distance of two rows; matrix is given from Python alone.",
        "euclidean",
        "span",
        ("span", "euclidean", "great-circle", "matrix"),
        "methods/gather.md",
    ),
    Field("withhold", NUMBER, "The share of rows that may be left out.", "0.01", "0"),
    Field(
        "effort",
        WORD,
        "How long to try: quick, normal, thorough, steps=N, or seconds such as 60s.",
        "thorough",
        "normal",
    ),
    Field(
        "improve",
        SWITCH,
        "Improve the method's groups by local search.",
        "true",
        "what the method does by itself",
        page="methods/improve.md",
    ),
    Field("stop_at", NUMBER, "Stop once this close to the bound, as value / bound.", "1.10", "never"),
    Field(
        "series",
        WORD,
        "How releases of a table that lives on follow one another. ledger: rows only arrive, and each "
        "release holds new ones alone. register: persons come, leave, return and change; needs a unit.",
        "ledger",
        "a release by itself",
        ("ledger", "register"),
        "how-to/series.md",
    ),
    Field("seed", WHOLE, "Where chance begins: the same seed gives the same release.", "1", "0"),
    Field(
        "encoding",
        WORD,
        "Of the texts in the table's file: utf-8, latin-1, cp1252; of no use where a frame is given.",
        "latin-1",
        "guessed, and said",
        page="how-to/files.md",
    ),
    Field(
        "delimiter",
        WORD,
        "Between the cells of the table's file: a sign, or tab, comma, semicolon, space, pipe.",
        "semicolon",
        "guessed, and said",
        page="how-to/files.md",
    ),
    Field(
        "decimal",
        WORD,
        "The decimal sign of the numbers in the table's file: '.' or ','.",
        "','",
        "guessed, and said",
        page="how-to/files.md",
    ),
    Field("sheet", WORD, "The sheet of an Excel file.", "Patients", "the first", page="how-to/files.md"),
    Field("threads", WHOLE, "Threads to use, 0 for all; never changes the release.", "2", "0"),
    Field(
        "engine",
        WORD,
        "Where it runs: in memory, as a stream, batch by batch and part by part, for tables larger than "
        "memory, or on Spark. auto is memory for frames, stream for what is read batch by batch, and spark "
        "for frames of Spark.",
        "stream",
        "auto",
        ("auto", "memory", "stream", "spark"),
        "how-to/large.md",
    ),
    Field(
        "memory",
        WORD,
        "How much memory a stream may use, such as 2GB; never changes the release.",
        "2GB",
        "half of the machine's",
        page="how-to/large.md",
    ),
    Field(
        "scratch",
        WORD,
        "A folder for the scratch files of a stream, which have no names and are gone with the run.",
        "/var/tmp",
        "the system's folder for temporary files",
        page="how-to/large.md",
    ),
    Field(
        "part",
        WHOLE,
        "Rows that a stream groups together, about; a table of no more distinct tuples is grouped whole.",
        "500000",
        "1000000",
        page="how-to/large.md",
    ),
)
FIELDS = {field.name: field for field in _ALL}
"""Every field of a plan by name, in the order of the docs, each described by a `shoal.Field`."""


def explained(names: Iterable[str] = FIELDS) -> Callable[[Function], Function]:
    """Add what each of these keywords means to the arguments in a function's docstring, for `help()`."""

    def explain(function: Function) -> Function:
        if function.__doc__ is None:  # python -OO
            return function
        lines = []
        for name in names:
            field = FIELDS[name]
            choice = f" One of: {', '.join(field.choices)}." if field.choices else ""
            default = f" Default: {field.default}." if field.default else ""
            text = f"{name}: {field.meaning}{choice}{default}"
            lines.append(fill(text, 100, initial_indent="    ", subsequent_indent=" " * 8))
        before, returns, after = cleandoc(function.__doc__).partition("\n\nReturns:")
        function.__doc__ = "\n".join([before, *lines]) + returns + after
        return function

    return explain
