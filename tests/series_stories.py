"""Small registers over time, for tests: persons come, leave, return, move and change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

import shoal
from naive_worlds import Exposed, Tale, exposed, held_by_cut
from shoal.model.cell import parse_range
from shoal.model.task import quiet
from shoal.run.register import Before, release_register

VALUES = ["canary-flu", "canary-cold", "canary-pox", "canary-gout", "canary-mumps"]


TREE = shoal.Hierarchy.of_paths([(f"y{i:02d}", f"n{i // 3}", f"m{i // 6}", "*") for i in range(12)])
MISSING = -1


def story(
    seed: int,
    *,
    releases: int = 4,
    people: int = 9,
    change: float = 0.15,
    missing: float = 0.0,
    restless: float = 0.0,
) -> list[dict]:
    """Tables of one random series: person -> (point, value); the `restless` take a small step each time."""
    luck = np.random.default_rng(seed)
    weight = np.array([1 / (i + 1) for i in range(len(VALUES))])

    def somewhere():
        x, y = (int(x) for x in luck.integers(0, 12, 2))
        return (MISSING if missing and luck.random() < missing else x), y

    def beside(point):
        x, y = (int(np.clip(at + luck.integers(-2, 3), 0, 11)) for at in point)
        return (MISSING if point[0] == MISSING else x), y

    def someone():
        return somewhere(), VALUES[luck.choice(len(VALUES), p=weight / weight.sum())]

    now = {f"canary-id-{i:04d}": someone() for i in range(people)}
    gone, count, tables = {}, people, []
    for _ in range(releases):
        tables.append(dict(now))
        kept = {}
        for person, (point, value) in now.items():
            if luck.random() < 0.15:
                gone[person] = (point, value)
                continue
            moved = somewhere() if luck.random() < 0.1 else point
            moved = beside(moved) if restless and luck.random() < restless else moved
            kept[person] = (moved, VALUES[luck.integers(len(VALUES))] if luck.random() < change else value)
        for person in [p for p in gone if luck.random() < 0.3]:
            kept[person] = gone.pop(person)
        for _ in range(luck.poisson(people / 4)):
            kept[f"canary-id-{count:04d}"] = someone()
            count += 1
        now = kept
    return tables


def frame_of(table: dict, plan: shoal.Plan | None = None) -> pl.DataFrame:
    """A table as a frame; y is a leaf of TREE where the plan has that."""
    people = sorted(table)
    is_tree = plan is not None and "y" in plan.hierarchies
    places = [table[p][0] for p in people]
    return pl.DataFrame(
        {
            "who": people,
            "x": [None if x == MISSING else x for x, _ in places],
            "y": [f"y{y:02d}" if is_tree else y for _, y in places],
            "ill": [table[p][1] for p in people],
        }
    )


def plan_of(k: int, **words) -> shoal.Plan:
    """A plan for these frames."""
    plan = {
        "k": k,
        "quasi": ["x", "y"],
        "kinds": {"x": "number"} | ({} if "hierarchies" in words else {"y": "number"}),
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
            release = release_register(frame_of(table, plan), plan, before, progress=quiet)
        except shoal.DataError:
            break
        releases.append(release)
        before = Before(release._register.state, release.lists, release.certificate)
    return releases


def people_behind(release: shoal.Release) -> list[str]:
    """Who stands behind each line."""
    return release._register.ids[pl.Series(release.groups.source)].to_list()


def told(releases: list, tables: list[dict]) -> Tale:
    """What the strongest attacker knows of values: every list that is new or has changed, by its lives."""
    tale, life, last, joined, before = Tale(), {}, {}, {}, {}
    for release, table in zip(releases, tables, strict=False):
        for person, (_, value) in table.items():
            if person in last and last[person] != value:
                life[person] = life.get(person, 0) + 1
            last[person] = value
            tale.truth[person, life.get(person, 0)] = value
        now: dict = {}
        for school, value in release.lists.select("school", "ill").rows():
            now.setdefault(school, []).append(value)
        for person, school in zip(people_behind(release), release.table["school"].to_list(), strict=True):
            its = joined.setdefault(person, {})
            if school is None or school in its:
                continue
            one = (person, life.get(person, 0))
            left = [former for former, was in its.items() if was != one]
            tale.lacks[one] = {value for former in left for value in before.get(former, ())}
            its[school] = one
        for school, values in now.items():
            if sorted(before.get(school, ())) != sorted(values):
                members = [its[school] for its in joined.values() if school in its]
                here = [one for one in members if one[0] in table]
                whole = sorted(tale.truth[one] for one in members) == sorted(values)
                tale.lists.append(members if whole else here)
        before = now
    lives = sorted(tale.truth)
    tale.differ = [(a, b) for a, b in pairwise(lives) if a[0] == b[0]]
    return tale


def sides_shown(release: shoal.Release) -> dict:
    """By person, both ends of each cell; a star holds everything, missing too."""
    lines = release.table.select("x", "y").rows()
    return {
        person: [_ends(cell) for cell in line]
        for person, line in zip(people_behind(release), lines, strict=True)
    }


def wander(seed: int, plan: shoal.Plan, *, people: int, releases: int, share: float = 1.0) -> tuple:
    """Releases and tables of a register where nobody leaves, and a share moves inside its cells."""
    luck = np.random.default_rng(seed)
    table, made, tables, cut = story(seed, people=people)[0], [], [], {}
    for _ in range(releases):
        before = Before(made[-1]._register.state, made[-1].lists, made[-1].certificate) if made else None
        made.append(release_register(frame_of(table, plan), plan, before, progress=quiet))
        tables.append(table)
        for person, sides in sides_shown(made[-1]).items():
            pairs = zip(cut.get(person, sides), sides, strict=True)
            cut[person] = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
        table = {
            person: (
                tuple(int(luck.integers(max(a, 0), min(b, 11) + 1)) for a, b in cut[person])
                if luck.random() < share
                else point,
                value,
            )
            for person, (point, value) in table.items()
        }
    return made, tables


def _ends(cell: str | None) -> tuple[float, float]:
    if cell is None:
        return MISSING, MISSING
    if cell == "*":
        return MISSING, 12
    if cell[0] in "ymn":
        number = int(cell[1:])
        width = {"y": 1, "n": 3, "m": 6}[cell[0]]
        return number * width, number * width + width - 1
    low, high = parse_range(cell)
    return float(low), float(high)


PLANS = (
    {},
    {"rules": ["ill: at most 60%"]},
    {"rules": ["ill: entropy 1.5-diverse"]},
    {"rules": ["ill: (3, 2)-diverse", "ill: 2-diverse"]},
    {"hierarchies": {"y": TREE}},
    {"method": "k-member", "hierarchies": {"y": TREE}},
    {"method": "crowd", "cells": "bounds"},
)


@dataclass
class Found:
    """What enumeration and judge say of some series."""

    values: Exposed
    cut: int = 0
    refused: int = 0
    releases: int = 0
    series: int = 0

    def __add__(self, other: Found) -> Found:
        names = ("cut", "refused", "releases", "series")
        return Found(
            self.values + other.values, *(getattr(self, name) + getattr(other, name) for name in names)
        )

    @property
    def nobody(self) -> bool:
        its = self.values
        return not any((its.certain, its.few, its.uneven, its.given_up, self.cut, self.refused))


NOTHING = Found(Exposed())


def expose(tables, plan):
    """What a series of these tables tells."""
    releases = make(tables, plan)
    values = exposed(told(releases, tables), 2)
    points = [{p: point for p, (point, _) in table.items()} for table in tables[: len(releases)]]
    cut = 0
    if plan.cells == "text":
        cut = held_by_cut([sides_shown(release) for release in releases], points, plan.k)
    refused = sum(bool(release.verdict.reasons) for release in releases)
    return Found(values, cut, refused, len(releases), 1)


def expose_many(seeds, restless=0.0, **words):
    total = NOTHING
    for seed in seeds:
        k, plan = 2 + seed % 3, PLANS[seed // 3 % len(PLANS)]
        missing = 0.1 if seed // 21 % 3 == 2 else 0.0
        tables = story(seed, people=3 * k + 2, missing=missing, restless=restless)
        total += expose(tables, plan_of(k, **plan | words))
    return total


def tell(seeds, plan, **words):
    """What the values of some series tell, and how many releases are refused."""
    values, refused = Exposed(), 0
    for seed in seeds:
        tables = story(seed, **words)
        releases = make(tables, plan)
        refused += sum(bool(release.verdict.reasons) for release in releases)
        values += exposed(told(releases, tables), 2)
    return values, refused


MANY_CHANGES = {"people": 20, "change": 0.4}
"""Tables whose persons change often."""
