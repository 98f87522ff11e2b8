"""Crowds grown among near rows, against an obvious version that looks at every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive import Table, group_loss
from shoal.kernels.crowd.grow import grow_crowds
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.distance.spans import distance
from shoal.kernels.neighbours.approximate import draw_orders, list_near, near_rows
from shoal.model.coded import Coded
from tables import coded_of, many_columns, tables


def grown_from(table: Table, start: int, free: set[int], k: int) -> tuple[float, list[int]]:
    """The crowd that starts at a row, by raw cells: what a record of it gives up, and its rows."""
    crowd = [start]
    while len(crowd) < k:
        left = sorted(free - set(crowd))
        if not left:
            return np.inf, crowd
        crowd.append(min(left, key=lambda row: group_loss(table, [*crowd, row])))
    return group_loss(table, crowd), crowd


def cheapest_first(table: Table, k: int) -> list[float]:
    """The costs of the crowds as they are taken; no start is asked again before its turn."""
    free = set(range(table.rows))
    due = {row: grown_from(table, row, free, k)[0] for row in free}
    costs = []
    while len(free) >= k:
        start = min(free, key=lambda row: due[row])
        due[start], crowd = grown_from(table, start, free, k)
        if due[start] <= min(due[row] for row in free - {start}):
            costs.append(due[start])
            free -= set(crowd)
    return costs


def costs_of(table: Table, coded: Coded, label: np.ndarray, groups: int) -> list[float]:
    place = {int(line): at for at, line in enumerate(coded.row)}
    found = []
    for g in range(groups):
        rows = [place[int(row)] for row in np.flatnonzero(label == g)]
        found.append(group_loss(table, rows))
    return found


def grown(coded: Coded, k: int, listed: int) -> tuple[np.ndarray, int]:
    random = np.random.default_rng(0)
    near = near_rows(coded.codes, coded.metric, listed, random)
    return grow_crowds(coded.codes, coded.count, coded.metric, k, near, random)


@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 3), (2, 4), (3, 7)])
def test_with_all_rows_listed_the_cheapest_of_all_crowds_is_taken_first(seed: int, k: int) -> None:
    table = many_columns(26, seed)
    coded = coded_of(table, k)
    assert coded.distinct == 26
    label, groups = grown(coded, k, 25)
    assert costs_of(table, coded, label, groups) == pytest.approx(cheapest_first(table, k))


@given(tables(least=4, most=40, copies=True), st.integers(2, 9), st.integers(1, 4))
@settings(max_examples=80)
def test_crowds_hold_k_records_and_leave_fewer(table, k, listed):
    assume(sum(table.counts) >= 2)
    coded = coded_of(table, 2)
    label, groups = grown(coded, k, listed)
    held = np.bincount(label[label >= 0], weights=coded.count[label >= 0], minlength=groups)
    assert held.size == groups
    assert np.all(held >= k)
    assert coded.count[label < 0].sum() < k


def test_rows_that_are_near_too_few_others_still_find_a_group() -> None:
    """Ten pairs far from each other: with one near row listed, no crowd of four can be grown."""
    table = Table(
        cells={"number": [100 * (row // 2) + row % 2 for row in range(20)]}, kinds={"number": "number"}
    )
    coded = coded_of(table, 4)
    label, groups = grown(coded, 4, 1)
    assert groups >= 1
    assert np.bincount(label[label >= 0]).min() >= 4
    assert np.sum(label < 0) < 4


def nearest_of(coded: Coded, row: int, wanted: int) -> list[float]:
    far = [distance(coded.metric, coded.codes[row], other) for other in coded.codes]
    return sorted(far[:row] + far[row + 1 :])[:wanted]


def test_rounds_find_the_nearest_rows_of_many_columns() -> None:
    coded = coded_of(many_columns(600, 0), 2)
    own, packed = pack_metric(coded.metric, coded.codes)
    orders = draw_orders(coded.codes.shape[1], 2, np.random.default_rng(0))
    right = {}
    for rounds in (0, 6):
        near = list_near(own, packed, 10, orders, rounds)
        right[rounds] = 0
        for row, line in enumerate(near[:, 1:].tolist()):
            assert len({row, *line}) == 11
            far = [distance(coded.metric, coded.codes[row], coded.codes[other]) for other in line]
            assert far == sorted(far)
            right[rounds] += np.isclose(far, nearest_of(coded, row, 10)).sum()
    assert right[0] < 0.3 * 6000
    assert right[6] > 0.8 * 6000
