"""Pairs and triples chosen by a program: the best there are, and never worse than what stood."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive import Table, partitions, total_loss
from shoal.group.improve import choose, cycles
from shoal.group.improve.choose import choose_block
from shoal.group.improve.cycles import improve
from shoal.model.grouping import Grouping, Guide, Proof
from shoal.model.task import Effort, Task
from tables import coded_of, deal, exact_table, loss_of, tables


def chosen(coded, pieces, share, sets_per_row=200):
    *found, won = choose_block(coded.codes, coded.metric, *pieces, share, sets_per_row)
    return tuple(found), won


def least_of_pairs(table: Table) -> float:
    """The least loss of any groups of at least two records, each way to part them tried."""
    rows = [row for row, times in enumerate(table.counts) for _ in range(times)]
    single = Table(table.cells, table.kinds, table.paths, table.weights, table.loss)
    return min(
        total_loss(single, [[rows[at] for at in group] for group in groups])
        for groups in partitions(list(range(len(rows))), 2)
    )


@given(tables(least=2, most=6, copies=True), st.integers(0, 99))
@settings(max_examples=80)
def test_where_all_sets_are_listed_nothing_loses_less(table, seed):
    assume(4 <= sum(table.counts) <= 8)
    coded = coded_of(table, 2)
    pieces = deal(coded, 2, seed)
    found, won = chosen(coded, pieces, np.full(coded.distinct, 100.0))
    lost = loss_of(table, coded, *found)
    assert lost == pytest.approx(loss_of(table, coded, *pieces) - won, abs=1e-7)
    assert lost == pytest.approx(least_of_pairs(table), rel=1e-4, abs=1e-7)


@given(
    tables(least=4, most=24, copies=True),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.integers(1, 8),
    st.booleans(),
)
@settings(max_examples=120)
def test_whatever_the_shares_say_groups_are_whole_and_never_worse(table, seed, scale, sets, hides):
    assume(sum(table.counts) >= 2)
    coded = coded_of(table, 2)
    row, group, count = deal(coded, 2, seed)
    if hides and group.max() > 0:
        group = np.where(group == group.max(), -1, group).astype(np.int32)
    share = scale * np.random.default_rng(seed).random(coded.distinct)
    found, won = chosen(coded, (row, group, count), share, sets)
    before = loss_of(table, coded, row, group, count)
    assert won >= 0.0
    assert loss_of(table, coded, *found) == pytest.approx(before - won, abs=1e-7)
    assert found[2].min() >= 1
    assert np.bincount(found[1][found[1] >= 0], weights=found[2][found[1] >= 0]).min() >= 2
    held = np.bincount(found[0], weights=found[2], minlength=coded.distinct)
    assert held.tolist() == coded.count.tolist()
    hidden = [np.sort(rows[groups < 0]).tolist() for rows, groups in ((row, group), found[:2])]
    assert hidden[0] == hidden[1]


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_the_loss_changes_nothing(unit):
    coded = coded_of(exact_table(40, 2, missing=True), 2)
    pieces = deal(coded, 2, 0)
    share = np.full(coded.distinct, 0.5)
    metric = coded.metric._replace(data=coded.metric.data * unit, most=coded.metric.most * unit)
    found = choose_block(coded.codes, coded.metric, *pieces, share, 9)
    other = choose_block(coded.codes, metric, *pieces, share * unit, 9)
    assert found[3] > 0
    assert other[3] == pytest.approx(unit * found[3], rel=1e-4)


@pytest.mark.parametrize("many", [900, 10**9])
def test_rows_with_many_copies_make_few_groups(many):
    table = exact_table(40, 2, missing=True)
    coded = coded_of(table, 2)
    row, group, count = deal(coded, 2, 0)
    large = np.isin(np.arange(row.size), [0, 5])
    count = np.where(large, many, count)
    found, won = chosen(coded, (row, group, count), np.full(coded.distinct, 0.5), 9)
    assert won > 0
    assert found[0].size <= 3 * row.size
    held = [np.bincount(one, times, coded.distinct).tolist() for one, times in ((row, count), found[::2])]
    assert held[0] == held[1]
    assert np.bincount(found[1], weights=found[2]).min() >= 2


def test_of_sets_that_cost_the_same_as_many_are_listed_as_are_wanted():
    coded = coded_of(Table({"label": [*"abcdefgh"]}, {"label": "label"}), 2)
    listed = choose._listed(coded.codes, coded.metric, coded.count, np.full(8, 0.1), 2)
    assert listed is not None
    assert len(listed[0]) == 16


@pytest.mark.parametrize("share", [5e-324, 1e-300])
def test_shares_that_say_next_to_nothing_are_no_unit(share):
    coded = coded_of(exact_table(40, 2, missing=True), 2)
    pieces = deal(coded, 2, 0)
    _, won = chosen(coded, pieces, np.full(coded.distinct, share), 9)
    assert won >= 0.0


def test_what_is_taken_several_times_is_one_group():
    coded = coded_of(exact_table(2, 2, missing=False), 2)
    row, group = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1], dtype=np.int32)
    found, won = chosen(coded, (row, group, np.array([4, 4, 4, 4])), np.full(coded.distinct, 0.5), 9)
    assert won > 0
    assert {row: count for row, _, count in zip(*(part.tolist() for part in found), strict=True)} == {
        0: 8,
        1: 8,
    }


@pytest.mark.parametrize("kind", ["nothing", "too few"])
def test_a_program_that_fails_changes_nothing(monkeypatch, kind):
    import scipy.optimize

    real = scipy.optimize.milp

    def failing(*given, **more):
        found = real(*given, **more)
        found.x = None if kind == "nothing" else np.zeros_like(found.x)
        return found

    monkeypatch.setattr(scipy.optimize, "milp", failing)
    coded = coded_of(exact_table(40, 2, missing=True), 2)
    pieces = deal(coded, 2, 0)
    found, won = chosen(coded, pieces, np.full(coded.distinct, 0.5), 9)
    assert won == 0.0
    assert all((now == then).all() for now, then in zip(found, pieces, strict=True))


def test_too_many_sets_are_looked_for_again_with_less(monkeypatch):
    coded = coded_of(exact_table(40, 2, missing=True), 2)
    pieces = deal(coded, 2, 0)
    asked = []
    real = choose.list_pairs

    def counting(*given):
        asked.append(given[4])
        return real(*given)

    monkeypatch.setattr(choose, "list_pairs", counting)
    assert chosen(coded, pieces, np.full(coded.distinct, 0.5), 1)[1] >= 0.0
    assert len(asked) > 1
    assert asked == sorted(asked, reverse=True)
    monkeypatch.setattr(choose, "list_pairs", lambda *_: None)
    assert chosen(coded, pieces, np.full(coded.distinct, 0.5), 1)[1] == 0.0


@pytest.mark.parametrize(
    ("effort", "k", "share", "rows", "blocks"),
    [
        ("normal", 2, 0.5, 40, 1),
        ("thorough", 2, 0.5, 40, 2),
        ("normal", 2, 0.5, 39, 0),
        ("quick", 2, 0.5, 40, 0),
        ("steps=9", 2, 0.5, 40, 0),
        ("normal", 3, 0.5, 40, 0),
        ("normal", 2, None, 40, 0),
        ("normal", 2, 0.01, 40, 0),  # far less than the bound, as where near rows proved it
    ],
)
def test_programs_choose_pairs_where_a_level_has_time_and_shares_are_known(
    monkeypatch, effort, k, share, rows, blocks
):
    coded = coded_of(exact_table(40, 2, missing=True), k)
    seen = []

    def counting(*given):
        seen.append(given)
        return choose_block(*given)

    monkeypatch.setattr(cycles, "choose_block", counting)
    programs = {level: of._replace(most=rows) for level, of in cycles.PROGRAMS.items()}
    monkeypatch.setattr(cycles, "PROGRAMS", programs)
    assert coded.total < 100
    guide = None if share is None else Guide(np.full(coded.distinct, share), 9.0)
    proof = Proof("none", 10.0, guide=guide)
    before = Grouping.of_pieces(*deal(coded, k, 0), proof=proof)
    after = improve(coded, before, Task(k=k, effort=Effort.parse(effort)))
    assert len(seen) == blocks
    assert after.sizes.min() >= k
    enough = improve(coded, before, Task(k=k, effort=Effort.parse(effort), stop_at=1e12))
    assert len(seen) == blocks
    assert enough.groups == before.groups
