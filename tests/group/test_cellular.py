"""cellular against every partition and every centre, its duals against every ball, and its errors."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numba
import numpy as np
import polars as pl
import pytest

import naive
import shoal
from naive_cellular import least_cells, most_broken
from shoal.bound import again, prove, value_of
from shoal.group import cellular, facts, fill_options, load
from shoal.kernels.duals import raise_duals
from shoal.kernels.index import build_index
from shoal.kernels.nearby import reach_distances
from shoal.model.task import Task, quota
from tables import PATHS, coded_of

NEAR = 1e-9


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tables of a few rows wait for threads longer than they compute."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def random_table(seed: int) -> tuple[naive.Table, int]:
    """4 to 8 records in 1 to 3 columns of numbers, trees and labels, with copies in every other table."""
    luck = random.Random(seed)
    records = luck.choice([4, 5, 6, 6, 7, 7, 8, 8])
    pools = {
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
    kinds_of = {f"{kind}{at}": kind for at, kind in enumerate(kinds)}
    table = naive.Table(
        cells={name: [luck.choice(pools[kind]) for _ in range(rows)] for name, kind in kinds_of.items()},
        kinds=kinds_of,
        paths={name: PATHS for name, kind in kinds_of.items() if kind == "tree"},
        weights={name: luck.choice([1.0, 0.5, 2.0]) for name in kinds_of},
        copies=copies,
    )
    return table, luck.choice([2, 2, 3, 4])


def judge(seed: int) -> int:
    """One table, with all records and with some withheld; how many groups the best has."""
    table, k = random_table(seed)
    luck = random.Random(-seed)
    records = [row for row, many in enumerate(table.counts) for _ in range(many)]
    distances = [[naive.distance(table, i, j) for j in records] for i in records]
    coded = coded_of(table, k)
    most = 0
    for share in (0.0, luck.choice([0.15, 0.25, 0.34])):
        task = Task(k=k, withhold=quota(share, len(records)), options=fill_options("cellular", {}))
        grouping = load("cellular").group(coded, task)
        best, groups = least_cells(distances, k, withhold=task.withhold)
        held = np.bincount(grouping.distinct, weights=grouping.count, minlength=coded.distinct)
        assert held.tolist() == coded.count.tolist()
        assert (grouping.sizes >= k).all()
        assert grouping.withheld <= task.withhold <= share * len(records) + NEAR
        value = value_of("cellular", coded, grouping)
        factor = 72 if task.withhold else 36
        assert grouping.factor == factor
        assert best <= value + NEAR
        assert value <= factor * best + NEAR
        for proof in (grouping.proof, prove("cellular", coded, task)):
            assert proof.bound <= best + NEAR
            same = again("cellular", coded, task, proof.name, dict(proof.parameters))
            assert same.bound == pytest.approx(proof.bound, abs=1e-12)
        assert again("cellular", coded, task, "reach", dict(grouping.proof.parameters)).bound <= best + NEAR
        published = set(grouping.distinct[grouping.group >= 0].tolist())
        assert published.issuperset(grouping.centre.tolist())
        most = max(most, groups if best > 0 else 0)
    return most


def test_small_tables_against_every_partition() -> None:
    groups = [judge(seed) for seed in range(200)]
    assert sum(many >= 2 for many in groups) >= 60


@pytest.mark.slow
def test_many_small_tables_against_every_partition() -> None:
    groups = [judge(seed) for seed in range(200, 1200)]
    assert sum(many >= 2 for many in groups) >= 300


def feasible(seed: int) -> None:
    """Duals and shares keep to every ball's limit, and every row is stopped by a ball that is full."""
    table, k = random_table(seed)
    luck = random.Random(seed)
    k = luck.choice([1, k])
    coded = coded_of(table, 2)
    records = [row for row, many in enumerate(coded.count) for _ in range(many)]
    space, count = coded.space, coded.count
    from shoal.kernels.space import apart

    distances = [[apart(space, i, j) for j in records] for i in records]
    costs = np.array([luck.choice([0.0, 0.1, 0.5, 2.0]) for _ in range(coded.distinct)]) * (seed % 3 > 0)
    index = build_index(space, count)
    reach = reach_distances(index, space, count, k)
    for top, raised in ((1, k if k > 1 else 0), (k, 0)):
        duals = raise_duals(space, count, reach, costs, top=top, raised=raised)
        share = [float(duals.share[row]) for row in records]
        opening = [float(costs[row]) for row in records]
        assert most_broken(distances, share, k, top=top, raised=raised, opening=opening) <= NEAR
        assert (duals.witness[count > 0] >= 0).all()
        for i in np.flatnonzero(count > 0):
            # a little more for one row breaks the ball that stopped it
            more = [one + 1e-6 * (row == i) for one, row in zip(share, records, strict=True)]
            assert most_broken(distances, more, k, top=top, raised=raised, opening=opening) > NEAR


def test_shares_keep_to_every_ball_and_none_could_rise() -> None:
    for seed in range(200):
        feasible(seed)


@pytest.mark.slow
def test_shares_of_many_tables_keep_to_every_ball() -> None:
    for seed in range(200, 1200):
        feasible(seed)


def test_figure_3_of_the_paper() -> None:
    rows = [(1, 1, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    release = shoal.anonymize(
        frame, k=5, quasi=names, kinds=dict.fromkeys(names, "label"), method="cellular"
    )
    assert frame.row(int(release.groups.centre[0])) == (1, 1, 1, 1)
    assert release.certificate.value == 5  # "a total distortion bound of 5"


def test_facts_say_what_the_method_takes() -> None:
    assert facts("cellular").centres
    assert "matrix" in facts("cellular").distances
    assert cellular.EXACT >= 5000
