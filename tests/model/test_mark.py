"""A table is recognised by every cell and the order of its rows."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.model import mark
from shoal.model.mark import mark_of

TABLE = pl.DataFrame({"a": [1, 2, 3, 4, 5], "b": ["u", "v", None, "x", "y"]})


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 1 << 20])
def test_every_cell_and_the_order_of_rows_are_marked_however_many_at_a_time(rows, monkeypatch):
    monkeypatch.setattr(mark, "SOME", rows)
    others = [
        TABLE.reverse(),
        TABLE.head(4),
        TABLE.head(0),
        pl.concat([TABLE, TABLE.tail(1)]),
        TABLE[[0, 1, 3, 2, 4]],
        TABLE.rename({"a": "c"}),
        TABLE.cast({"a": pl.Int32}),
        TABLE.select("b", "a"),
        *(TABLE.with_columns(b=TABLE["b"].clone().scatter(at, "z")) for at in range(5)),
    ]
    marks = {mark_of(one) for one in (TABLE, *others)}
    assert len(marks) == len(others) + 1
    assert mark_of(TABLE.clone()) == mark_of(pl.concat([TABLE.head(2), TABLE.tail(3)])) == mark_of(TABLE)
    assert mark_of(TABLE, TABLE.head(0)) != mark_of(TABLE)
