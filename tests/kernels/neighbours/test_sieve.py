"""The sieve of wide tables: it never takes a near row for a far one, and lists miss no nearer row."""

from __future__ import annotations

import numpy as np
import pytest

from every_kind import Small
from shoal.kernels.bound.own_boxes import listed_boxes
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.spans import distance
from shoal.kernels.neighbours import sieve as sieves
from shoal.kernels.neighbours import tiles as cut
from shoal.kernels.neighbours.sieve import BEYOND, distance_of, sift
from shoal.model.coded import Coded
from tables import coded_of, many_columns


@entry
def units_of(sieve, own, own_end, row, first, rows, bar, units):
    near = sift(sieve, own, own_end, row, first, rows, bar, units)
    return near, distance_of(sieve, float(bar))


def tables() -> list[Coded]:
    small = (Small(seed).coded() for seed in range(40))
    return [*(coded for coded in small if coded.metric.most.sum() > 0), coded_of(many_columns(700, 3), 5)]


@pytest.fixture(autouse=True)
def _all_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "NARROW", 0)
    monkeypatch.setattr(cut, "WIDE_TILE", 40)


@pytest.mark.parametrize("levels", [4, 1])
def test_units_are_never_more_than_the_distance(monkeypatch: pytest.MonkeyPatch, levels: int) -> None:
    monkeypatch.setattr(sieves, "LEVELS", levels)
    kept = []
    for coded in tables():
        tiles = cut.cut_tiles(coded.codes, coded.count, coded.metric)
        sieve, begin = tiles.sieve, tiles.begin
        units = np.empty(int(np.diff(begin).max()), dtype=np.uint16)
        for tile in range(begin.size - 1):
            first, last = begin[tile], begin[tile + 1]
            rows = last - first
            near, _ = units_of(sieve, begin[0], begin[1], 0, first, rows, np.uint16(BEYOND), units)
            assert near == rows
            far = np.array(
                [distance(coded.metric, tiles.codes[0], tiles.codes[at]) for at in range(first, last)]
            )
            assert (units[:rows] <= far * sieve.scale + sieve.slack).all()
            kept += [
                units[at] / far[at] / sieve.scale for at in range(rows) if far[at] > 0.1 * coded.weight
            ]
            bar = np.uint16(np.median(units[:rows]))
            before = units[:rows].copy()
            near, least = units_of(sieve, begin[0], begin[1], 0, first, rows, bar, units)
            assert near == np.sum(before < bar)
            assert (far[before >= bar] >= least - 1e-6 * coded.weight).all()
    assert np.mean(kept) > (0.98 if levels > 1 else 0.6)  # a sieve that sees nothing would pass all else


def test_no_row_that_is_left_out_is_nearer_than_the_radius() -> None:
    cuts = 0
    for coded in tables():
        if coded.total < 2:
            continue
        tiles = cut.cut_tiles(coded.codes, coded.count, coded.metric)
        most = max(1, min(30, tiles.place.size // 2))
        _, lists = listed_boxes(tiles, coded.metric, 2, most=most, deepest=2, looks=9)
        for row in range(tiles.place.size):
            far = np.array([distance(coded.metric, tiles.codes[row], its) for its in tiles.codes])
            listed = lists.row[row, : lists.many[row]]
            assert lists.far[row, : listed.size] == pytest.approx(far[listed], rel=1e-5, abs=1e-6)
            others = np.setdiff1d(np.arange(far.size), [*listed, row])
            assert (far[others] >= lists.radius[row]).all()
            cuts += others.size > 0 and lists.radius[row] > 0.9 * far[others].min()
    assert cuts > 500


@pytest.mark.parametrize("seed", range(20))
def test_the_level_of_a_tree_that_is_left_out_is_the_one_that_loses_least(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    gap = rng.choice([0.1, 0.2, 0.5, 0.7, 1.0], 30)
    one, other = rng.integers(0, 31, (2, 60))
    far = np.array([gap[min(a, b) : max(a, b)].max(initial=0.0) for a, b in zip(one, other, strict=True)])
    level = np.unique(gap)
    monkeypatch.setattr(sieves, "LEVELS", level.size - 1)

    def seen(some: np.ndarray) -> float:
        """What is left of all distances, each rounded down to one of some levels."""
        return sum(max((high for high in some if high <= its), default=0.0) for its in far)

    best = max(seen(np.delete(level, at)) for at in range(level.size))
    found = sieves._levels(gap, one, other)
    assert found.size == level.size - 1
    assert seen(found) == pytest.approx(best)
