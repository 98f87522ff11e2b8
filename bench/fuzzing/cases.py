"""A random table with a random plan, from one number."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

import shoal
from fuzzing.cells import Measure
from fuzzing.columns import KEPT, Column, Quasi, kept_column, long_text, quasi_column
from fuzzing.trees import Grown

__all__ = ["Case", "make_case"]

NAMES = ["age", "zip", "job", "sex", "town", "when", "q1", "q2"]
ODD_NAMES = ["x,y", 'q"u', "naïve é", "*", "^a.*$", "line\nbreak", "n" * 300, "=cmd", "a: b", "q;r"]
WEIGHTS = [0.0, 0.5, 1.0, 2.5, 3.0]
FAR_WEIGHTS = [1e-9, 1e-3, 1.0, 1e4, 1e9]
ENDINGS = (".csv", ".csv", ".tsv", ".parquet", ".arrow", ".arrow")
DOORS = ("polars",) * 6 + ("pandas",) * 4 + ("arrow",) * 4 + ("file",)
RULES = (
    "2-diverse",
    "3-diverse",
    "entropy 1.5-diverse",
    "(2, 2)-diverse",
    "at most 60%",
    "0.5-close",
    "0.3-close",
)
ORDERED = {"int", "float", "decimal", "date", "moment", "big", "number text"}
NOT_IN_TEXT = {"gap", "list", "bytes"}
OPTIONS: dict[str, list[Any]] = {
    "max_groups": [1, 2, 10],
    "search": ["yes", "no"],
    "objective": ["largest", "loss"],
    "shrink": ["yes", "no"],
    "passes": [1, 3],
    "small": ["fill", "withhold"],
    "threshold": [0.01, 0.3, 2.0],
    "rounds": [1, 5],
    "epsilon": [0.1, 0.25],
    "variant": ["theorem", "simple"],
    "order": ["sorted", "random"],
}


@dataclass
class Case:
    """One table, one plan, one way in and one format out. `hidden` rows are sliced off before the run."""

    seed: int
    rows: int
    columns: list[Column]
    quasi: list[Quasi]
    words: dict[str, Any]
    door: str
    ending: str
    hidden: int = 0
    matrix: list[list[float]] | None = None
    rule_trees: dict[str, Grown] = field(default_factory=dict)

    @property
    def marks(self) -> Sequence[str]:
        """What means missing besides empty cells."""
        return tuple(self.words.get("missing", ()))

    @property
    def kept(self) -> list[str]:
        """Columns that are published as they are."""
        return [*self.words.get("sensitive", ()), *self.words.get("keep", ())]

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def count(self) -> str | None:
        """The column that says how many records a row stands for, which may be written persons(n)."""
        said = self.words.get("count")
        return None if said is None else said.removeprefix("persons(").removesuffix(")")

    @property
    def records(self) -> list[int]:
        """How many records each row stands for."""
        count = self.count
        return [1] * self.rows if count is None else [int(cell) for cell in self.column(count).cells]

    def measures(self) -> dict[str, Measure]:
        """How to read the cells of each quasi-identifier."""
        style, loss = self.words.get("style", "generalize"), self.words.get("loss", "leaves")
        return {q.name: q.measure(style=style, loss=loss, alone=len(self.quasi) == 1) for q in self.quasi}

    def describe(self) -> str:
        """The plan in one line, without a cell."""
        plain = {
            name: value
            for name, value in self.words.items()
            if name not in {"hierarchies", "graphs"} and value not in ((), {}, None)
        }
        trees = {name: getattr(tree, "text", "a tree") for name, tree in self.words["hierarchies"].items()}
        types = {column.name: str(column.dtype).partition("(")[0] for column in self.columns}
        return f"{self.rows} rows, {self.door} to {self.ending}, {plain}, trees {trees}, types {types}"


def make_case(seed: int, facts: Mapping[str, Any] | None = None) -> Case:
    """The table and plan of this number."""
    luck = random.Random(seed)
    facts = facts if facts is not None else shoal.methods()
    method = luck.choice(["auto", *facts])
    its = facts.get(method) or facts["crowd"]
    rows = luck.choice([*range(2, 13), *range(4, 9), luck.randrange(13, 41)])
    marks = luck.choice([(), (), ("?",), ("?", "-9"), ("n/a",)])
    door = luck.choice(DOORS)
    names = _names(luck, door)
    fits = luck.random() < 0.95  # else the plan may ask for what the method cannot do
    takes = sorted(its.takes) if fits else ["date", "label", "number", "place", "region", "tree"]
    most = its.most_columns if fits and its.most_columns else luck.choice([1, 2, 2, 3, 4])
    distance = luck.choice(["span"] * 3 + sorted(its.distances))
    if distance in {"euclidean", "great-circle"}:
        takes = ["number"] if distance == "euclidean" else ["place"]
        most = most if distance == "euclidean" else 1
    columns: list[Column] = []
    quasi: list[Quasi] = []
    for _ in range(most):
        kind = luck.choice(takes)
        name = names.pop()
        if kind == "place":
            name = f"{'abcdef'[len(quasi)]}place"
        made, one = quasi_column(luck, kind, name, rows, marks)
        columns += made
        quasi.append(one)
    words: dict[str, Any] = {
        "k": its.only_k if fits and its.only_k else luck.choice([2, 2, 2, 3, 3, 4, 5]),
        "quasi": tuple(one.name for one in quasi),
        "method": method,
        "seed": luck.choice([0, 0, 1, 7]),
        "missing": marks,
        "distance": distance,
        "kinds": {one.name: one.declared for one in quasi if one.declared is not None or door == "file"},
        "hierarchies": {one.name: one.tree.plan for one in quasi if one.tree and one.tree.plan is not None},
        "graphs": {one.name: one.graph for one in quasi if one.graph is not None},
        "loss": luck.choice(["leaves", "leaves", "levels", "sets"]),
        "effort": luck.choice(["quick", "quick", "quick", "normal", "steps=50"]),
        "improve": luck.random() < 0.15,
    }
    words["kinds"] = {
        name: kind or next(q.kind for q in quasi if q.name == name) for name, kind in words["kinds"].items()
    }
    if fits:
        words["k"] = min(words["k"], rows) if its.only_k is None else words["k"]
    case = Case(seed, rows, columns, quasi, words, door, luck.choice(ENDINGS), luck.choice([0, 0, 2]))
    _styles(luck, case, its, fits=fits)
    _others(luck, case, names)
    _weights(luck, case)
    if distance == "matrix":
        case.matrix = _matrix(luck, case)
    if door == "file":
        _as_file(case)
    luck.shuffle(case.columns)
    return case


def _names(luck: random.Random, door: str) -> list[str]:
    names = [*NAMES]
    luck.shuffle(names)
    if luck.random() < 0.06 and door != "file":
        names[luck.randrange(5, 8)] = luck.choice(ODD_NAMES)
    return names


def _styles(luck: random.Random, case: Case, its: Any, *, fits: bool) -> None:
    words = case.words
    styles = sorted(its.styles - ({"centres"} if not its.centres else set()))
    if "generalize" in styles:
        styles += ["generalize"] * 3
    words["style"] = luck.choice(styles if fits else ["generalize", "suppress", "centres", "means"])
    words["cells"] = luck.choice(["text", "text", "text", "bounds", "middle", "id"])
    if its.withholds or not fits:
        words["withhold"] = luck.choice([0.0, 0.0, 0.1, 0.3, 0.5])
    options = {
        name: luck.choice(OPTIONS[name]) for name in its.options if name in OPTIONS and luck.random() < 0.4
    }
    words["options"] = options if words["method"] != "auto" else {}
    if luck.random() < 0.05:
        words["stop_at"] = luck.choice([1.0, 1.5])


def _weights(luck: random.Random, case: Case) -> None:
    if luck.random() > 0.3:
        return
    chance = luck.random()
    pool = WEIGHTS if chance > 0.1 else FAR_WEIGHTS
    if chance < 0.004:
        pool = [1e300, 1e308, 1e-300, 1.0]
    names = list(case.words["quasi"])
    weights = {name: luck.choice(pool) for name in names}
    weights[names[0]] = weights[names[0]] or 1.0
    case.words["weights"] = weights


def _others(luck: random.Random, case: Case, names: list[str]) -> None:
    """Columns with other roles, and rules."""
    words, rows = case.words, case.rows
    odd = names.pop()
    for role, name in (("sensitive", "illness"), ("keep", odd if odd in ODD_NAMES else "note")):
        if luck.random() < 0.25:
            continue
        kinds = [what for what in KEPT if what not in NOT_IN_TEXT or luck.random() < 0.4]
        what = luck.choice(kinds)
        if what == "list" and role == "sensitive":
            what = "int"
        if what in NOT_IN_TEXT and case.ending in {".csv", ".tsv"} and luck.random() < 0.9:
            what = "long"
        if case.door == "file" and what in NOT_IN_TEXT:
            what = "odd"
        case.columns.append(kept_column(luck, what, name, role, rows, case.marks))
        words[role] = (name,)
        if role == "sensitive" and luck.random() < 0.4:
            _rules(luck, case, name, what)
    if luck.random() < 0.7:
        ids = [long_text(luck, "identifier") for _ in range(rows)]
        if luck.random() < 0.15:
            ids = [luck.choice(ids[: max(2, rows // 2)]) for _ in ids]
            if luck.random() < 0.5:
                words["unit"] = "rows"
        case.columns.append(Column("patient", "identifier", ids, pl.String))
        words["identifier"] = ("patient",)
    if luck.random() < 0.5:
        left = [long_text(luck, "left out") for _ in range(rows)]
        case.columns.append(Column("remark", "left out", left, luck.choice([pl.String, pl.Categorical])))
    if words["style"] != "centres" and "unit" not in words and luck.random() < 0.15:
        persons = [long_text(luck, "unit") for _ in range(max(2, rows - luck.randrange(3)))]
        cells: list[Any] = [luck.choice(persons) for _ in range(rows)]
        if luck.random() < 0.3:
            cells = [None if luck.random() < 0.2 else cell for cell in cells]
        case.columns.append(Column("person", "unit", cells, pl.String))
        words["unit"] = "person"
    if luck.random() < 0.12:
        pool = luck.choice([[1, 2], [0, 1, 1, 2], [1, 3, 7], [1, 1000]])
        case.columns.append(Column("n", "count", [luck.choice(pool) for _ in range(rows)], pl.Int64))
        words["count"] = luck.choice(["n", "persons(n)", "persons(n)"])


def _rules(luck: random.Random, case: Case, name: str, what: str) -> None:
    rules = list(luck.sample(RULES, luck.choice([1, 1, 2])))
    if what in ORDERED and luck.random() < 0.5:
        rules = ["ordered 0.4-close"]
    column = case.column(name)
    if what == "long" and luck.random() < 0.3:
        values = sorted({cell for cell in column.cells if cell and cell not in case.marks})
        if values:
            tree = Grown.of_paths([(value, f"kind {at % 2}") for at, value in enumerate(values)])
            case.rule_trees[name] = tree
            case.words["hierarchies"][name] = tree.plan
            rules = ["0.6-close by hierarchy"]
    case.words["rules"] = tuple(f"{name}: {rule}" for rule in rules)


def _matrix(luck: random.Random, case: Case) -> list[list[float]]:
    """Distances in the plane; rows that look alike stand on one point."""
    points: dict[tuple[Any, ...], tuple[int, int]] = {}
    at = []
    for row in range(case.rows):
        key = tuple(
            one.texts[row] if case.words["style"] == "suppress" else one.meaning[row] for one in case.quasi
        )
        at.append(points.setdefault(key, (luck.randrange(9), luck.randrange(9))))
    return [[float(abs(a - c) + abs(b - d)) for c, d in at] for a, b in at]


def _as_file(case: Case) -> None:
    """Every cell becomes the text that stands in a file; numbers and dates keep their meaning."""
    for column in case.columns:
        if not column.is_text:
            column.cells = [_text(cell) for cell in column.cells]
        if column.role != "count":
            column.dtype, column.unused = pl.String, []
    case.hidden = 0
    marks = {"", *case.marks}
    for one in case.quasi:
        if one.kind == "place":
            continue
        cells = [(cell or "").strip() for cell in case.column(one.name).cells]
        one.texts = [None if cell in marks else cell for cell in cells]
        one.value_of = str
        if one.kind not in {"number", "date"}:
            one.meaning = one.texts
        if one.kind == "date" and not one.declared:
            case.words["kinds"][one.name] = "date"


def _text(cell: Any) -> str | None:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell.isoformat(sep=" ") if hasattr(cell, "hour") and hasattr(cell, "year") else str(cell)
