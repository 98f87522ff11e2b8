"""Boxes of a pool without numbers: whatever rows they hold, the dearest are taken first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.compile.decorators import entry
from shoal.kernels.improve.rebuild import _fill_cells, _list_cells


@entry
def listed_and_filled(cell, entries, cells, rows, price, by_row, cell_of, far):
    _list_cells(cell, entries, cells, rows, by_row[0], cell_of)
    _fill_cells(cell, entries, cells, rows, price, by_row[0], cell_of, far, by_row[1])


@given(st.lists(st.sets(st.integers(0, 8), min_size=1), min_size=1, max_size=12), st.integers(0, 99))
def test_every_cell_keeps_its_rows_and_has_them_by_price(cells, seed):
    rows = 9
    price = np.random.default_rng(seed).random(rows)
    lengths = np.array([len(one) for one in cells])
    cell = np.zeros((len(cells), 3), dtype=np.int64)
    cell[:, 0], cell[:, 1] = np.cumsum(lengths) - lengths, lengths
    entries = np.array([row for one in cells for row in one], dtype=np.int64)
    by_row = np.empty((2, rows + 1), dtype=np.int64)
    cell_of, far = np.empty(entries.size, dtype=np.int64), np.empty(rows)
    for its in (price, price[::-1].copy()):  # a pool is filled again for every draw of prices
        listed_and_filled(cell, entries, len(cells), rows, its, by_row, cell_of, far)
        for (start, length, _), one in zip(cell.tolist(), cells, strict=True):
            assert entries[start : start + length].tolist() == sorted(one, key=lambda row: -its[row])
