"""Rows hashed side by side, beside `hashlib`."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.group.parts.marks import sum_of_many_rows
from shoal.kernels.parts.shake import BLOCK
from shoal.model.marks import TOGETHER, sum_of_rows

SALT = "0123456789abcdef" * 4


def same(frame: pl.DataFrame, salt: str = SALT) -> bool:
    return bool((sum_of_many_rows(frame, salt) == sum_of_rows(frame, salt)).all())


def test_texts_of_every_length_are_hashed_as_hashlib_does() -> None:
    for length in range(2 * BLOCK + 20):  # the salt, a text and its end, in one block to three
        assert same(pl.DataFrame({"a": ["x" * length]})), length


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, TOGETHER + 3])
def test_any_number_of_rows_has_the_same_sum(rows: int) -> None:
    random = np.random.default_rng(rows)
    texts = ['é\n\r\u2028"' * int(times) for times in random.integers(0, 40, rows)]
    numbers = pl.Series(random.normal(size=rows)).round(3)
    frame = pl.DataFrame({"a": pl.Series(texts, dtype=pl.String), "b": numbers, "c": [None] * rows})
    assert same(frame)


def test_the_salt_stands_before_every_row() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3]})
    assert (sum_of_many_rows(frame, SALT) != sum_of_many_rows(frame, SALT[::-1])).any()
    assert all(same(frame, salt) for salt in ("", "ab", "cd" * 200))


def test_rows_may_come_in_any_order_and_in_pieces() -> None:
    frame = pl.DataFrame({"a": [str(number) * (number % 90) for number in range(100)]})
    whole = sum_of_many_rows(frame, SALT)
    assert (sum_of_many_rows(frame.reverse(), SALT) == whole).all()
    assert (sum_of_many_rows(frame[:33], SALT) + sum_of_many_rows(frame[33:], SALT) == whole).all()
