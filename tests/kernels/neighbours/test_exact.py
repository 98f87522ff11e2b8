"""Neighbours in every distance, against all pairs."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

from shoal.encode import encode
from shoal.kernels import threads
from shoal.kernels.centres.assignment import recentre
from shoal.kernels.distance.rows import apart
from shoal.kernels.neighbours import exact
from shoal.kernels.neighbours.box_tree import ball, build_index, sight_of
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from tables import PATHS

DISTANCES = ("span", "euclidean", "great-circle", "matrix")


def table_of(distance, rows, seed=0):
    """A coded table whose rows often tie, with 0 to 3 records a row."""
    luck = random.Random(seed)
    cells = {
        "a": [luck.choice([-60.0, 0.25, 17.5, 17.5, 59.0]) + luck.randrange(4) for _ in range(rows)],
        "b": [luck.uniform(-179, 179) if luck.random() < 0.5 else 10.0 for _ in range(rows)],
        "n": [luck.randrange(4) for _ in range(rows - 1)] + [3],
    }
    more = {}
    quasi = ("a", "b")
    matrix = None
    if distance == "span":
        quasi = ("a", "b", "c", "d")
        cells["c"] = [luck.choice([path[0] for path in PATHS]) for _ in range(rows)]
        cells["d"] = [luck.choice(["x", "y", "z", None]) for _ in range(rows)]
        more["hierarchies"] = {"c": Hierarchy.of_paths(PATHS)}
    if distance == "matrix":
        points = np.array([cells["a"], cells["b"]]).T
        matrix = np.abs(points[:, None] - points[None]).sum(axis=2)
    plan = Plan(k=2, quasi=quasi, count="n", distance=distance, **more)
    return encode(pl.DataFrame(cells), plan, matrix=matrix)


def pairs_of(coded):
    n = coded.distinct
    return np.array([[apart(coded.space, i, j) for j in range(n)] for i in range(n)])


@pytest.fixture(scope="module", params=DISTANCES)
def measured(request):
    coded = table_of(request.param, 300)
    return coded, pairs_of(coded), build_index(coded.space, coded.count)


def test_reach_holds_k_records(measured):
    coded, far, index = measured
    for k in (1, 3, 40):
        found = exact.reach_distances(index, coded.space, coded.count, k)
        for i in np.flatnonzero(coded.count):
            order = np.argsort(far[i], kind="stable")
            enough = np.cumsum(coded.count[order]) >= k
            assert found[i] == far[i][order][enough.argmax()]


@pytest.mark.parametrize("wide", [0.0, 2.0])
def test_balls_and_counts(measured, wide, monkeypatch):
    monkeypatch.setattr(exact, "WIDE", wide)  # every row looked at, or the tree
    coded, far, index = measured
    rows = np.arange(coded.distinct, dtype=np.int32)
    out = np.empty(coded.distinct, dtype=np.int32)
    sight = sight_of(index, coded.space)
    alive = coded.count > 0
    # distances that occur are the hard radii
    for radius in (0.0, float(np.median(far)), far[3, 7], float(far.max()), -1.0):
        counted = exact.count_within(index, coded.space, rows, radius)
        for i in rows:
            inside = np.flatnonzero((far[i] <= radius) & alive)
            many = ball(index, coded.space, sight, i, radius, out)
            assert sorted(out[:many].tolist()) == inside.tolist()
            assert counted[i] == coded.count[inside].sum()


def test_the_nearest_and_the_best_centre(measured):
    coded, far, index = measured
    rows = np.arange(coded.distinct, dtype=np.int32)
    alive = np.flatnonzero(coded.count)
    price = exact.reach_distances(index, coded.space, coded.count, 5)
    chosen, least = exact.best_centres(index, coded.space, price, rows)
    some = np.where(rows % 7 == 0, coded.count, 0)
    near, distance = exact.nearest(build_index(coded.space, some), coded.space, rows)
    for i in rows:
        values = np.maximum(far[i, alive], price[alive])
        assert least[i] == values.min()
        assert chosen[i] == alive[values.argmin()]
        of_some = np.flatnonzero(some)
        assert distance[i] == far[i, of_some].min()
        assert near[i] == of_some[far[i, of_some].argmin()]


@pytest.mark.parametrize("wide", [0.0, 2.0])
def test_the_distances_in_a_shell(measured, wide, monkeypatch):
    monkeypatch.setattr(exact, "WIDE", wide)
    coded, far, index = measured
    alive = np.flatnonzero(coded.count)
    values = np.unique(far[np.ix_(alive, alive)])
    low, high = values[values.size // 3], values[values.size // 2]
    found = exact.shell(index, coded.space, low, high, 10**9)
    assert found.tolist() == values[(values > low) & (values <= high)].tolist()
    assert exact.shell(index, coded.space, low, high, 1) is None
    assert exact.shell(index, coded.space, high, high, 1).size == 0


def test_crowds_count_the_rows_that_are_just_as_far(measured):
    coded, far, index = measured
    alive = coded.count > 0
    for k in (1, 3, 40):
        reach, crowd = exact.crowds(index, coded.space, coded.count, k)
        for i in np.flatnonzero(alive):
            assert crowd[i] == coded.count[alive & (far[i] <= reach[i])].sum()


def test_the_nearest_within_a_limit(measured):
    coded, far, index = measured
    rows = np.arange(coded.distinct, dtype=np.int32)
    alive = np.flatnonzero(coded.count)
    most = np.median(far[:, alive], axis=1) * (rows % 3) / 2
    near, distance = exact.nearest(index, coded.space, rows, most)
    for i in rows:
        least = far[i, alive].min()
        inside = least <= most[i]
        assert near[i] == (alive[far[i, alive].argmin()] if inside else -1)
        assert distance[i] == (least if inside else most[i])


def test_rows_listed_by_their_own_radius(measured):
    coded, far, index = measured
    rows = np.arange(coded.distinct, dtype=np.int32)[::-1].copy()
    radius = far[rows, 5]
    starts, found = exact.list_within(index, coded.space, rows, radius)
    for q, i in enumerate(rows):
        inside = np.flatnonzero((far[i] <= radius[q]) & (coded.count > 0))
        assert found[starts[q] : starts[q + 1]].tolist() == inside.tolist()


def test_the_number_of_threads_changes_nothing(monkeypatch):
    coded = table_of("great-circle", 700)
    index = build_index(coded.space, coded.count)
    rows = np.flatnonzero(coded.count).astype(np.int32)
    found = []
    for many in (1, 3):
        monkeypatch.setattr(threads, "get_num_threads", lambda many=many: many)
        reach, crowd = exact.crowds(index, coded.space, coded.count, 7)
        chosen, least = exact.best_centres(index, coded.space, reach, rows)
        found.append((reach.tolist(), crowd.tolist(), chosen.tolist(), least.tolist()))
    assert found[0] == found[1]
    parts = []
    threads.over_rows(1000, lambda first, last: parts.append((first, last)))
    assert sorted(parts)[0][0] == 0
    assert len(parts) > 1
    assert [last for _, last in sorted(parts)] == [*[first for first, _ in sorted(parts)][1:], 1000]


def naive_centre(far, members):
    return min(max(far[c, j] for j in members) for c in members)


def test_the_best_member_becomes_the_centre(measured):
    coded, far, _ = measured
    luck = random.Random(5)
    for _ in range(20):
        groups = [luck.sample(range(coded.distinct), luck.choice([1, 2, 9, 60])) for _ in range(4)]
        starts = np.cumsum([0, *map(len, groups)])
        row = np.concatenate(groups).astype(np.int32)
        old = np.array(
            [luck.choice([*members, luck.randrange(coded.distinct)]) for members in groups], dtype=np.int32
        )
        centre, radius = recentre(coded.space, row, starts, old)
        for g, members in enumerate(groups):
            assert centre[g] in members
            assert radius[g] == naive_centre(far, members) == far[centre[g], members].max()
            if old[g] in members and far[old[g], members].max() == radius[g]:
                assert centre[g] == old[g]
