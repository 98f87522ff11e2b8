"""Random columns of every kind, with what each cell means said beside it.

A cell's meaning is what docs/how-to/plans.md, missing.md and frames.md say it is: None where it is missing.
Texts of more than twelve bytes are canaries: they stand in no cell by accident.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import polars as pl

import shoal
from fuzzing.cells import Labels, Line, Measure, Place, Stars, Tree, days_or_moments
from fuzzing.trees import Grown, grow

__all__ = ["KEPT", "QUASI", "Column", "Quasi", "kept_column", "long_text", "quasi_column"]

ODD = [
    *("a,b", 'say "x"', "new\nline", "car\rriage", " lead", "trail ", "*", "{A, B}", "{", "}", "\\back"),
    *("=1+1", "-", "+4", "@x", "é", "日本", "A: 3", "[1, 2]", "x;y", "tab\there", "\u200bx", "'", "NaN"),
    *("null", "None", "true", "0", "007", "1e5", "-0.0", "2020-01-01", "a", "b", "c", "A", "#x", "x" * 11),
]
FLOATS = [0.0, -0.0, 0.1, 0.2, 0.30000000000000004, 3.5, -7.25, 1e300, -1e300, 5e-324, 1e-300, 2.0**60]
TIDY = [0.0, 0.5, 1.0, 2.5, 3.0, 10.0]


@dataclass
class Column:
    """One column of a frame: cells, their type, and cells of rows that are sliced off before the run."""

    name: str
    role: str
    cells: list[Any]
    dtype: Any
    unused: list[str] = field(default_factory=list)

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, of whatever type."""
        return self.dtype in (pl.String, pl.Categorical, pl.Enum)


@dataclass
class Quasi:
    """A quasi-identifier: its kind as declared (None = to be guessed), and the meaning of its cells.

    `texts` is what the style `suppress` compares, and `value_of` reads it from a published cell.
    """

    name: str
    kind: str
    declared: str | None
    meaning: list[Any]
    texts: list[Any]
    value_of: Callable[[str], Any]
    tree: Grown | None = None
    graph: Any = None
    parts: tuple[str, ...] = ()

    def measure(self, *, style: str, loss: str, alone: bool) -> Measure:
        """How its cells are measured under a plan."""
        if style == "suppress":
            return Stars(self.texts, self.value_of)
        if self.kind in {"number", "date"}:
            return Line(self.meaning, is_date=self.kind == "date")
        if self.kind == "place":
            return Place(self.meaning)
        if self.kind == "label":
            return Labels(self.meaning, {value for value in self.meaning if value is not None})
        if self.kind == "region" and alone:
            return Labels(self.meaning, self.graph.names)
        assert self.tree is not None
        nodes = self.tree.nodes_over([value for value in self.meaning if value is not None])
        if loss == "sets":
            return Labels(self.meaning, nodes.leaves)
        return Tree(self.meaning, nodes, by_levels=loss == "levels")


def long_text(luck: random.Random, what: str) -> str:
    """A text that stands nowhere by accident."""
    return f"canary {what} {luck.getrandbits(48):012x}"


def _few(luck: random.Random, pool: Sequence[Any], rows: int) -> list[Any]:
    """Cells of few different values, so that ties and copies are common."""
    some = luck.sample(list(pool), min(len(pool), luck.choice([1, 2, 3, 3, 4, 5, 8])))
    return [luck.choice(some) for _ in range(rows)]


def _with_gaps(luck: random.Random, cells: list[Any], gaps: Sequence[Any]) -> list[Any]:
    """The cells with some of them missing, in more than one writing."""
    rate = luck.choice([0, 0, 0, 0.1, 0.3, 0.9])
    return [luck.choice(gaps) if luck.random() < rate else cell for cell in cells]


def _means_missing(cell: Any, marks: Sequence[str]) -> bool:
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip() in {"", *marks}
    if isinstance(cell, float) and math.isnan(cell):
        return True
    if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        return any(_is_number(mark) and float(mark) == float(cell) for mark in marks)
    return False


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _meant(cells: list[Any], marks: Sequence[str], read: Callable[[Any], Any]) -> list[Any]:
    return [None if _means_missing(cell, marks) else read(cell) for cell in cells]


def _text_of(cell: Any) -> str:
    """A value as it is published alone: text without outer blanks, and plain words for the rest."""
    if isinstance(cell, str):
        return cell.strip()
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _numbers(luck: random.Random, rows: int, marks: Sequence[str]) -> tuple[list[Any], Any, Callable]:
    what = luck.choice(
        ["int", "int", "int", "small", "float", "float", "far", "decimal", "text", "huge", "f32"]
    )
    if what == "huge" and luck.random() < 0.8:
        what = "int"
    if what in {"int", "small"}:
        cells = _few(luck, [*range(-3, 12), 40, 99], rows)
        gaps = [None, -9] if "-9" in marks else [None]
        return _with_gaps(luck, cells, gaps), pl.Int64 if what == "int" else pl.Int8, float
    if what == "huge":  # refused as numbers: no float holds them
        return _few(luck, [2**53 + 1, 2**53 + 3, 2**62 + 1, 5], rows), pl.Int64, float
    if what in {"float", "far"}:
        pool = TIDY if what == "float" else FLOATS
        if luck.random() < 0.02:
            pool = [1.7e308, -1.7e308, 0.0]  # refused: too far apart
        return _with_gaps(luck, _few(luck, pool, rows), [None, math.nan]), pl.Float64, float
    if what == "f32":
        return (
            _with_gaps(luck, _few(luck, [0.1, 0.5, 2.25, 7.0], rows), [None, math.nan]),
            pl.Float32,
            float,
        )
    if what == "decimal":
        cells = _few(luck, [Decimal(x) for x in ("1.50", "0.25", "-3.00", "7.75", "0.00")], rows)
        return _with_gaps(luck, cells, [None]), pl.Decimal(12, 2), float
    cells = _few(luck, ["5", " 7 ", "+3", "12", "1e3", "0.10", ".5", "-0", "0.1"], rows)
    return _with_gaps(luck, cells, [None, "", "  ", *marks]), pl.String, lambda cell: float(cell.strip())


def _number(luck: random.Random, name: str, rows: int, marks: Sequence[str]) -> tuple[list[Column], Quasi]:
    cells, dtype, read = _numbers(luck, rows, marks)
    meaning = _meant(cells, marks, read)
    is_text = dtype == pl.String
    texts = _meant(cells, marks, str.strip) if is_text else meaning
    declared = None if not is_text and luck.random() < 0.4 else "number"
    return [Column(name, "quasi", cells, dtype)], Quasi(
        name, "number", declared, meaning, texts, str if is_text else float
    )


def _date(luck: random.Random, name: str, rows: int, marks: Sequence[str]) -> tuple[list[Column], Quasi]:
    days = [date(2020, 1, 1) + timedelta(days=d) for d in (0, 1, 2, 30, 31, 59, 366, 3000)]
    days += [date(1, 1, 1), date(9999, 12, 31)] if luck.random() < 0.1 else []
    moments = [datetime(d.year, d.month, d.day, 3, 4, 5, luck.choice([0, 6])) for d in days]
    what = luck.choice(["date", "date", "us", "ms", "ns", "zone", "text", "form", "time text", "short"])
    declared, read = "date", days_or_moments
    gaps: list[Any] = [None]
    if what == "date":
        pool, dtype = days, pl.Date
    elif what in {"us", "ms", "ns"}:
        pool = [m for m in moments if 1700 < m.year < 2200]
        pool = pool if what != "ms" else [m.replace(microsecond=0) for m in pool]
        dtype = pl.Datetime(what)
    elif what == "zone":
        pool = [m.replace(tzinfo=UTC) for m in moments if 1700 < m.year < 2200]
        dtype = pl.Datetime("us", "UTC")
    else:
        gaps, dtype = [None, "", *marks], pl.String
        pool = [d.isoformat() for d in days]
        if what == "text":
            read = lambda cell: days_or_moments(date.fromisoformat(cell.strip()))  # noqa: E731
        elif what == "form":
            pool = [f"{d.day:02}.{d.month:02}.{d.year:04}" for d in days]
            declared = "date(%d.%m.%Y)"
            read = lambda cell: days_or_moments(date(*(int(x) for x in cell.split(".")[::-1])))  # noqa: E731
        elif what == "short":
            pool = [f"{d.day:02}.{d.month:02}.{d.year % 100:02}" for d in days if d.year > 1900]
            declared = "date(%d.%m.%y, from 1950)"

            def read(cell: str) -> float:
                day, month, year = (int(x) for x in cell.split("."))
                return days_or_moments(date(1950 + (year - 50) % 100, month, day))
        else:
            pool = [m.isoformat(sep=luck.choice(" T")) for m in moments]
            read = lambda cell: days_or_moments(datetime.fromisoformat(cell))  # noqa: E731
    cells = _with_gaps(luck, _few(luck, pool, rows), gaps)
    meaning = _meant(cells, marks, read)
    if dtype == pl.String:
        texts, value_of = _meant(cells, marks, str.strip), str
    else:
        declared = None if luck.random() < 0.4 else "date"
        texts, value_of = meaning, _moment
    return [Column(name, "quasi", cells, dtype)], Quasi(name, "date", declared, meaning, texts, value_of)


def _moment(text: str) -> float:
    return days_or_moments(date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text))


def _as_texts(luck: random.Random, name: str, cells: list[Any], what: str) -> Column:
    """Texts under one of the types that hold them; categories may have members that no cell has."""
    kind = luck.choice(["text", "text", "text", "categorical", "enum"])
    unused = [long_text(luck, f"unused {what}") for _ in range(2)]
    if kind == "text":
        return Column(name, what, cells, pl.String)
    if kind == "categorical":
        return Column(name, what, cells, pl.Categorical, unused)
    members = sorted({cell for cell in cells if cell is not None})
    luck.shuffle(members)
    return Column(name, what, cells, pl.Enum([*members, *unused]), unused)


def _label(luck: random.Random, name: str, rows: int, marks: Sequence[str]) -> tuple[list[Column], Quasi]:
    what = luck.choice(["odd", "odd", "plain", "long", "long", "bool", "big", "date", "decimal"])
    if what in {"odd", "plain", "long"}:
        pool = {"odd": ODD, "plain": ["red", "green", "blue", "grey"]}.get(what)
        pool = pool or [long_text(luck, "label") for _ in range(6)]
        cells = _with_gaps(luck, _few(luck, pool, rows), [None, "", *marks])
        column = _as_texts(luck, name, cells, "quasi")
    elif what == "bool":
        column = Column(
            name, "quasi", _with_gaps(luck, _few(luck, [True, False], rows), [None]), pl.Boolean
        )
    elif what == "big":
        cells = _few(luck, [2**53 + 1, 2**53 + 2, 2**62 + 1, -5, 0], rows)
        column = Column(name, "quasi", _with_gaps(luck, cells, [None]), pl.Int64)
    elif what == "date":
        cells = _few(luck, [date(2020, 1, d) for d in (1, 2, 3)], rows)
        column = Column(name, "quasi", _with_gaps(luck, cells, [None]), pl.Date)
    else:
        cells = _few(luck, [Decimal("1.50"), Decimal("2.00"), Decimal("0.25")], rows)
        column = Column(name, "quasi", _with_gaps(luck, cells, [None]), pl.Decimal(12, 2))
    meaning = _meant(column.cells, marks, _text_of)
    declared = None if what in {"plain", "bool"} and luck.random() < 0.4 else "label"
    return [column], Quasi(name, "label", declared, meaning, meaning, str)


def _tree(luck: random.Random, name: str, rows: int, marks: Sequence[str]) -> tuple[list[Column], Quasi]:
    tree = grow(luck, name)
    cells = _few(luck, tree.pool, rows)
    if isinstance(cells[0], str):
        column = _as_texts(luck, name, _with_gaps(luck, cells, [None, "", *marks]), "quasi")
    else:
        dtype = {int: pl.Int64, float: pl.Float64, date: pl.Date}[type(cells[0])]
        column = Column(name, "quasi", _with_gaps(luck, cells, [None]), dtype)
    text_of = tree.text_of
    if column.dtype == pl.Float64 and all(cell is None or cell == int(cell) for cell in column.cells):
        text_of = lambda cell: str(int(cell))  # noqa: E731  (whole floats are written without .0)
    meaning = _meant(column.cells, marks, text_of)
    declared = luck.choice([None, "tree"])
    return [column], Quasi(name, "tree", declared, meaning, meaning, str, tree=tree)


def _place(luck: random.Random, name: str, rows: int, marks: Sequence[str]) -> tuple[list[Column], Quasi]:
    lat = _with_gaps(luck, _few(luck, [0.0, -0.0, 51.5, 51.25, -33.0, 89.5], rows), [None, math.nan])
    lon = _few(luck, [0.0, -0.1, 7.25, 179.5, -180.0], rows)
    read = float
    dtype: Any = pl.Float64
    if luck.random() < 0.2:
        lat = [None if x is None or math.isnan(x) else repr(x) for x in lat]
        lon = [repr(x) for x in lon]
        dtype = pl.String
    one, other = (_meant(cells, marks, read) for cells in (lat, lon))
    meaning = [None if a is None or b is None else (a, b) for a, b in zip(one, other, strict=True)]
    parts = (f"{name} lat", f"{name} lon")

    def pair(text: str) -> tuple[float, float]:
        a, b = text.split(" x ")
        return float(a), float(b)

    columns = [Column(part, "part", cells, dtype) for part, cells in zip(parts, (lat, lon), strict=True)]
    declared = f"place({parts[0]}, {parts[1]})"
    return columns, Quasi(name, "place", declared, meaning, meaning, pair, parts=parts)


def _region(luck: random.Random, name: str, rows: int, marks: Sequence[str]) -> tuple[list[Column], Quasi]:
    regions = [f"{at:03} {long_text(luck, 'region')}" for at in range(luck.choice([2, 4, 7]))]
    edges = [(a, b) for a, b in pairwise(regions) if luck.random() < 0.85]
    edges += [tuple(luck.sample(regions, 2)) for _ in range(luck.randrange(4))]
    graph = shoal.Graph.of_edges(edges, regions=regions)
    cells = _with_gaps(luck, _few(luck, regions, rows), [None, "", *marks])
    meaning = _meant(cells, marks, _text_of)
    column = _as_texts(luck, name, cells, "quasi")
    tree = Grown.of_graph(graph) if luck.random() < 0.7 else Grown.of_regions(luck, graph.names)
    declared = luck.choice([None, "region"])
    return [column], Quasi(name, "region", declared, meaning, meaning, str, tree=tree, graph=graph)


QUASI: dict[str, Callable[..., tuple[list[Column], Quasi]]] = {
    "number": _number,
    "date": _date,
    "tree": _tree,
    "label": _label,
    "place": _place,
    "region": _region,
}


def quasi_column(
    luck: random.Random, kind: str, name: str, rows: int, marks: Sequence[str]
) -> tuple[list[Column], Quasi]:
    """The columns of a quasi-identifier of this kind, and what their cells mean."""
    return QUASI[kind](luck, name, rows, marks)


KEPT = (
    *("odd", "odd", "long", "long", "long", "int", "float", "bool", "decimal", "date", "moment", "zone"),
    *("big", "time", "number text", "gap", "list", "bytes"),
)


def kept_column(
    luck: random.Random, what: str, name: str, role: str, rows: int, marks: Sequence[str]
) -> Column:
    """A column that is published as it is, of an odd type."""
    gaps: list[Any] = [None]
    if what in {"odd", "long"}:
        pool = ODD if what == "odd" else [long_text(luck, role) for _ in range(luck.choice([3, 6, rows]))]
        if what == "odd" and luck.random() < 0.02:
            pool = [*ODD[:3], "zero\0byte"]
        cells = _with_gaps(luck, _few(luck, pool, rows), [None, "", *marks])
        return _as_texts(luck, name, cells, role)
    if what == "number text":
        return Column(
            name, role, _with_gaps(luck, _few(luck, ["1", "2", "10", "33"], rows), gaps), pl.String
        )
    pool, dtype = {
        "int": ([1, 2, 3, 50], pl.Int64),
        "float": ([0.0, -0.0, 1.5, math.nan, 1e300, 0.1], pl.Float64),
        "bool": ([True, False], pl.Boolean),
        "decimal": ([Decimal("1.50"), Decimal("2.00"), Decimal("-0.25")], pl.Decimal(12, 2)),
        "date": ([date(2020, 1, 1), date(1999, 12, 31)], pl.Date),
        "moment": ([datetime(2020, 1, 1, 2, 3, 4, 5), datetime(1999, 1, 1)], pl.Datetime("us")),
        "zone": (
            [datetime(2020, 1, 1, 2, tzinfo=UTC), datetime(2020, 7, 1, tzinfo=UTC)],
            pl.Datetime("us", "UTC"),
        ),
        "big": ([2**53 + 1, 2**53 + 3, 2**62 + 1], pl.Int64),
        "time": ([time(1, 2, 3), time(23, 59, 59)], pl.Time),
        "gap": ([timedelta(days=1), timedelta(seconds=5)], pl.Duration("us")),
        "list": ([["x"], ["y", "z"], []], pl.List(pl.String)),
        "bytes": ([b"ab", b"\xff\x00"], pl.Binary),
    }[what]
    return Column(name, role, _with_gaps(luck, _few(luck, pool, rows), gaps), dtype)
