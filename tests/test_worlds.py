"""The promises of a register, by enumeration of all worlds. What happens without them: test_traps.py."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from series_stories import MANY_CHANGES, NOTHING, expose_many, plan_of, tell


def test_nobody_is_exposed_by_any_series():
    found = expose_many(range(63))
    assert found.nobody, found
    assert found.releases > 200


@pytest.mark.parametrize("restless", [0.3, 0.9])
def test_nobody_is_exposed_where_many_move_inside_their_cells(restless):
    found = expose_many(range(21), restless)
    assert found.nobody, found
    assert found.releases > 60


@pytest.mark.slow
def test_nobody_is_exposed_by_ten_thousand_series():
    """Two processes; prints what was looked at: `pytest -m slow -s`."""
    shards = [range(1000 + start, 1000 + start + 250) for start in range(0, 10_000, 250)]
    restless = [(0.0, 0.3, 0.9)[place % 3] for place in range(len(shards))]
    os.environ["POLARS_MAX_THREADS"] = "1"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = sum(pool.map(expose_many, shards, restless), NOTHING)
    print(found)
    assert found.nobody, found
    assert found.series == 10_000


def test_with_all_guards_nobody_is_told_apart():
    values, refused = tell(range(8), plan_of(2), **MANY_CHANGES)
    assert (values.certain, values.few, values.uneven, values.given_up, refused) == (0, 0, 0, 0, 0)
