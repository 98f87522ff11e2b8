"""Rules, boxes and trades of the kernels, against lists and brute force."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from ruled_tables import RULES, obeys, with_rules
from shoal.encode import encode
from shoal.group.rules.enforce import MODES, _enforce, _labels, _trade
from shoal.group.rules.pieces import RuledPieces, strata_of
from shoal.kernels.rules.enforce import lack_together
from shoal.kernels.rules.grow import grow_mixed
from shoal.kernels.rules.strata import cut_strata
from shoal.kernels.rules.violation import make_tallies
from shoal.model.plan import Plan
from shoal.model.task import Task

Row = dict[str, Any]


def table_of(luck: random.Random, rows: int) -> list[Row]:
    return [
        {
            "age": luck.choice([1, 2, 5, 9, 20, None]),
            "town": luck.choice("abcd"),
            "illness": luck.choice(["flu", "flu", "cold", "ulcer", "reflux", None]),
            "cost": luck.choice([10, 20, 25, 90]),
        }
        for _ in range(rows)
    ]


def ruled_of(rows: list[Row], rules: tuple[str, ...], k: int) -> RuledPieces:
    """The rows as pieces of one record each, in their order."""
    frame = pl.DataFrame(rows, schema_overrides={"age": pl.Int64, "illness": pl.String})
    words = with_rules({"quasi": ("age", "town"), "sensitive": ("illness", "cost")}, rules)
    coded = encode(frame, Plan(k=k, kinds={"age": "number", "town": "label"}, **words))
    assert coded.held is not None
    order = np.asarray(coded.row, dtype=np.int64)
    return RuledPieces.of(coded, coded.held, order, np.ones(order.size, dtype=np.int64), Task(k=k))


def loss(rows: list[Row], everyone: list[Row]) -> float:
    """What a group gives up, in plain words: a mix with missing counts as the whole column."""
    ages = {row["age"] for row in rows}
    all_ages = {row["age"] for row in everyone} - {None}
    known = ages - {None}
    lost = 1.0 if None in ages and known else 0.0
    if None not in ages and len(all_ages) > 1:
        lost = (max(known) - min(known)) / (max(all_ages) - min(all_ages))
    towns = len({row["town"] for row in everyone}) - 1
    return len(rows) * (lost + (len({row["town"] for row in rows}) - 1) / max(towns, 1))


@pytest.mark.parametrize("rule", RULES)
def test_a_group_lacks_nothing_exactly_where_the_rule_holds(rule: str) -> None:
    luck = random.Random(rule)
    seen = set()
    for _ in range(60):
        rows = table_of(luck, luck.randint(2, 24))
        group = np.array([luck.randint(0, 2) for _ in rows])
        ruled = ruled_of(rows, (rule,), 2)
        chains, tallies = ruled.chains(group, 3), make_tallies(ruled.rules)
        for one, other in product(range(3), repeat=2):
            mine = [row for row, at in zip(rows, group, strict=True) if at in {one, other}]
            if not mine or not any(group == one) or not any(group == other):
                continue
            lack = lack_together(*ruled.table, chains, one, other, False, tallies)
            assert (lack <= 0) == obeys(mine, rows, rule)
            seen.add(lack <= 0)
            assert not tallies.records.any()
    assert seen == {True, False} or rule == "illness: 0-close"


def groups_of(rows: list[Row], label: np.ndarray) -> list[list[Row]]:
    return [[row for row, at in zip(rows, label, strict=True) if at == g] for g in sorted(set(label))]


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_remedy_is_taken(seed: int) -> None:
    # group 0 has one illness, group 1 several; whatever gives it a second one is a full remedy
    luck = random.Random(seed)
    rule, k = "illness: 2-diverse", luck.choice([2, 3])
    rows = table_of(luck, 9)
    label = np.array([0] * 4 + [1] * 5)
    for row in rows[:4]:
        row["illness"] = "flu"
    for at, ill in enumerate(["flu", "flu", "cold", "ulcer", "cold"]):
        rows[4 + at]["illness"] = ill
    ruled = ruled_of(rows, (rule,), k)
    best = loss(rows, rows)  # one group
    for give, take in product([None, *range(4)], [None, *range(4, 9)]):
        now = label.copy()
        if give is not None:
            now[give] = 1
        if take is not None:
            now[take] = 0
        groups = groups_of(rows, now)
        if all(len(its) >= k and obeys(its, rows, rule) for its in groups):
            best = min(best, sum(loss(its, rows) for its in groups))
    chains = ruled.chains(label, 2)
    assert _enforce(ruled, chains, np.arange(2), MODES["exchange"], 0) == 0
    found = groups_of(rows, _labels(chains))
    assert all(len(its) >= k and obeys(its, rows, rule) for its in found)
    assert sum(loss(its, rows) for its in found) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("inside", [False, True])
def test_trades_lose_less_and_keep_rules_sizes_and_records(seed: int, inside: bool) -> None:
    luck = random.Random(seed)
    rules = ("illness: 2-diverse", "cost: ordered 0.5-close")
    rows = table_of(luck, 60)
    ruled = ruled_of(rows, rules, 3)
    label = np.arange(60) % 6
    if not all(obeys(its, rows, rule) for its in groups_of(rows, label) for rule in rules):
        label[:] = 0
    before = sum(loss(its, rows) for its in groups_of(rows, label))
    traded = _trade(ruled, label, np.random.default_rng(seed), 6, inside)
    found = groups_of(rows, traded)
    after = sum(loss(its, rows) for its in found)
    assert after <= before + 1e-9
    assert after == pytest.approx(ruled.loss(traded))
    assert sum(map(len, found)) == 60
    assert all(len(its) >= 3 and obeys(its, rows, rule) for its in found for rule in rules)
    if inside and len(set(label)) > 1:
        assert after < before


@pytest.mark.parametrize("seed", range(8))
def test_groups_that_are_grown_or_cut_obey(seed: int) -> None:
    luck = random.Random(seed)
    rules = (luck.choice(["illness: 0.2-close", "illness: 3-diverse"]), "cost: ordered 0.4-close")
    rows = table_of(luck, 120)
    ruled = ruled_of(rows, rules, 4)
    strata, exact = strata_of(ruled.value, ruled.rules, ruled.row)
    assert exact
    cut = cut_strata(*ruled.table, ruled.row, ruled.held, strata, 4)
    seeds = np.random.default_rng(seed).permutation(120)
    grown, many = grow_mixed(*ruled.table, ruled.row, ruled.held, strata, seeds, 4)
    assert many == len(set(grown[grown >= 0])) > 1
    assert len(set(cut)) > 1
    for label in (cut, grown):
        for its in groups_of([r for r, at in zip(rows, label, strict=True) if at >= 0], label[label >= 0]):
            assert len(its) >= 4
            assert all(obeys(its, rows, rule) for rule in rules)
