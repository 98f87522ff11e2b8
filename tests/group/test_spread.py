from __future__ import annotations

import numpy as np
import pytest

import naive_geography as naive
from naive_geography import levels, tiny
from shoal.group.families.packing import order_of
from shoal.group.spread import spread, spread_simply


def against_brute_force(tables: int) -> None:
    random = np.random.default_rng(5)
    for _ in range(tables):
        weight, k = tiny(random)
        best = naive.least_largest(weight.tolist(), k)
        if best is None:
            continue
        found = levels(weight, spread(weight, k))
        assert min(found) >= k
        assert best <= max(found) <= 2.5 * best
        for order in ("sorted", "random"):
            simple = levels(weight, spread_simply(weight, order_of(weight, order, 3), k))
            assert min(simple) >= k
            assert best <= max(simple) <= 3 * best


def test_spread_holds_its_factor_against_brute_force() -> None:
    against_brute_force(200)


@pytest.mark.slow
def test_spread_holds_its_factor_against_brute_force_at_length() -> None:
    against_brute_force(1000)


def test_up_to_four_groups_of_light_labels_are_solved_exactly() -> None:
    random = np.random.default_rng(6)
    solved = 0
    for _ in range(300):
        k = int(random.integers(8, 30))
        weight = random.integers(1, k, size=8).astype(np.int64)
        if not 2 * k <= weight.sum() < 5 * k:
            continue
        greedy = 0
        held = 0
        for w in sorted(weight.tolist(), reverse=True):
            held += w
            if held >= k:
                greedy, held = greedy + 1, 0
        if held == 0 or greedy > 2:
            continue
        solved += 1
        assert max(levels(weight, spread(weight, k))) == naive.least_largest(weight.tolist(), k)
    assert solved > 50


def test_the_remainder_is_dealt_in_three_parts() -> None:
    # three full groups of 10, and a remainder of 9 in pieces of at most 5: case 1
    weight = np.array([5, 5, 5, 5, 5, 5, 3, 3, 3])
    assert max(levels(weight, spread(weight, 10))) == 13


def test_the_heaviest_label_is_swapped_into_the_remainder() -> None:
    # pairs of large labels and a lone large one that the heaviest can replace: case 2.1
    weight = np.array([9, 6, 6, 6, 6, 6, 6, 1])
    found = levels(weight, spread(weight, 10))
    assert sorted(found) == [10, 12, 12, 12]


def test_an_odd_number_of_large_labels_makes_one_triple() -> None:
    # nothing can lift a lone large label to k: case 2.2
    weight = np.array([6, 6, 6, 6, 6, 6, 6])
    assert sorted(levels(weight, spread(weight, 10))) == [12, 12, 18]


def test_light_labels_join_heavy_ones_where_they_cannot_stand_alone() -> None:
    weight = np.array([20, 12, 1, 2])
    assert sorted(levels(weight, spread(weight, 10))) == [15, 20]


def test_the_simple_variant_goes_round_once_the_largest_must_grow() -> None:
    weight = np.array([5, 5, 5, 5, 4, 4])
    order = np.arange(6)
    # two groups of 10; the fours go one to each
    assert sorted(levels(weight, spread_simply(weight, order, 10))) == [14, 14]
