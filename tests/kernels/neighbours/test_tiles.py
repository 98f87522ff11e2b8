"""Lists of near rows by tiles: whichever rows of a tile are asked, no nearer row is left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from every_kind import Small
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.single import slack_for
from shoal.kernels.distance.spans import distance
from shoal.kernels.neighbours import tiles as cut
from shoal.kernels.neighbours.tiles import cut_tiles, listing_for, near_lists
from shoal.model.coded import Metric, pack
from shoal.model.column import LINE, Axis
from tables import coded_of, many_columns


@entry
def list_them(tiles, metric, tile, asked, most, listing):
    near_lists(tiles, metric, tile, asked, most, listing)


def tables() -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64], Metric]]:
    for coded in (*(Small(seed).coded() for seed in range(12)), coded_of(many_columns(400, 3), 5)):
        if coded.metric.most.sum() > 0:
            yield coded.codes, coded.count, coded.metric
    line = Axis(LINE, 300, -1, 1.0, position=np.linspace(0.0, 1.0, 300))
    codes = np.unique(np.random.default_rng(2).integers(0, 300, (900, 2)).astype(np.int32), axis=0)
    yield codes, np.ones(len(codes), dtype=np.int64), pack([(line, 1.0), (line, 2.0)])


@pytest.mark.parametrize("narrow", [99, 0], ids=["tiles", "sieve"])
def test_rows_that_are_asked_by_themselves_miss_no_nearer_row(
    narrow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cut, "NARROW", narrow)
    for word in ("TILE", "WIDE_TILE"):
        monkeypatch.setattr(cut, word, 40)
    luck = np.random.default_rng(3)
    left_out = 0
    for codes, count, metric in tables():
        tiles = cut_tiles(codes, count, metric)
        apart = np.array([[distance(metric, one, other) for other in tiles.codes] for one in tiles.codes])
        most = max(1, min(12, tiles.place.size // 3))
        listing = listing_for(tiles, most)
        for tile in range(tiles.begin.size - 1):
            rows = np.arange(tiles.begin[tile], tiles.begin[tile + 1])
            asked = np.sort(luck.permutation(rows)[: int(luck.integers(1, 5))])
            list_them(tiles, metric, tile, asked, most, listing)
            for q, row in enumerate(asked):
                listed = listing.who[q, : listing.many[q]]
                far = listing.far[q, : listed.size]
                assert far == pytest.approx(apart[row, listed], rel=1e-5, abs=1e-6)
                others = np.setdiff1d(np.arange(tiles.place.size), [*listed, row])
                assert (
                    apart[row, others] >= listing.limit[q] - slack_for(metric.most.size, metric.most.sum())
                ).all()
                left_out += others.size
    assert left_out > 5000
