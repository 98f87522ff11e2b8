"""The search's own account of the loss against one made from raw cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba import njit

from naive import Table, total_loss
from shoal.kernels.compile.whole import AsWhole
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.distance.spans import distance
from shoal.kernels.improve import block
from shoal.kernels.improve.block import improve_block
from shoal.kernels.improve.rebuild import rebuild
from shoal.kernels.improve.state import box_without, load_state, read_state
from shoal.kernels.neighbours.approximate import list_near
from shoal.model.coded import Coded
from tables import coded_of, deal, loss_of, tables


def long_table(rows: int, seed: int) -> Table:
    """More numbers and leaves than a table of pairs takes, more labels than one word of bits holds."""
    random = np.random.default_rng(seed)
    leaves = [(f"{i:03d}", f"{i:03d}"[:2], f"{i:03d}"[:1], "*") for i in range(400)]
    return Table(
        cells={
            "number": random.permutation(rows).tolist(),
            "tree": [leaves[i][0] for i in random.permutation(400)[:rows].tolist()],
            "label": [f"L{i}" for i in random.integers(0, 100, rows).tolist()],
        },
        kinds={"number": "number", "tree": "tree", "label": "label"},
        paths={"tree": leaves},
    )


def orders_of(coded: Coded) -> np.ndarray:
    axes = coded.codes.shape[1]
    return np.array([np.roll(np.arange(axes), shift) for shift in range(4)])


def run(
    coded: Coded,
    pieces: tuple[np.ndarray, ...],
    k: int,
    quota: int,
    tries: int = 60,
    *,
    with_sweep: bool = True,
    heat: float = 0.0,
    share: np.ndarray | None = None,
):
    orders = orders_of(coded)
    share = np.zeros(0) if share is None else share
    more = (orders, None, with_sweep, tries, 7, heat, share)
    return improve_block(coded.codes, coded.metric, *pieces, k, quota, coded.weight, *more)


@given(
    tables(least=4, most=30, copies=True),
    st.integers(2, 5),
    st.integers(0, 3),
    st.integers(0, 99),
    st.sampled_from([0.0, 2.0]),
    st.booleans(),
)
@settings(max_examples=120)
def test_what_the_search_says_it_won_is_what_raw_cells_say(table, k, quota, seed, heat, guided):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    pieces = deal(coded, k, seed)
    share = np.random.default_rng(seed).random(coded.distinct) if guided else None
    row, group, count, won = run(coded, pieces, k, quota, heat=heat, share=share)
    before = loss_of(table, coded, *pieces)
    assert loss_of(table, coded, row, group, count) == pytest.approx(before - won, abs=1e-7)
    assert won >= 0 or heat > 0
    assert count[group < 0].sum() <= quota
    assert np.bincount(group[group >= 0], weights=count[group >= 0]).min() >= k


@pytest.mark.parametrize("heat", [0.0, 1.0])
@pytest.mark.parametrize(("labels", "numbers", "pools"), [(28, 0, []), (0, 12, []), (5, 5, [200])])
def test_rows_of_many_columns_or_labels_change_places(labels, numbers, pools, heat, monkeypatch):
    random = np.random.default_rng(3)
    kinds = {f"column {at}": "label" if at < labels else "number" for at in range(labels + numbers)}
    cells = {
        name: random.choice(list("abcdef") if kind == "label" else 100, 90).tolist()
        for name, kind in kinds.items()
    }
    table = Table(cells, kinds)
    coded = coded_of(table, 5)
    pieces = deal(coded, 5, 1)
    tries = []
    monkeypatch.setattr(block, "rebuild", lambda *its: tries.append(its[3]) or rebuild(*its))
    row, group, count, won = run(coded, pieces, 5, 0, 400, with_sweep=False, heat=heat)
    assert tries == pools
    before = loss_of(table, coded, *pieces)
    assert loss_of(table, coded, row, group, count) == pytest.approx(before - won, abs=1e-6)
    assert won > 0.01 * before
    assert np.bincount(group, weights=count).min() >= 5
    assert np.bincount(row, weights=count).tolist() == coded.count.tolist()


def test_heat_makes_some_pools_worse_and_cold_none():
    table = long_table(200, 1)
    coded = coded_of(table, 4)
    row, group, count, _ = run(coded, deal(coded, 4, 1), 4, 0, 2000)
    good = (row, group.astype(np.int32), count)
    assert run(coded, good, 4, 0, 200, with_sweep=False, heat=5.0)[3] < 0
    assert run(coded, good, 4, 0, 200, with_sweep=False)[3] >= 0


@pytest.mark.parametrize("seed", range(3))
def test_long_lines_large_trees_and_many_labels_are_measured_right(seed):
    table = long_table(360, seed)
    coded = coded_of(table, 4)
    pieces = deal(coded, 4, seed)
    row, group, count, won = run(coded, pieces, 4, 0, 300)
    before, after = loss_of(table, coded, *pieces), loss_of(table, coded, row, group, count)
    assert after == pytest.approx(before - won, abs=1e-6)
    assert won > 0.2 * before
    assert np.bincount(group).min() >= 4


@njit(pipeline_class=AsWhole)
def box_of(packed, state, g, box, bits):
    return box_without(packed, state, g, np.int64(-1), box, bits, np.int64(0))


@given(tables(least=2, most=20, copies=True), st.integers(0, 99))
@settings(max_examples=60)
def test_a_state_gives_back_what_it_was_given(table, seed):
    assume(sum(table.counts) >= 2)
    coded = coded_of(table, 2)
    row, group, count = deal(coded, 2, seed)
    own, packed = pack_metric(coded.metric, coded.codes)
    near = list_near(own, packed, 4, orders_of(coded))
    state = load_state(own, packed, near, 2, row, group, count, 0, coded.weight)
    found = read_state(state)
    assert sorted(zip(*(array.tolist() for array in found), strict=True)) == sorted(
        zip(row.tolist(), group.tolist(), count.tolist(), strict=True)
    )
    single = Table(table.cells, table.kinds, table.paths, table.weights, table.loss)
    first = {int(line): at for at, line in enumerate(coded.row)}
    box = np.zeros_like(state.box[:1])
    bits = np.zeros_like(state.bits[:1])
    for g in range(int(group.max()) + 1):
        rows = [first[int(line)] for line in row[group == g]]
        each = total_loss(single, [rows]) / len(rows)
        assert state.cost[g] == pytest.approx(each, abs=1e-9)
        assert box_of(packed, state, g, box, bits) == pytest.approx(each, abs=1e-9)


@given(tables(least=2, most=25))
@settings(max_examples=60)
def test_near_rows_are_listed_nearest_first_without_doubles(table):
    coded = coded_of(table, 2)
    own, packed = pack_metric(coded.metric, coded.codes)
    near = list_near(own, packed, 6, orders_of(coded))
    for one, line in enumerate(near.tolist()):
        assert line[0] == -1
        listed = [other for other in line[1:] if other >= 0]
        assert len(set(listed)) == len(listed)
        assert one not in listed
        far = [distance(coded.metric, coded.codes[one], coded.codes[other]) for other in listed]
        assert far == sorted(far)
        assert len(listed) == min(6, coded.distinct - 1)
