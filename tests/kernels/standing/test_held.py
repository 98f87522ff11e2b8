"""Counts in a tree of points, by kernel and by judge, beside a count of all; the least box of a group."""

from __future__ import annotations

import numpy as np
import pytest

from series_stories import frame_of, plan_of, story
from shoal.check.inside import hold
from shoal.encode import encode
from shoal.group.standing import cells
from shoal.group.standing.cells import _boxes, _order, _present
from shoal.kernels.standing.held import all_hold
from shoal.model.standing import ground_of
from shoal.run.register import of_rows


def grounds(seed):
    """Rows with random cuts around them."""
    luck = np.random.default_rng(seed)
    plan = of_rows(plan_of(3))
    coded = encode(frame_of(story(seed, people=60, missing=0.1)[0]).drop("who", "ill"), plan)
    rows = len(coded.row)
    ends = np.sort(luck.integers(-1, 13, (20, 2)), axis=1).astype(float)
    ends[0] = -np.inf, np.inf
    cut = luck.integers(-1, 20, (rows, 2)).astype(np.int32)
    ground = ground_of(coded, cut, [ends, ends], b"key")
    since, stay = luck.integers(1, 4, rows).astype(np.int32), luck.integers(1, 4, rows).astype(np.int32)
    order, first, index = _order(ground, stay)
    return ground.at(order), since[order], stay[order], first, index


def counted(ground, stay, low, high, since, i):
    """How many share a box of row i: itself, and those who were there as long."""
    inside = (ground.points >= low) & (ground.points <= high)
    as_long = stay <= since
    as_long[i] = True
    return int((inside.all(axis=1) & as_long).sum())


@pytest.mark.parametrize("seed", range(6))
def test_kernel_and_judge_count_alike(seed):
    ground, since, stay, *tree = grounds(seed)
    for k in (1, 2, 3, 7):
        ours = [
            counted(ground, stay, ground.low[i], ground.high[i], since[i], i) >= k
            for i in range(len(since))
        ]
        present = _present(ground, since, stay, *tree)
        everybody, need = np.arange(len(since)), k - (stay > since)
        assert all_hold(present, everybody, ground.low, ground.high, k).tolist() == ours
        assert hold(ground.points, stay, ground.low, ground.high, since, need).tolist() == ours


@pytest.mark.parametrize("seed", range(6))
def test_those_in_a_cut_are_listed_where_they_are_few(seed, monkeypatch):
    monkeypatch.setattr(cells, "FEW", 8)
    ground, since, stay, *tree = grounds(seed)
    present = _present(ground, since, stay, *tree)
    for i in np.flatnonzero(~ground.is_free):
        inside = (ground.points >= ground.low[i]) & (ground.points <= ground.high[i])
        there = np.flatnonzero(inside.all(axis=1) & (stay <= since[i]))
        few = present.few[present.own[i]]
        assert few == (there.size if there.size <= 8 else -1)
        assert few < 0 or sorted(present.within[present.own[i], :few]) == there.tolist()


@pytest.mark.parametrize("few", [64, 3, 0])
@pytest.mark.parametrize("seed", range(6))
def test_a_box_holds_its_rows_and_shows_nobody_more_finely_than_allowed(seed, few, monkeypatch):
    monkeypatch.setattr(cells, "FEW", few)  # those in a cut are listed, some or none of them
    ground, since, stay, *tree = grounds(seed)
    luck = np.random.default_rng(seed)
    label = luck.permutation(np.arange(len(since)) // 4).astype(np.int64)
    present = _present(ground, since, stay, *tree)
    low, high, wider = _boxes(ground, present, label, 3)
    for i, group in enumerate(label):
        assert (low[group] <= ground.points[i]).all()
        assert (high[group] >= ground.points[i]).all()
        if ground.is_free[i]:
            continue
        no_finer = (low[group] <= ground.out_low[i]).all() and (high[group] >= ground.out_high[i]).all()
        cut = np.maximum(low[group], ground.low[i]), np.minimum(high[group], ground.high[i])
        assert no_finer or counted(ground, stay, *cut, since[i], i) >= 3
    for group in range(len(low)):
        points = ground.points[label == group]
        is_least = (low[group] == points.min(axis=0)).all() and (high[group] == points.max(axis=0)).all()
        mixed = (high[group] == np.array([c.axes[0].missing for c in ground.columns])).any()
        assert is_least or wider[group] or mixed
