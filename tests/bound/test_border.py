"""The border bound on small tables of every kind, cut into parts, against all groups there can be."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from every_kind import Small
from shoal.bound import border
from shoal.bound.border import BoxSearch, again, cuts_of_text, prove_in_parts, search_for, text_of_cuts
from shoal.bound.loss import again as loss_again
from shoal.bound.own_box import prove_by_own_boxes
from shoal.group.parts.cut import cut_into_parts, parts_of
from shoal.kernels.distance.spans import distance
from shoal.kernels.parts.border import ways_out
from shoal.model.coded import Coded, pack
from shoal.model.column import LINE, Axis
from shoal.model.parts import Cuts
from shoal.model.task import Effort, Task


def cut(coded: Coded, seed: int) -> Cuts:
    """Cuts learnt from some of the rows, so that others fall anywhere."""
    random = np.random.default_rng([seed, 2])
    some = np.flatnonzero(random.random(coded.distinct) < 0.8)
    some = some if some.size else np.arange(coded.distinct)
    return cut_into_parts(coded.codes[some], coded.count[some], coded.metric, int(random.integers(1, 4)))


def ways(coded: Coded, cuts: Cuts) -> np.ndarray:
    out = np.empty(coded.distinct)
    ways_out(coded.codes, coded.metric, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child, out)
    return out


def check_one(seed: int) -> tuple[float, float, int]:
    """Bound <= optimum for one table in parts; the bound, the optimum and the parts."""
    small = Small(seed)
    coded = small.coded().plain
    best = small.least()
    cuts = cut(coded, seed)
    random = np.random.default_rng([seed, 3])
    task = Task(
        k=small.k, withhold=small.withhold, effort=Effort(level=("quick", "normal", "thorough")[seed % 3])
    )
    searches = [search_for(task, coded.total, 2, 9, 1.0), BoxSearch(99, 99, 10**6, 1)]
    searches.append(BoxSearch(*(int(random.integers(*ends)) for ends in ((1, 9), (1, 6), (0, 40))), 1))
    searches.append(BoxSearch(9, 3, 99, int(random.integers(2, 5)), float(random.random())))
    part = parts_of(coded.codes, cuts)
    out = ways(coded, cuts)
    for i in range(coded.distinct):  # no row outside is nearer than the way out
        for j in np.flatnonzero(part != part[i]):
            assert out[i] <= distance(coded.metric, coded.codes[i], coded.codes[j]) + 1e-12
    found = []
    for search in searches:
        parts = [(coded.codes[part == at], coded.count[part == at]) for at in range(cuts.parts)]
        proof = prove_in_parts(
            [partial(tuple, one) for one in parts], coded.metric, cuts, task, search, coded.total
        )
        assert proof.bound <= best + 1e-9
        words = {**dict(proof.parameters), "cuts": text_of_cuts(cuts)}
        once_more = loss_again(coded, task, proof.name, words)
        assert once_more is not None
        assert loss_again(coded, task, {"border": "border-drawn"}.get(proof.name, "border"), words) is None
        assert once_more.bound == pytest.approx(proof.bound, rel=1e-12)
        found.append(proof.bound)
    return max(found), best, cuts.parts


def test_no_bound_exceeds_the_optimum() -> None:
    found = [check_one(seed) for seed in range(100)]
    shares = [bound / best for bound, best, _ in found if best > 0]
    assert np.mean(shares) > 0.3  # a bound that says nothing would pass all else
    assert sum(parts > 1 for *_, parts in found) > 60


def test_quick_draws_rows_and_so_do_very_many_columns() -> None:
    quick, normal = (Task(k=10, effort=Effort(level=level)) for level in ("quick", "normal"))
    assert search_for(normal, 10**8, 8, 10**6, 0.5) == BoxSearch(32, 3, 3000, 1)
    assert [search_for(quick, n, 8, 10**6, 0.5).every for n in (10**5, 10**6, 10**7)] == [1, 4, 40]
    assert search_for(quick, 10**7, 8, 10**6, 0.5).cap == 1.0
    assert search_for(normal, 10**7, 25, 10**6, 0.5).every == 63
    assert search_for(replace(normal, k=50), 10**7, 8, 10**6, 0.5).most == 150


def test_what_is_drawn_stays_below_what_all_pay() -> None:
    """Of 200 draws with a chance of one in ten, hardly any is above, and few are far below."""
    random = np.random.default_rng(5)
    codes = np.unique(random.integers(0, 40, (4000, 2)).astype(np.int32), axis=0)
    count = random.integers(1, 4, len(codes))
    axis = Axis(LINE, 40, -1, 1.0, position=np.linspace(0.0, 1.0, 40))
    metric = pack([(axis, 1.0), (axis, 1.0)])
    cuts = cut_into_parts(codes, count, metric, int(count.sum()))
    every, total = BoxSearch(32, 3, 3000, 1), int(count.sum())
    all_pay = prove_in_parts([lambda: (codes, count)], metric, cuts, Task(k=10), every, total).bound
    some = replace(every, every=5, cap=2.0 * all_pay / total)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(border, "CHANCE", 0.1)
        draws = [
            prove_in_parts([lambda: (codes, count)], metric, cuts, Task(k=10, seed=seed), some, total)
            for seed in range(200)
        ]
    found = np.array([one.bound for one in draws]) / all_pay
    assert {one.name for one in draws} == {"border-drawn"}
    assert (found > 1.0).mean() <= 0.1
    assert 0.8 < found.mean() < 1.0
    assert len(set(found.tolist())) > 150  # seeds draw differently
    sure = prove_in_parts([lambda: (codes, count)], metric, cuts, Task(k=10), some, total)
    assert sure.bound < found.mean() * all_pay  # with the true chance it is more careful


@pytest.mark.slow
def test_no_bound_exceeds_the_optimum_on_2000_tables() -> None:
    for seed in range(1000, 3000):
        check_one(seed)


def test_a_table_in_one_part_has_its_own_boxes() -> None:
    small = Small(4)
    coded, task = small.coded().plain, Task(k=small.k)
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, coded.total)
    assert cuts.parts == 1
    assert np.isinf(ways(coded, cuts)).all()
    found = prove_in_parts(
        [lambda: (coded.codes, coded.count)], coded.metric, cuts, task, BoxSearch(9, 3, 99, 1), coded.total
    )
    known = prove_by_own_boxes(coded, task, most=9, deepest=3, looks=99, every=1)
    assert found.bound == pytest.approx(known.bound)
    assert prove_in_parts([], coded.metric, cuts, task, BoxSearch(9, 3, 99, 1), coded.total).bound == 0.0


def test_a_tree_of_cuts_is_read_back_or_refused() -> None:
    coded = Small(3).coded().plain
    cuts = cut(coded, 3)
    size = coded.metric.size
    assert cuts.parts > 1
    text = text_of_cuts(cuts)
    same = cuts_of_text(text, size)
    assert same is not None
    for name in ("axis", "first", "many", "edge", "child"):
        assert np.array_equal(getattr(same, name), getattr(cuts, name))
    assert cuts_of_text("", size) is None
    assert cuts_of_text("?", size) is None
    assert cuts_of_text(text[:8], size) is None
    inner = np.flatnonzero(cuts.axis >= 0)[:1]
    for name, value in (("axis", size.size), ("axis", -2), ("first", 10**6), ("many", 10**6), ("many", 0)):
        broken = getattr(cuts, name).copy()
        broken[inner] = value
        assert cuts_of_text(text_of_cuts(replace(cuts, **{name: broken})), size) is None, name
    for name, value in (("child", 0), ("child", 10**6), ("child", -1), ("edge", -5), ("edge", 3)):
        broken = getattr(cuts, name).copy()
        broken[cuts.first[inner]] = value
        assert cuts_of_text(text_of_cuts(replace(cuts, **{name: broken})), size) is None, name
    last = int(cuts.first[inner[0]] + cuts.many[inner[0]] - 1)
    for value in (size[cuts.axis[inner[0]]], 2**31, 2**62):  # no code: what stands there is not the table's
        broken = cuts.edge.copy()
        broken[last] = value
        assert cuts_of_text(text_of_cuts(replace(cuts, edge=broken)), size) is None
    words = {"most": 3.0, "deepest": 2.0, "looks": 9.0, "every": 1.0}
    task = Task(k=2)
    assert again(coded, task, cuts="?", **words) is None
    assert again(coded, task, cuts=text, **{**words, "every": 0.0}) is None
    assert again(coded, task, cuts=text, most=1.0) is None
    assert again(coded, task, cuts=text, **{**words, "every": 2.0}) is None  # without a cap
    assert again(coded, task, cuts=text, **words, cap=1.0) is None
