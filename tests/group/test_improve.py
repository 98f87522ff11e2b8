from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive import Table, assert_sound, least_loss, total_loss
from shoal.bound import value_of
from shoal.encode import encode
from shoal.group import fill_options, k_member, load
from shoal.group.improve import cycles
from shoal.group.improve.blocks import cut_blocks
from shoal.group.improve.cycles import _near_within, improve
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task, quota
from tables import PATHS, coded_of, exact_table, tables


def lost(table: Table, coded: Coded, grouping: Grouping) -> float:
    """The loss by raw cells; groups as lists of rows, copies split as the grouping says."""
    row_of = {int(line): row for row, line in enumerate(coded.row)}
    total = 0.0
    for group in set(grouping.group.tolist()):
        inside = grouping.group == group
        rows = [row_of[int(line)] for line in grouping.distinct[inside]]
        records = int(grouping.count[inside].sum())
        single = Table(table.cells, table.kinds, table.paths, table.weights, table.loss)
        each = total_loss(single, [rows]) / len(rows)
        total += records * (table.weight if group < 0 else each)
    return total


def any_grouping(coded: Coded, k: int, withhold: int, seed: int) -> Grouping:
    """Records dealt at random into groups of at least k; some withheld."""
    random = np.random.default_rng(seed)
    records = random.permutation(np.repeat(np.arange(coded.distinct), coded.count))
    out = int(random.integers(min(withhold, records.size - k) + 1))
    kept = records.size - out
    groups = int(random.integers(1, kept // k + 1))
    label = np.r_[np.full(out, -1), np.minimum(np.arange(kept) // k, groups - 1)]
    return Grouping.of_pieces(records, label, np.ones(records.size, dtype=np.int64))


small = tables(least=2, most=12, copies=True)


@given(small, st.integers(2, 4), st.floats(0, 0.5), st.integers(0, 99), st.sampled_from([0, 2, 256]))
@settings(max_examples=120)
def test_loss_never_rises_and_every_rule_is_kept(table, k, share, seed, codes):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    withhold = quota(share, coded.total)
    before = any_grouping(coded, k, withhold, seed)
    with pytest.MonkeyPatch.context() as patch:  # spans of few codes stand in tables, others are measured
        patch.setattr("shoal.kernels.distance.packed.MOST_PAIRS", codes)
        after = improve(coded, before, Task(k=k, withhold=withhold, seed=seed))
    assert_sound(after, coded, k, withhold)
    assert lost(table, coded, after) <= lost(table, coded, before) + 1e-9


def test_a_last_step_that_loses_is_not_taken(monkeypatch):
    def worse(_codes, _metric, row, group, count, *_):
        return row, np.zeros_like(group), count, -1.0

    coded = coded_of(exact_table(60, 2, missing=False), 2)
    before = any_grouping(coded, 2, 0, 1)
    monkeypatch.setattr(cycles, "finish_block", worse)
    assert improve(coded, before, Task(k=2, effort=Effort(level=None, steps=50))).groups > 1


@given(tables(least=20, most=60, copies=True), st.integers(2, 5), st.integers(0, 99))
@settings(max_examples=30)
def test_many_blocks_keep_the_rules_too(table, k, seed):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    before = any_grouping(coded, k, 3, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.group.improve.cycles.BLOCK", 15)
        after = improve(coded, before, Task(k=k, withhold=3, seed=seed))
    assert_sound(after, coded, k, 3)
    assert lost(table, coded, after) <= lost(table, coded, before) + 1e-9


def test_no_steps_at_all_end_too():
    table = Table({"number0": [0, 9, 1, 8]}, {"number0": "number"})
    coded = coded_of(table, 2)
    before = Grouping.of_pieces(coded.row.astype(np.int32), np.array([0, 0, 1, 1]), np.ones(4, np.int64))
    after = improve(coded, before, Task(k=2, effort=Effort(level=None, steps=0)))
    assert after.steps == 0
    assert lost(table, coded, after) <= lost(table, coded, before)


def test_a_search_that_ends_hot_gives_the_best_round_and_not_the_last():
    random = np.random.default_rng(5)
    table = Table({"number0": random.integers(0, 10_000, 300).tolist()}, {"number0": "number"})
    coded = coded_of(table, 3)
    order = np.argsort(coded.codes[:, 0], kind="stable")
    label = np.empty(coded.distinct, dtype=np.int32)
    label[order] = np.minimum(np.arange(coded.distinct) // 3, coded.distinct // 3 - 1)
    before = Grouping.of_labels(label, coded.count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.group.improve.cycles.RECORDS", 0.001)
        patch.setattr("shoal.group.improve.cycles.ROUND", 2000.0)
        after = improve(coded, before, Task(k=3, effort=Effort(level=None, steps=300), seed=1))
    assert_sound(after, coded, 3, 0)
    assert lost(table, coded, after) <= lost(table, coded, before) + 1e-9


@given(small, st.integers(2, 4), st.integers(0, 99))
@settings(max_examples=50)
def test_the_number_of_threads_changes_nothing(table, k, seed):
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k)
    before = any_grouping(coded, k, 2, seed)
    one, two = (
        improve(coded, before, Task(k=k, withhold=2, seed=seed, threads=threads)) for threads in (1, 2)
    )
    assert one.group.tolist() == two.group.tolist()
    assert one.distinct.tolist() == two.distinct.tolist()
    assert one.count.tolist() == two.count.tolist()


@given(tables(least=2, most=7), st.integers(2, 3), st.integers(0, 2))
@settings(max_examples=60)
def test_no_improvement_beats_the_optimum(table, k, withhold):
    assume(table.rows >= k)
    coded = coded_of(table, k)
    task = Task(k=k, withhold=withhold)
    after = improve(coded, load("k-member").group(coded, task), task)
    assert lost(table, coded, after) >= least_loss(table, k, withhold) - 1e-9


def test_a_dear_row_is_withheld_and_a_cheap_one_given_back():
    table = Table({"number0": [0, 0, 1, 1, 100, 1]}, {"number0": "number"})
    coded = coded_of(table, 2)
    rows = coded.row.astype(np.int32)
    label = np.array([0, 0, 1, 1, 1, -1])
    before = Grouping.of_pieces(rows, label, np.ones(6, dtype=np.int64))
    after = improve(coded, before, Task(k=2, withhold=1))
    assert lost(table, coded, after) == 1.0
    assert after.withheld == 1
    assert after.distinct[after.group == -1].tolist() == [2]


def test_blocks_hold_every_item_once():
    random = np.random.default_rng(3)
    middle = random.integers(0, 17, (200, 3))
    parts = cut_blocks(middle, np.ones(200, dtype=np.int64), 16, random)
    assert sorted(np.concatenate(parts).tolist()) == list(range(200))
    assert max(part.size for part in parts) <= 16


def random_coded(rows: int) -> Coded:
    random = np.random.default_rng(1)
    cells = {f"number{a}": random.integers(0, 30, rows).tolist() for a in range(3)}
    return coded_of(Table(cells, dict.fromkeys(cells, "number")), 3)


def pieces_of(grouping: Grouping) -> list[list[int]]:
    return [grouping.distinct.tolist(), grouping.group.tolist(), grouping.count.tolist()]


def test_a_run_in_seconds_repeats_with_the_steps_it_records(monkeypatch):
    monkeypatch.setattr("shoal.group.improve.cycles.PATIENCE", 10_000)
    monkeypatch.setattr("shoal.group.improve.cycles.ROUND", 5_000)
    coded = random_coded(400)
    before = load("k-member").group(coded, Task(k=3))
    timed = improve(coded, before, Task(k=3, effort=Effort(level=None, seconds=0.2)))
    again = improve(coded, before, Task(k=3, effort=Effort(level=None, steps=timed.steps)))
    assert timed.steps > 0
    assert pieces_of(again) == pieces_of(timed)


def test_more_effort_loses_less_and_progress_falls():
    coded = random_coded(600)
    before = load("k-member").group(coded, Task(k=3))
    said: list[str] = []
    losses = []
    for level in ("quick", "normal"):
        task = Task(k=3, effort=Effort(level), progress=lambda what, share: said.append(what))
        losses.append(value_of("loss", coded, improve(coded, before, task)))
    assert losses[1] < losses[0] < value_of("loss", coded, before)
    assert all(what.startswith("improving, loss ") for what in said)


def test_it_stops_at_the_ratio_that_is_enough():
    coded = random_coded(300)
    before = load("k-member").group(coded, Task(k=3))
    loss = value_of("loss", coded, before)
    proved = replace(before, proof=Proof("none", loss / 1.5))
    kept = improve(coded, proved, Task(k=3, stop_at=1.6))
    assert pieces_of(kept) == pieces_of(before)
    assert kept.steps == 0
    better = improve(coded, proved, Task(k=3, stop_at=1.2))
    assert value_of("loss", coded, better) < loss


def test_a_table_of_many_columns_is_improved_in_a_moment() -> None:
    # a pool of wide rows has millions of boxes: without an end to the looking this runs for minutes
    rng = np.random.default_rng(0)
    columns = {f"n{at}": rng.integers(0, 50, 300) for at in range(12)}
    columns |= {f"l{at}": rng.choice(list("abcdef"), 300) for at in range(13)}
    coded = encode(pl.DataFrame(columns), Plan(k=5, quasi=tuple(columns)))
    task = Task(k=5, effort=Effort.parse("steps=60"))
    before = k_member.group(coded, replace(task, options=fill_options("k-member", {})))
    after = improve(coded, before, task)
    assert after.sizes.min() >= 5
    assert value_of("loss", coded, after) <= value_of("loss", coded, before)


def test_near_rows_of_a_block_are_those_that_stand_in_it() -> None:
    near = np.array([[-1, 1, 3], [-1, 0, 2], [-1, 3, 1], [-1, 2, -1]])
    found = _near_within(near, np.array([1, 2, 3]))
    assert found.tolist() == [[-1, 1, -1], [-1, 2, 0], [-1, 1, -1]]
    assert near[0].tolist() == [-1, 1, 3]


def first_round(kinds: tuple[str, ...], level: str, k: int) -> tuple[int, float]:
    """Steps and heat of the first round of a search, of a table of such columns."""
    random = np.random.default_rng(4)
    values = {"number": list(range(7)), "label": ["red", "green", "blue", "grey"], "tree": [*"abcdefg"]}
    cells = {f"{kind}{at}": random.choice(values[kind], 60).tolist() for at, kind in enumerate(kinds)}
    paths = {name: PATHS for name in cells if name.startswith("tree")}
    table = Table(cells, {name: name[:-1] for name in cells}, paths)
    coded = coded_of(table, k)
    seen = []

    class OneRoundIsEnough(Exception): ...

    def see(*words):
        seen.append((words[-1].steps, words[-1].heat))
        raise OneRoundIsEnough

    before, task = any_grouping(coded, k, 0, 1), Task(k=k, effort=Effort(level=level))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "_start", see)
        with pytest.raises(OneRoundIsEnough):
            improve(coded, before, task)
    return seen[0]


@pytest.mark.parametrize("other", [("number",), ("label",), ("tree", "number"), ("label", "tree")])
def test_a_table_of_trees_alone_is_searched_longer_and_with_more_heat(other):
    mild, hot = first_round(other, "thorough", 10), first_round(("tree", "tree"), "thorough", 10)
    assert hot[1] == pytest.approx(2 * mild[1]) == pytest.approx(2.0)
    assert first_round(("tree",), "thorough", 10) == hot
    assert first_round(("tree",), "thorough", 5)[1] == pytest.approx(1.0)  # groups are small
    few, more = first_round(other, "quick", 10), first_round(("tree", "tree"), "quick", 10)
    assert few[0] < more[0] <= 7 * few[0] + 7  # rounding
    assert few[1] < more[1] < hot[1]


def test_an_effort_stands_for_more_steps_where_every_column_is_a_tree():
    for level, longer in cycles.LONGER.items():
        given = {"effort": Effort(level=level), "k": 50, "groups": 600}
        some, more = cycles.steps_of(**given), cycles.steps_of(**given, of_trees=True)
        assert longer * some <= more <= longer * (some + 1)
    assert cycles.steps_of(Effort.parse("steps=100"), k=5, groups=9, of_trees=True) == 100


@pytest.mark.parametrize(
    ("level", "most", "ends"), [("quick", 40, 1), ("quick", 10, 0), ("normal", 10, 1), ("thorough", 10, 1)]
)
def test_every_search_ends_with_boxes_filled_anew_but_a_quick_one_of_a_large_table(level, most, ends):
    coded = coded_of(exact_table(40, 1, missing=True), 3)
    seen = []
    finish = cycles.finish_block
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "FINISHED", most)
        patch.setattr(cycles, "finish_block", lambda *words: seen.append(1) or finish(*words))
        improve(coded, any_grouping(coded, 3, 0, 1), Task(k=3, effort=Effort(level=level)))
    assert len(seen) == ends
