"""Frames of every kind become Polars, or are refused without showing a cell."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from silent import said_by

CANARY = "zqcanary"


def refusal(frame) -> str:
    """What is said of a frame by every way in, with nothing of its cells, cause and all."""
    said = []
    for ask in (
        lambda: shoal.anonymize(frame, k=2, quasi=["a"]),
        lambda: shoal.check_table(frame, quasi=["a"]),
        lambda: shoal.risk(frame, quasi=["a"]),
        lambda: shoal.guess_plan(frame),
    ):
        with pytest.raises(shoal.DataError) as caught:
            ask()
        said.append(said_by(caught.value, CANARY))
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert len(set(said)) == 1
    return said[0]


@pytest.mark.parametrize(
    "cells",
    [
        [1, CANARY, 2.5, None],
        [date(2020, 1, 1), CANARY, None, 1],
        [Decimal("1.5"), CANARY, 1, 1],
        [2**70, 2**71, 1, 2],
        np.arange(4) * 1j,
        pd.arrays.SparseArray([0, 0, 1, 1]),
    ],
    ids=["mixed", "dates", "decimals", "huge", "complex", "sparse"],
)
def test_pandas_columns_without_one_type_are_named(cells):
    said = refusal(pd.DataFrame({"a": cells, "b": [1, 2, 3, 4]}))
    assert "column 'a'." in said


def test_a_lazy_frame_that_fails_says_no_cell():
    lazy = pl.LazyFrame({"a": [CANARY] * 4}).with_columns(pl.col("a").cast(pl.Int64))
    assert "InvalidOperationError" in refusal(lazy)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
        pa.table([[1, 2], [3, 4]], names=["a", "a"]),
    ],
    ids=["pandas", "arrow"],
)
def test_doubled_columns_are_refused(frame):
    assert refusal(frame) == "The table has doubled columns: a. Rename them."


@pytest.mark.parametrize("thing", [[1, 2], {"a": [1]}, "in.csv", None, np.ones((2, 2)), pl.Series([1])])
def test_what_is_no_frame_is_refused(thing):
    assert "not a frame" in refusal(thing)


def test_a_first_plan_from_a_lazy_frame():
    frame = pl.DataFrame({"age": [30, 31, 32]})
    assert shoal.guess_plan(frame.lazy()) == shoal.guess_plan(frame)
