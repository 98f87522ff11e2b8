"""The digest by which a move is seen: of values alone, however a table holds them, and of a person."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

from series_stories import TREE, plan_of
from shoal.encode import encode
from shoal.model.standing import POINT, points_of
from shoal.run.register import of_rows
from shoal.run.whose import by_person, persons_of

KEY = b"key"
PLAN = plan_of(
    2,
    quasi=["x", "born", "y"],
    kinds={"x": "number", "born": "date"},
    hierarchies={"y": TREE},
    missing=["n/a"],
)
BORN = [datetime.date(1980, 1, day) for day in (1, 1, 2, 3)]
FRAME = pl.DataFrame(
    {
        "who": [1, 2, 3, 4],
        "x": [0, 0, None, 7],
        "born": BORN,
        "y": ["y00", "y00", "y01", None],
        "ill": ["a", "b", "a", "b"],
    }
)


def digests(frame, key=KEY):
    """By person."""
    rows, ids = by_person(frame, PLAN)
    persons = persons_of(ids, key)
    found = points_of(encode(rows, of_rows(PLAN)), persons, key)
    assert found.shape == (len(ids), POINT)
    return {str(who): point.tobytes() for who, point in zip(ids.to_list(), found, strict=True)}


def as_texts(frame):
    return frame.with_columns(pl.all().cast(pl.String))


FORMS = {
    "rows in another order": lambda frame: frame[::-1],
    "texts": as_texts,
    "blanks around": lambda frame: as_texts(frame).with_columns(" " + pl.col("x") + " ", pl.col("y") + " "),
    "marks of missing": lambda frame: as_texts(frame).with_columns(pl.col("x", "y").fill_null("n/a")),
    "floats": lambda frame: frame.with_columns(pl.col("x").cast(pl.Float64) * -1.0 * -1.0),
    "minus zero": lambda frame: frame.with_columns(
        pl.Series("x", [-0.0, 0.0, None, 7.0], dtype=pl.Float64)
    ),
    "categories": lambda frame: frame[::-1].with_columns(pl.col("y").cast(pl.Categorical)),
    "moments at midnight": lambda frame: frame.with_columns(pl.col("born").cast(pl.Datetime("us"))),
    "other values beside": lambda frame: pl.concat(
        [
            frame,
            frame[:2].with_columns(
                who=pl.Series([8, 9]),
                x=pl.Series([-3, 5]),
                y=pl.Series(["y11", "y05"]),
            ),
        ]
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_same_values_have_the_same_digest(name):
    found = digests(FORMS[name](FRAME))
    assert digests(FRAME).items() <= found.items()


@pytest.mark.parametrize(
    "changed",
    [
        {"x": [0, 0, 0, 7]},
        {"x": [0, 0, 1, 7]},
        {"born": [*BORN[:2], BORN[3], BORN[3]]},
        {"y": ["y00", "y00", "y02", None]},
        {"y": ["y00", "y00", None, None]},
    ],
)
def test_who_moves_has_another_digest_and_nobody_else(changed):
    before, after = (
        digests(FRAME),
        digests(FRAME.with_columns(**{n: pl.Series(v) for n, v in changed.items()})),
    )
    assert [who for who in before if before[who] != after[who]] == ["3"]


def test_two_at_one_point_and_two_keys_have_two_digests():
    found = digests(FRAME)
    assert FRAME.row(0)[1:4] == FRAME.row(1)[1:4]
    assert found["1"] != found["2"]
    other = digests(FRAME, b"another key")
    assert not set(found.values()) & set(other.values())


def test_values_that_run_into_one_another_have_two_digests():
    """1 and 23 beside 12 and 3."""
    plan = plan_of(2)
    frame = pl.DataFrame({"x": [1, 12], "y": [23, 3]})
    persons = np.zeros((2, 16), np.uint8)
    one, other = points_of(encode(frame, of_rows(plan)), persons, KEY)
    assert one.tobytes() != other.tobytes()
