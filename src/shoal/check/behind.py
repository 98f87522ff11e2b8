"""Who can stand behind each line of a release of a register, from its files, its table and two states.

No file tells. A person can stand behind a line of his school whose cells cover his values, and with which
all cells shown of him tell just what the new state says. Where everybody can be given a line of his own,
that is as good as the truth: no file is another then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.series import schools_of, shown_of
from shoal.model.coded import Coded
from shoal.model.plan import Plan
from shoal.model.register import RegisterState
from shoal.model.standing import Codes, Ground, ground_of

__all__ = ["find_lines"]

AT_A_TIME = 1 << 20
"""Pairs of a person and a line that are looked at together."""
NOWHERE = -2
"""A code that no cell has."""

Rows = NDArray[np.int64]


def find_lines(
    table: pl.DataFrame,
    plan: Plan,
    coded: Coded,
    at_former: Rows,
    at_now: Rows,
    former: RegisterState,
    state: RegisterState,
) -> Rows:
    """A row of the coded table for every line, each once; -1 where no row is left that can stand there."""
    from scipy.sparse import csr_array  # whoever makes a release does not wait for SciPy
    from scipy.sparse.csgraph import maximum_bipartite_matching

    ground = ground_of(coded, former.lines("cut", at_former, -1), former.sides, former.key)
    low, high, unfit = shown_of(table, plan, ground)
    if unfit or not table.height:
        return np.full(table.height, -1, np.int64)
    said_low, said_high = _said(coded, ground, at_now, state)
    found = []
    for row, line in _pairs(state.school[at_now].astype(np.int64), schools_of(table)):
        x, y = low[line], high[line]
        fits = ((x <= ground.points[row]) & (ground.points[row] <= y)).all(axis=1)
        fits &= (np.maximum(x, ground.low[row]) == said_low[row]).all(axis=1)
        fits &= (np.minimum(y, ground.high[row]) == said_high[row]).all(axis=1)
        found.append(np.stack([line[fits], row[fits]]))
    line, row = np.concatenate(found, axis=1) if found else np.zeros((2, 0), np.int64)
    graph = csr_array((np.ones(line.size, np.int8), (line, row)), shape=(table.height, at_now.size))
    return np.asarray(maximum_bipartite_matching(graph, perm_type="column"), np.int64)


def _said(coded: Coded, ground: Ground, at_now: Rows, state: RegisterState) -> tuple[Codes, Codes]:
    """What the new state says of every row, in the codes of `ground`; nowhere, where these have no such."""
    kept = ground_of(coded, state.cut[at_now], state.sides, state.key)
    low, high = kept.low.copy(), kept.high.copy()
    for place, (one, other) in enumerate(zip(ground.columns, kept.columns, strict=True)):
        if not one.numbers:
            continue  # the codes of a tree are its own
        values, asked = one.numbers[0], other.numbers[0]
        at = np.minimum(np.searchsorted(values, asked), max(values.size - 1, 0))
        number = np.where(values[at] == asked, at, NOWHERE) if values.size else np.full(asked.size, NOWHERE)
        number = np.append(number, one.axes[0].missing if one.has_missing else NOWHERE).astype(np.int32)
        low[:, place], high[:, place] = number[low[:, place]], number[high[:, place]]
    low[kept.is_free] = high[kept.is_free] = NOWHERE
    return low, high


def _pairs(of_rows: Rows, of_lines: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Every row with every line of its school, some at a time."""
    rows, lines = np.argsort(of_rows, kind="stable"), np.argsort(of_lines, kind="stable")
    first = np.searchsorted(of_lines[lines], of_rows[rows])
    many = np.searchsorted(of_lines[lines], of_rows[rows], side="right") - first
    ends = np.concatenate([[0], np.cumsum(many)])
    start = 0
    while start < rows.size:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + AT_A_TIME, side="right")) - 1)
        its = many[start:stop]
        step = np.arange(int(its.sum())) - np.repeat(ends[start:stop] - ends[start], its)
        yield np.repeat(rows[start:stop], its), lines[np.repeat(first[start:stop], its) + step]
        start = stop
