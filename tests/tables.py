"""Random small tables of every kind, as Hypothesis strategies, and their way into Shoal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from naive import Path, Table, total_loss
from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan

__all__ = [
    "KINDS",
    "PATHS",
    "coded_of",
    "deal",
    "exact_table",
    "loss_of",
    "many_columns",
    "plan_of",
    "small_table",
    "tables",
]

KINDS = ("number", "date", "tree", "label")

PATHS: list[Path] = [
    ("a", "ab", "left", "*"),
    ("b", "ab", "left", "*"),
    ("c", "c-", "left", "*"),
    ("d", "de", "right", "*"),
    ("e", "de", "right", "*"),
    ("f", "f-", "right", "*"),
    ("g", "g-", "right", "*"),
]

_CELLS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(0, 6),
    "date": st.integers(0, 40).map(lambda days: date(2020, 1, 1) + timedelta(days=days)),
    "tree": st.sampled_from([path[0] for path in PATHS]),
    "label": st.sampled_from(["red", "green", "blue", "grey"]),
}
_TYPES: dict[str, Any] = {
    "number": pl.Int64,
    "date": pl.Date,
    "tree": pl.String,
    "label": pl.String,
    "n": pl.Int64,
}


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    least: int = 2,
    most: int = 9,
    kinds: tuple[str, ...] = KINDS,
    most_columns: int = 3,
    missing: bool = True,
    copies: bool = False,
) -> Table:
    """A table of a few rows and columns; few values, so that ties and copies are common."""
    rows = draw(st.integers(least, most))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=most_columns))
    cells: dict[str, list[Any]] = {}
    kinds_of, weights = {}, {}
    for at, kind in enumerate(chosen):
        name = f"{kind}{at}"
        some = _CELLS[kind]
        if missing and draw(st.booleans()):
            some = st.none() | some
        cells[name] = draw(st.lists(some, min_size=rows, max_size=rows))
        kinds_of[name] = kind
        # the first column keeps a weight: a table whose weights are all 0 is refused
        weights[name] = draw(st.sampled_from([1.0, 2.5, 0.0] if at else [1.0, 0.5]))
    return Table(
        cells=cells,
        kinds=kinds_of,
        paths={name: PATHS for name, kind in kinds_of.items() if kind == "tree"},
        weights=weights,
        loss=draw(st.sampled_from(["leaves", "levels", "sets"])),
        copies=tuple(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))) if copies else None,
    )


def frame_of(table: Table) -> pl.DataFrame:
    """The table as a frame; the records of a row stand in column `n`."""
    cells = dict(table.cells)
    if table.copies is not None:
        cells["n"] = list(table.copies)
    schema = {name: _TYPES[table.kinds.get(name, "n")] for name in cells}
    return pl.DataFrame(cells, schema=schema)


def plan_of(table: Table, k: int, **more: Any) -> Plan:
    """A plan that measures the table as it says."""
    return Plan(
        k=k,
        quasi=tuple(table.cells),
        kinds=table.kinds,
        hierarchies={name: Hierarchy.of_paths(paths) for name, paths in table.paths.items()},
        weights=table.weights,
        loss=table.loss,
        count="persons(n)" if table.copies is not None else None,
        **more,
    )


def coded_of(table: Table, k: int, **more: Any) -> Coded:
    """The table as methods see it."""
    return encode(frame_of(table), plan_of(table, k, **more))


# every span of these columns is a multiple of 1/8, so sums are exact and ties are true ties
LEAVES: list[Path] = [
    (leaf, twig, branch, "*")
    for leaf, twig, branch in [
        ("a", "ab", "left"),
        ("b", "ab", "left"),
        ("c", "c-", "left"),
        ("d", "de", "right"),
        ("e", "de", "right"),
        ("f", "f-", "right"),
        ("g", "gh", "far"),
        ("h", "gh", "far"),
        ("i", "i-", "far"),
    ]
]


def exact_table(rows: int, seed: int, *, missing: bool) -> Table:
    """Distinct rows in the order of their codes."""
    luck = random.Random(seed)
    paths = LEAVES[:-1] if missing else LEAVES
    labels = list("pqrs") + ([] if missing else ["t"])
    pools = [[*range(9)], [path[0] for path in paths], labels]
    lines = {(0, "a", labels[0]), (8, "b", labels[1]), *((4, "a", label) for label in labels)}
    if missing:
        lines |= {(None, None, None)}
        pools = [[*pool, None] for pool in pools]
    while len(lines) < rows:
        lines.add(tuple(luck.choice(pool) for pool in pools))
    order = sorted(lines, key=lambda line: [(cell is None, cell) for cell in line])
    return Table(
        cells={name: [line[at] for line in order] for at, name in enumerate(("age", "job", "town"))},
        kinds={"age": "number", "job": "tree", "town": "label"},
        paths={"job": paths},
        weights={"age": luck.choice([1.0, 2.0]), "job": 1.0, "town": luck.choice([0.0, 0.5])},
    )


def small_table(seed: int, records_of: Sequence[int], k_of: Sequence[int]) -> tuple[Table, int]:
    """A few records in 1 to 3 columns of three kinds, with copies in every other table; and k."""
    luck = random.Random(seed)
    records = luck.choice(records_of)
    pools: dict[str, list[Any]] = {
        "number": [luck.randrange(12) for _ in range(5)] + list(range(3)),
        "tree": [path[0] for path in PATHS],
        "label": ["red", "green", "blue"],
    }
    kinds = [luck.choice(list(pools)) for _ in range(luck.choice([1, 2, 3, 3]))]
    copies: tuple[int, ...] | None = None
    rows = records
    if seed % 2:
        copies = ()
        while sum(copies) < records:
            copies += (min(luck.choice([1, 1, 2, 3, 0]), records - sum(copies)),)
        rows = len(copies)
    cells = {
        f"{kind}{at}": [luck.choice(pools[kind]) for _ in range(rows)] for at, kind in enumerate(kinds)
    }
    if luck.random() < 0.2:
        next(iter(cells.values()))[0] = None
    kinds_of = {f"{kind}{at}": kind for at, kind in enumerate(kinds)}
    table = Table(
        cells=cells,
        kinds=kinds_of,
        paths={name: PATHS for name, kind in kinds_of.items() if kind == "tree"},
        weights={name: luck.choice([1.0, 0.5, 2.0]) for name in kinds_of},
        copies=copies,
    )
    return table, luck.choice(k_of)


_HUNDRED = [(f"{i:02d}", f"{i:02d}"[:1], "*") for i in range(100)]


def many_columns(rows: int, seed: int) -> Table:
    """Twelve numbers that never tie, a tree, and a label of more members than one word of bits holds."""
    rng = np.random.default_rng(seed)
    numbers = [f"number {at}" for at in range(12)]
    return Table(
        cells={name: rng.permutation(10_000)[:rows].tolist() for name in numbers}
        | {
            "tree": [_HUNDRED[i][0] for i in rng.integers(0, 100, rows).tolist()],
            "label": [f"L{i}" for i in rng.integers(0, 80, rows).tolist()],
        },
        kinds=dict.fromkeys(numbers, "number") | {"tree": "tree", "label": "label"},
        paths={"tree": _HUNDRED},
    )


def deal(coded: Coded, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pieces of one record each, in random groups of at least k."""
    records = np.random.default_rng(seed).permutation(np.repeat(np.arange(coded.distinct), coded.count))
    groups = max(1, records.size // k)
    group = np.minimum(np.arange(records.size) // k, groups - 1).astype(np.int32)
    return records, group, np.ones(records.size, dtype=np.int64)


def loss_of(table: Table, coded: Coded, row: np.ndarray, group: np.ndarray, count: np.ndarray) -> float:
    """By raw cells, withheld in full."""
    first = {int(line): at for at, line in enumerate(coded.row)}
    single = Table(table.cells, table.kinds, table.paths, table.weights, table.loss)
    total = 0.0
    for g in set(group.tolist()):
        rows = [first[int(line)] for line in row[group == g]]
        each = table.weight if g < 0 else total_loss(single, [rows]) / len(rows)
        total += each * int(count[group == g].sum())
    return total
