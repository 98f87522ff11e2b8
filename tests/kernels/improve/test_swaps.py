"""Rows that change places, judged by raw cells."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive import total_loss
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.improve.state import load_state, read_state
from shoal.kernels.improve.swaps import swap_rows
from shoal.kernels.neighbours.approximate import draw_orders, list_near
from shoal.model.coded import Coded
from tables import coded_of, deal, loss_of, many_columns, tables

Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]


def swapped(coded: Coded, pieces: Pieces, k: int, tries: int, heat: float = 0.0) -> tuple[Pieces, float]:
    """The pieces after so many tries, with every row listed as near, and the loss won."""
    own, packed = pack_metric(coded.metric, coded.codes)
    orders = draw_orders(coded.codes.shape[1], 4, np.random.default_rng(0))
    near = list_near(own, packed, max(1, coded.distinct - 1), orders, 4)
    state = load_state(own, packed, near, k, *pieces, 0, coded.weight)
    won = swap_rows(packed, state, k, tries, 7, heat)
    return read_state(state), won


@given(
    tables(least=4, most=30, copies=True),
    st.integers(2, 5),
    st.integers(0, 99),
    st.sampled_from([0.0, 2.0]),
)
@settings(max_examples=100)
def test_what_changes_of_places_say_they_won_is_what_raw_cells_say(table, k, seed, heat):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    pieces = deal(coded, k, seed)
    (row, group, count), won = swapped(coded, pieces, k, 300, heat)
    before = loss_of(table, coded, *pieces)
    assert loss_of(table, coded, row, group, count) == pytest.approx(before - won, abs=1e-7)
    assert won >= 0 or heat > 0
    assert np.bincount(group, weights=count).min() >= k
    assert np.bincount(row, weights=count, minlength=coded.distinct).tolist() == coded.count.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_in_the_end_no_move_and_no_swap_would_win(seed: int) -> None:
    k = 4
    table = many_columns(22, seed)
    coded = coded_of(table, k)
    (row, label, _), won = swapped(coded, deal(coded, k, seed), k, 20_000)
    assert won > 0
    place = {int(line): at for at, line in enumerate(coded.row)}
    groups = [[place[int(r)] for r in row[label == g]] for g in range(int(label.max()) + 1)]
    for home, to in permutations(groups, 2):
        now = total_loss(table, [home, to])
        for one in home:
            rest = [other for other in home if other != one]
            if len(rest) >= k:
                assert total_loss(table, [rest, [*to, one]]) > now - 1e-8
            for back in to:
                there = [other for other in to if other != back]
                assert total_loss(table, [[*rest, back], [*there, one]]) > now - 1e-8


def test_heat_makes_groups_worse_and_cold_does_not() -> None:
    coded = coded_of(many_columns(60, 0), 5)
    good, _ = swapped(coded, deal(coded, 5, 0), 5, 20_000)
    assert swapped(coded, good, 5, 2_000, heat=1.0)[1] < 0
    assert swapped(coded, good, 5, 2_000)[1] >= 0
