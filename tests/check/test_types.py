"""Categories are judged as the texts they are."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.check.diversity import numbers_of
from shoal.check.kanonymity import codes_of
from shoal.check.matching import _as_text

WORDS = ["10", "9", None, "a, b"]


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["9", "a, b", "10"])])
def test_categories_are_texts(dtype):
    text, series = pl.Series("x", WORDS), pl.Series("x", WORDS, dtype=dtype)
    assert codes_of(series)[0].tolist() == codes_of(text)[0].tolist()
    assert _as_text(series).to_list() == WORDS
    assert numbers_of(series.head(3)).to_list() == [10.0, 9.0, None]
