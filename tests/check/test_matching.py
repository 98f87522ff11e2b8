"""The flow from original rows to published lines, against a matching record by record."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.check.matching import Nodes, _greedy, shared_codes, unmatched


def most_matched(edges, give, take):
    """The size of a largest matching, one record at a time by augmenting paths."""
    givers = [i for i, count in enumerate(give) for _ in range(count)]
    takers = [j for j, count in enumerate(take) for _ in range(count)]
    partner = {}

    def augment(one, seen):
        for number, taker in enumerate(takers):
            if (givers[one], taker) in edges and number not in seen:
                seen.add(number)
                if number not in partner or augment(partner[number], seen):
                    partner[number] = one
                    return True
        return False

    return sum(augment(one, set()) for one in range(len(givers)))


counts = st.lists(st.integers(1, 4), min_size=1, max_size=6)


@given(counts, counts, st.data())
def test_unmatched_records_are_what_no_matching_can_place(give, take, data):
    pairs = [(i, j) for i in range(len(give)) for j in range(len(take))]
    edges = data.draw(st.sets(st.sampled_from(pairs)))
    listed = sorted(edges, key=lambda edge: (edge[1], edge[0]))
    source = np.array([i for i, _ in listed], dtype=np.int32)
    target = np.array([j for _, j in listed], dtype=np.int32)
    nodes = [
        Nodes(np.arange(len(c) + 1), np.zeros(len(c), np.int64), np.array(c, dtype=np.int64))
        for c in (give, take)
    ]
    assert unmatched(*nodes, (source, target)) == sum(take) - most_matched(edges, give, take)


def test_a_first_assignment_that_got_stuck_is_mended():
    edges = [(0, 0), (3, 0), (2, 1), (3, 1), (1, 2), (1, 3), (2, 3)]
    ones = [1, 1, 1, 1]
    nodes = Nodes(np.arange(5), np.zeros(4, np.int64), np.array(ones, dtype=np.int64))
    source = np.array([i for i, _ in edges], dtype=np.int32)
    target = np.array([j for _, j in edges], dtype=np.int32)
    assert _greedy(source, target, nodes.records, nodes.records)[2].sum() == 1
    assert most_matched(set(edges), ones, ones) == 4
    assert unmatched(nodes, nodes, (source, target)) == 0


def test_large_counts_do_not_overflow():
    records = np.array([2**30, 2**30], dtype=np.int64)
    nodes = Nodes(np.arange(3), np.zeros(2, np.int64), records)
    ends = np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 0], dtype=np.int32)
    assert unmatched(nodes, nodes, ends) is None  # 2^31 records in all
    less = Nodes(nodes.start, nodes.other, records - 1)
    assert unmatched(less, less, ends) == 0


def test_values_are_compared_as_csv_would_write_them():
    from datetime import date, datetime

    typed = pl.DataFrame(
        {
            "a": [1, None, 3],
            "b": [1.5, 2.0, None],
            "c": [date(2020, 1, 1), None, date(2020, 1, 2)],
            "d": [True, False, None],
            "e": [datetime(2020, 1, 1, 5), None, datetime(2020, 1, 1, 6, 30)],
            "f": ["x, y", None, '"z"'],
        }
    )
    text = pl.read_csv(typed.write_csv().encode(), infer_schema=False)
    before, after = shared_codes(typed, text, typed.columns)
    assert before.tolist() == after.tolist()
    assert len(set(before.tolist())) == 3
