"""The order of the input's rows changes nothing: every method, every style, ties and counts included."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.group import METHODS, facts
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import STYLES
from tables import KINDS, PATHS

every_method = pytest.mark.parametrize(
    "method", [name for name in METHODS if set(KINDS) & facts(name).takes]
)
every_style = pytest.mark.parametrize("style", STYLES)


def tied_table(method: str, luck: random.Random, rows: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Few values, so that rows tie in every way; something kept, and in every other table counts."""
    its = facts(method)
    pools: dict[str, list[Any]] = {
        "number": [0.0, -0.0, 1.0, 2.0, 5.0, 9.0],
        "tree": [path[0] for path in PATHS[:5]],
        "label": ["red", "green", "blue"],
    }
    kinds = [kind for kind in pools if kind in its.takes][: its.most_columns or 3]
    missing = luck.choice([0.0, 0.1])
    cells: dict[str, list[Any]] = {
        kind: [None if luck.random() < missing else luck.choice(pools[kind]) for _ in range(rows)]
        for kind in kinds
    }
    words: dict[str, Any] = {
        "quasi": kinds,
        "kinds": {kind: kind for kind in kinds},
        "hierarchies": {"tree": Hierarchy.of_paths(PATHS)} if "tree" in kinds else {},
        "sensitive": ["ill"],
        "keep": ["note", "group"],
    }
    cells["ill"] = [luck.choice(["flu", "cold", None]) for _ in range(rows)]
    cells["note"] = [luck.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in range(rows)]
    if luck.random() < 0.5:
        cells["n"] = [luck.choice([0, 1, 1, 2, 3]) for _ in range(rows)]
        words["count"] = "persons(n)"
    cells["group"] = [luck.choice(["b", "a", "c"]) for _ in range(rows)]
    return pl.DataFrame(cells).with_columns(pl.col("group").cast(pl.Categorical)), words


def quasi_text(release: shoal.Release, words: dict[str, Any]) -> str:
    """What a file would hold of the quasi-identifiers: 0 and -0 are two texts."""
    return release.table.select(*words["quasi"]).write_csv()


def shuffles_agree(method: str, style: str, seed: int, rows: int = 24) -> None:
    luck = random.Random(f"{method} {style} {seed}")
    frame, words = tied_table(method, luck, rows)
    k = facts(method).only_k or luck.choice([2, 3])
    more = {"withhold": luck.choice([0.0, 0.1])} if facts(method).withholds else {}
    words |= {"k": k, "method": method, "style": style, "seed": seed, "effort": "quick"} | more
    one = shoal.anonymize(frame, **words)
    for turn in range(3):
        mixed = frame.sample(fraction=1, shuffle=True, seed=turn)
        other = shoal.anonymize(mixed, **words)
        assert quasi_text(one, words) == quasi_text(other, words), f"seed {seed}, turn {turn}"
        assert one.table.equals(other.table), f"seed {seed}, turn {turn}"
        assert one.certificate.value == other.certificate.value
        assert one.certificate.bound == other.certificate.bound


@every_method
@every_style
def test_shuffled_rows_give_the_same_release_in_every_style(method: str, style: str) -> None:
    its = facts(method)
    if style not in its.styles or (style == "centres" and not its.centres):
        pytest.skip("another style")
    for seed in range(6):
        shuffles_agree(method, style, seed)


def test_rows_without_a_record_do_not_move_others() -> None:
    """What a rule looks at in a row that counts nobody has no code: it may come to any tuple."""
    table = pl.DataFrame(
        {
            "age": [30, 30, 30, 30, 30, 30, 30, 40, 30, 30],
            "ill": ["a", "b", "b", None, "a", "b", "b", "a", "c", "a"],
            "note": [3, 1, 50, 50, 1, 3, 2, 50, 4, 7],
            "n": [2, 0, 1, 0, 1, 2, 1, 2, 0, 0],
        }
    )
    words = {
        "k": 2,
        "quasi": ["age"],
        "kinds": {"age": "number"},
        "sensitive": ["ill"],
        "keep": ["note"],
        "count": "persons(n)",
        "rules": ["ill: at most 60%"],
        "withhold": 0.1,
    }
    releases = []
    for seed in range(12):
        shuffled = table.sample(fraction=1.0, shuffle=True, seed=seed)
        releases.append(shoal.anonymize(shuffled, seed=7, **words).table)
    assert all(release.equals(releases[0]) for release in releases)
