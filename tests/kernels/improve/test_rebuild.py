"""The boxes of a pool: without numbers the dearest rows are taken first, with numbers runs of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import Table
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.packed import LENGTH, greatest_width, pack_metric, place_of, width
from shoal.kernels.improve.rebuild import _fill_cells, _list_cells
from tables import coded_of


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


@entry
def spans_of(packed, axis, codes):
    found = np.zeros((2, codes, codes))
    most = greatest_width(packed.shape, packed.data, axis)
    for low in range(codes):
        for high in range(low + 1, codes):
            found[0, low, high] = width(packed.shape, packed.data, axis, low, high)
            places = place_of(packed.shape, packed.data, axis, high)
            places -= place_of(packed.shape, packed.data, axis, low)
            found[1, low, high] = min(places, most)
    return found


@pytest.mark.parametrize("rows", [30, 400])  # more than 256 codes are not kept as pairs
@pytest.mark.parametrize("missing", [0, 3])
def test_numbers_are_as_far_apart_as_their_places(rows, missing):
    numbers = np.random.default_rng(1).permutation(9 * rows)[:rows].tolist()
    table = Table({"number": [*numbers, *[None] * missing]}, {"number": "number"})
    coded = coded_of(table, 2)
    _, packed = pack_metric(coded.metric, coded.codes)
    codes = int(packed.shape[0, LENGTH])
    assert codes == rows + (missing > 0)
    widths, places = spans_of(packed, np.int64(0), codes)
    assert np.allclose(widths, places, atol=1e-12)
