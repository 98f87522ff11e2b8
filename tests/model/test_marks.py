from __future__ import annotations

import polars as pl
import pytest

from shoal.model.marks import ANY_ORDER, added, mark_of_rows, marked_columns, sum_of_rows

SALT, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame({"a": [1, 2, None, 2], "b": ["x", 'y"\n', "", None], "c": [0.5, None, 1.0, 2.0]})


def mark(frame: pl.DataFrame, salt: str = SALT) -> str:
    return mark_of_rows(sum_of_rows(frame, salt), frame.columns, frame.height, salt)


def test_rows_have_one_mark_in_any_order_and_in_pieces(frame: pl.DataFrame) -> None:
    assert mark(frame).startswith(ANY_ORDER)
    assert mark(frame.reverse()) == mark(frame)
    pieces = [sum_of_rows(frame[:1], SALT).astype("<u8").tobytes()]
    pieces.append(sum_of_rows(frame[1:], SALT).astype("<u8").tobytes())
    assert mark_of_rows(added(pieces), frame.columns, 4, SALT) == mark(frame)


def test_any_change_changes_the_mark(frame: pl.DataFrame) -> None:
    others = [
        frame.with_columns(pl.Series("a", [1, 2, None, 3])),
        frame.with_columns(pl.Series("b", ["x", 'y"\n', None, None])),
        frame.with_columns(frame["b"].reverse()),
        pl.concat([frame, frame[:1]]),
        frame[:3],
        frame.rename({"a": "z"}),
        frame.select("b", "a", "c"),
    ]
    marks = [mark(frame), mark(frame, OTHER), *map(mark, others)]
    assert len({*marks}) == len(marks)


def test_only_columns_with_a_text_are_marked() -> None:
    frame = pl.DataFrame({"b": [b"x"], "a": [1], "l": [[1]], "t": ["x"]})
    assert marked_columns(frame, ["t", "a", "b", "l", None, "no"]) == ["a", "t"]
