"""Small registers over time, for tests: persons come, leave, return, move and change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

import shoal
from shoal.model.cell import parse_range
from shoal.model.task import quiet
from shoal.run.register import Before, release_register

VALUES = ["canary-flu", "canary-cold", "canary-pox", "canary-gout", "canary-mumps"]


def story(seed: int, *, releases: int = 4, people: int = 9, change: float = 0.15) -> list[dict]:
    """Tables of one random series: person -> (point, value)."""
    luck = np.random.default_rng(seed)
    weight = np.array([1 / (i + 1) for i in range(len(VALUES))])

    def someone():
        point = tuple(int(x) for x in luck.integers(0, 12, 2))
        return point, VALUES[luck.choice(len(VALUES), p=weight / weight.sum())]

    now = {f"canary-id-{i:04d}": someone() for i in range(people)}
    gone, count, tables = {}, people, []
    for _ in range(releases):
        tables.append(dict(now))
        kept = {}
        for person, (point, value) in now.items():
            if luck.random() < 0.15:
                gone[person] = (point, value)
                continue
            moved = tuple(int(x) for x in luck.integers(0, 12, 2)) if luck.random() < 0.1 else point
            kept[person] = (moved, VALUES[luck.integers(len(VALUES))] if luck.random() < change else value)
        for person in [p for p in gone if luck.random() < 0.3]:
            kept[person] = gone.pop(person)
        for _ in range(luck.poisson(people / 4)):
            kept[f"canary-id-{count:04d}"] = someone()
            count += 1
        now = kept
    return tables


def frame_of(table: dict) -> pl.DataFrame:
    """A table as a frame."""
    people = sorted(table)
    return pl.DataFrame(
        {
            "who": people,
            "x": [table[p][0][0] for p in people],
            "y": [table[p][0][1] for p in people],
            "ill": [table[p][1] for p in people],
        }
    )


def plan_of(k: int, **words) -> shoal.Plan:
    """A plan for these frames."""
    plan = {
        "k": k,
        "quasi": ["x", "y"],
        "kinds": {"x": "number", "y": "number"},
        "sensitive": ["ill"],
        "rules": ["ill: 2-diverse"],
        "unit": "who",
        "series": "register",
        "method": "mondrian",
        "effort": "quick",
    }
    return shoal.Plan(**plan | words)


def make(tables: list[dict], plan: shoal.Plan) -> list[shoal.Release]:
    """All releases of a series, in memory; a table that cannot be listed yet ends it."""
    releases, before = [], None
    for table in tables:
        try:
            release = release_register(frame_of(table), plan, before, progress=quiet)
        except shoal.DataError:
            break
        releases.append(release)
        before = Before(release._register.state, release.lists, release.certificate)
    return releases


def people_behind(release: shoal.Release) -> list[str]:
    """Who stands behind each line."""
    return release._register.ids[pl.Series(release.groups.source)].to_list()


def told(releases: list, tables: list[dict]) -> tuple[list[list], dict, list[tuple]]:
    """Lists of lives, what they have, and which lives of a person are known to differ."""
    lists, truth, life, last = [], {}, {}, {}
    for number, (release, table) in enumerate(zip(releases, tables, strict=False), 1):
        for person, (_, value) in table.items():
            if person in last and last[person] != value:
                life[person] = life.get(person, 0) + 1
            last[person] = value
            truth[person, life.get(person, 0)] = value
        new = set(release.lists.filter(pl.col("since") == number)["school"].to_list())
        members: dict[int, list] = {}
        for person, school in zip(people_behind(release), release.table["school"].to_list(), strict=True):
            if school in new:
                members.setdefault(school, []).append((person, life.get(person, 0)))
        lists += members.values()
    lives = sorted(truth)
    differ = [(a, b) for a, b in pairwise(lives) if a[0] == b[0]]
    return lists, truth, differ


def sides_shown(release: shoal.Release) -> dict:
    """By person, both ends of each cell."""
    lines = release.table.select("x", "y").rows()
    return {
        person: [tuple(float(end) for end in parse_range(cell)) for cell in line]
        for person, line in zip(people_behind(release), lines, strict=True)
    }
