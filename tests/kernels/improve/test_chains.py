"""Boxes filled anew by chains: what a linear program finds from raw cells, and never more loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from naive import Table, total_loss
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.improve.chains import settle
from shoal.kernels.improve.state import PIECES, load_state, read_state
from shoal.model.coded import Coded
from tables import coded_of, deal, loss_of, tables

Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module", autouse=True, params=[0, 2, 256])
def _of_codes(request):
    """Spans of all pairs of codes stand in a table for so many codes at most; else they are measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.kernels.distance.packed.MOST_PAIRS", request.param)
        yield


def settled(coded: Coded, pieces: Pieces, k: int, looks: int = 4_000, spare: int | None = None):
    """The pieces after boxes are filled, and the loss won; with so many spare pieces."""
    own, packed = pack_metric(coded.metric, coded.codes)
    near = np.full((coded.distinct, 1), -1, dtype=np.int64)
    held = int(pieces[2][pieces[1] < 0].sum())
    state = load_state(own, packed, near, k, *pieces, held, coded.weight)
    if spare is not None:
        state.stock[PIECES] = spare
    won = settle(packed, state, k, looks)
    return read_state(state), won


def least_loss(table: Table, coded: Coded, pieces: Pieces, k: int) -> float:
    """What the boxes of the groups given cost at least, filled anyhow, by a linear program.

    Who is withheld may come back and nobody else is withheld.
    """
    row, group, count = pieces
    first = {int(line): at for at, line in enumerate(coded.row)}
    single = Table(table.cells, table.kinds, table.paths, table.weights, table.loss)

    def each(lines) -> float:
        rows = [first[int(line)] for line in lines]
        return total_loss(single, [rows]) / len(rows)

    held = np.bincount(row[group < 0], weights=count[group < 0], minlength=coded.distinct)
    price, most, of_row, of_box = [], [], [], []
    groups = sorted(set(group[group >= 0].tolist()))
    for place, g in enumerate(groups):
        lines = row[group == g].tolist()
        cost = each(lines)
        for line in range(coded.distinct):
            if each([*lines, line]) <= cost + 1e-9:
                price.append(cost)
                most.append(np.inf)
                of_row.append(line)
                of_box.append(place)
    for line in np.flatnonzero(held).tolist():
        price.append(table.weight)
        most.append(held[line])
        of_row.append(line)
        of_box.append(-1)
    row_of, box_of = np.array(of_row), np.array(of_box)
    found = linprog(
        price,
        A_ub=-(box_of[None, :] == np.arange(len(groups))[:, None]).astype(float),
        b_ub=np.full(len(groups), -float(k)),
        A_eq=(row_of[None, :] == np.arange(coded.distinct)[:, None]).astype(float),
        b_eq=coded.count.astype(float),
        bounds=[(0, one) for one in most],
    )
    assert found.status == 0
    return float(found.fun)


def withheld(pieces: Pieces, some: int, k: int) -> Pieces:
    """The same pieces, with the last group withheld if it is not the only one and that is asked for."""
    row, group, count = pieces
    if some and group.max() > 0:
        group = np.where(group == group.max(), -1, group).astype(np.int32)
    assert np.bincount(group[group >= 0]).min() >= k
    return row, group, count


@given(tables(least=4, most=24, copies=True), st.integers(2, 4), st.integers(0, 1), st.integers(0, 99))
@settings(max_examples=150)
def test_no_other_filling_of_the_boxes_loses_less(table, k, some, seed):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    pieces = withheld(deal(coded, k, seed), some, k)
    found, won = settled(coded, pieces, k)
    before, after = loss_of(table, coded, *pieces), loss_of(table, coded, *found)
    assert after == pytest.approx(before - won, abs=1e-7)
    assert after <= least_loss(table, coded, pieces, k) + 1e-7  # a box may even become smaller
    while won > 1e-9:
        pieces = found
        found, won = settled(coded, pieces, k)
    assert loss_of(table, coded, *found) == pytest.approx(least_loss(table, coded, found, k), abs=1e-7)


@given(
    tables(least=4, most=24, copies=True),
    st.integers(2, 4),
    st.integers(0, 1),
    st.integers(0, 99),
    st.sampled_from([(0, None), (1, None), (3, None), (4_000, 0), (4_000, 1), (4_000, 2)]),
)
@settings(max_examples=100)
def test_groups_stay_whole_with_few_looks_and_few_spare_pieces(table, k, some, seed, most):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    pieces = withheld(deal(coded, k, seed), some, k)
    (row, group, count), won = settled(coded, pieces, k, *most)
    assert won >= -1e-9
    assert loss_of(table, coded, row, group, count) == pytest.approx(
        loss_of(table, coded, *pieces) - won, abs=1e-7
    )
    assert count.min() >= 1
    assert np.bincount(group[group >= 0], weights=count[group >= 0]).min() >= k
    assert np.bincount(row, weights=count, minlength=coded.distinct).tolist() == coded.count.tolist()
    assert count[group < 0].sum() <= pieces[2][pieces[1] < 0].sum()


def test_a_label_without_weight_keeps_nobody_out():
    cells = {"number": [0, 1, 1, 0, 5, 0], "label": ["a", "a", "b", "b", "b", "c"]}
    table = Table(cells, {"number": "number", "label": "label"}, weights={"number": 1.0, "label": 0.0})
    coded = coded_of(table, 2)
    place = {int(line): at for at, line in enumerate(coded.row)}
    row = np.array([place[line] for line in range(6)])
    pieces = (row, np.array([0, 0, 1, 1, 1, 1], dtype=np.int32), np.ones(6, dtype=np.int64))
    found, won = settled(coded, pieces, 2)
    assert won > 0
    assert loss_of(table, coded, *found) == pytest.approx(loss_of(table, coded, *pieces) - won)


def test_a_chain_leads_through_a_group_that_gives_and_takes():
    """Nothing of the dearest group fits into the cheapest box: only a chain through the third one wins."""
    cells = {"number": [0, 1, 1, 3, 4, 3, 6, 9, 9]}
    table = Table(cells, {"number": "number"})
    coded = coded_of(table, 2)
    line = {cell: at for at, cell in enumerate([0, 1, 3, 4, 6, 9])}
    assert coded.distinct == len(line)
    row = np.array([line[cell] for cell in (0, 1, 1, 4, 3, 3, 6, 9, 9)])
    group = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2], dtype=np.int32)
    pieces = (row, group, np.ones(9, dtype=np.int64))
    before = loss_of(table, coded, *pieces)
    found, won = settled(coded, pieces, 2)
    assert won > 0
    assert loss_of(table, coded, *found) == pytest.approx(before - won)
    assert np.bincount(found[1], weights=found[2]).tolist() == [3, 3, 3]
