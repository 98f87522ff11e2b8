"""Pairs and triples that cost hardly too much: those that anyone would find one by one, from raw cells."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive import Table, total_loss
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.improve import pairs
from shoal.kernels.improve.pairs import NOBODY, list_pairs
from tables import coded_of, exact_table, tables


@given(
    tables(least=2, most=9, copies=True),
    st.sampled_from([0.0, 0.2, 1.0, 9.0]),
    st.integers(0, 99),
    st.booleans(),
)
@settings(max_examples=120)
def test_every_set_below_its_shares_and_some_more_is_listed_once(table, over, seed, some_gone):
    assume(sum(table.counts) >= 2)
    coded = coded_of(table, 2)
    luck = np.random.default_rng(seed)
    share = luck.random(coded.distinct)
    held = coded.count.copy()
    if some_gone:
        held[luck.integers(coded.distinct)] = 0
    own, packed = pack_metric(coded.metric, coded.codes)
    found = list_pairs(own, packed, held, share, over, 2_000)
    assert found is not None
    listed = {
        tuple(sorted(row for row in rows if row != NOBODY)): (loss, excess)
        for rows, loss, excess in zip(*(part.tolist() for part in found), strict=True)
    }
    assert len(listed) == found[1].size
    first = {int(line): at for at, line in enumerate(coded.row)}
    single = Table(table.cells, table.kinds, table.paths, table.weights, table.loss)
    for size in (2, 3):
        for rows in combinations_with_replacement(range(coded.distinct), size):
            loss = total_loss(single, [[first[row] for row in rows]])
            excess = loss - sum(share[row] for row in rows)
            if any(rows.count(row) > held[row] for row in rows):
                assert rows not in listed
            elif rows in listed:
                assert listed.pop(rows) == pytest.approx((loss, excess), abs=1e-9)
                assert excess < over + 1e-9
            else:
                assert excess > over - 1e-9
    assert not listed


def test_too_many_sets_or_looks_are_no_list(monkeypatch):
    coded = coded_of(exact_table(30, 3, missing=True), 2)
    own, packed = pack_metric(coded.metric, coded.codes)
    share = np.ones(coded.distinct)
    found = list_pairs(own, packed, coded.count, share, 9.0, 100_000)
    assert found is not None
    many = found[1].size
    assert list_pairs(own, packed, coded.count, share, 9.0, many) is not None
    assert list_pairs(own, packed, coded.count, share, 9.0, many - 1) is None
    monkeypatch.setattr(pairs, "LOOKS", 10)
    assert list_pairs(own, packed, coded.count, share, 9.0, many) is None
    assert list_pairs(own, packed, coded.count, share, -3.0, many) is not None  # hardly anything is near
