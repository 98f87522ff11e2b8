from __future__ import annotations

import numpy as np
import pytest

from naive_clusters import threshold
from shoal.group.threshold import group
from shoal.model.task import Task
from tables import coded_of, exact_table


def groups_of(grouping) -> set[tuple[int, ...]]:
    return {tuple(np.flatnonzero(grouping.group == at).tolist()) for at in range(grouping.groups)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limit", [0.125, 0.3])
def test_groups_are_those_of_the_plain_definition(seed: int, limit: float) -> None:
    table = exact_table(32, seed, missing=bool(seed % 2))
    coded = coded_of(table, 3)
    order = np.random.default_rng(seed).permutation(table.rows).tolist()
    plain = threshold(table, order, limit * table.weight)
    whole = {tuple(sorted(rows)) for rows in plain if len(rows) >= 3}
    task = Task(k=3, seed=seed, withhold=table.rows, options={"threshold": limit})
    found = groups_of(group(coded, task))
    if whole:
        # rows of dropped groups may have joined: every whole group is inside a found one
        assert len(found) == len(whole)
        assert all(any(set(rows) <= set(its) for its in found) for rows in whole)
    else:
        assert found == {tuple(range(table.rows))}


def test_rows_of_dropped_groups_are_kept_beyond_the_quota() -> None:
    table = exact_table(40, 3, missing=False)
    coded = coded_of(table, 4)
    for quota in (0, 5):
        grouping = group(coded, Task(k=4, withhold=quota, options={"threshold": 0.05}))
        assert grouping.withheld <= quota
        assert grouping.sizes.min() >= 4
