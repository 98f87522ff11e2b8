"""Tables with sensitive values and persons that a method takes, and rules over them in plain words."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

from naive_rules import classes, holds
from shoal.group import facts
from shoal.model.graph import Graph
from shoal.model.hierarchy import Hierarchy
from tables import frame_of
from test_every_method import columns_of, kinds_of, random_table, style_of

PATHS = [("flu", "lung", "*"), ("cold", "lung", "*"), ("ulcer", "gut", "*"), ("reflux", "gut", "*")]
RULES = (
    "illness: 2-diverse",
    "illness: 3-diverse",
    "illness: entropy 2-diverse",
    "illness: (1.5, 2)-diverse",
    "illness: (2, 3)-diverse",
    "illness: at most 50%",
    "illness: 0.3-close",
    "cost: ordered 0.2-close",
    "illness: 0.25-close by hierarchy",
    "illness: 0-close",
)
POINTS = [(50 + i / 7, 4 + i % 5 / 3) for i in range(17)]
BORDERS = [(f"z{a}", f"z{b}") for b in range(1, 12) for a in {b - 1, b * b % 7} if a < b]
"""Twelve regions in a row, with some shortcuts."""
TOLD = ("illness", "cost", "who")


def table_of(method: str, rows: int, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table that the method takes, with an illness, a cost and a person behind each row."""
    luck = random.Random(seed)
    if facts(method).takes == {"place"}:
        places = [luck.choice(POINTS) for _ in range(rows)]
        frame = pl.DataFrame({"lat": [p[0] for p in places], "lon": [p[1] for p in places]})
        words: dict[str, Any] = {"quasi": ["spot"], "kinds": {"spot": "place(lat, lon)"}}
    elif facts(method).takes == {"region"}:
        frame = pl.DataFrame({"zip": [f"z{luck.randrange(12)}" for _ in range(rows)]})
        words = {"quasi": ["zip"], "graphs": {"zip": Graph.of_edges(BORDERS)}}
    elif not set(kinds_of(method)):
        pytest.skip("takes none of our kinds")
    else:
        table = random_table(method, rows, seed=seed)
        names = list(table.cells)[: columns_of(method)]
        frame = frame_of(table).select(names)
        trees = {name: Hierarchy.of_paths(table.paths[name]) for name in names if name in table.paths}
        kinds = {name: table.kinds[name] for name in names}
        words = {"quasi": names, "kinds": kinds, "hierarchies": trees}
    common = luck.choice([["flu"], ["flu"] * 4, ["flu"] * 9, []])
    pool = [*common, *luck.sample(["flu", "cold", "ulcer", "reflux", None], luck.randint(1, 5))]
    frame = frame.with_columns(
        pl.Series("illness", [luck.choice(pool) for _ in range(rows)], dtype=pl.String),
        pl.Series("cost", [luck.choice([10, 20, 25, 90]) for _ in range(rows)]),
        pl.Series("who", [f"p{luck.randint(1, luck.choice([3, rows]))}" for _ in range(rows)]),
    )
    words |= {"sensitive": ["illness", "cost"], "style": style_of(method), "method": method, "seed": seed}
    return frame, words


def with_rules(words: dict[str, Any], rules: tuple[str, ...]) -> dict[str, Any]:
    trees = dict(words.get("hierarchies", {}))
    if any(rule.endswith("by hierarchy") for rule in rules):
        trees["illness"] = Hierarchy.of_paths(PATHS)
    return {**words, "rules": rules, "hierarchies": trees}


def obeys(rows: list[dict[str, Any]], everyone: list[dict[str, Any]], rule: str) -> bool:
    name = rule.partition(":")[0]
    return holds(rule, [row[name] for row in rows], [row[name] for row in everyone], PATHS)


def assert_obeyed(rows: list[dict[str, Any]], rules: tuple[str, ...] | list[str], k: int) -> int:
    """Every class of published rows has k of them and obeys; returns how many classes there are."""
    found = classes(rows, [name for name in rows[0] if name not in TOLD])
    for its in found:
        assert len(its) >= k
        assert all(obeys(its, rows, rule) for rule in rules)
    return len(found)
