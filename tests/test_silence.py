"""Cells of every type where none fits: an answer or an error of ours, and never a cell in it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

import shoal
from silent import said_by

ROWS = 8
SECRETS = (
    "73219846",
    "7.3219846e",
    "7.3220e",
    "92233720368547",
    "9.2234e",
    "1998-04-06",
    "7321-98",
    "7,32",
)
CELLS = {
    "whole": pl.Series([73219846] * ROWS),
    "near 2^63": pl.Series([9223372036854775000 + row for row in range(ROWS)]),
    "near 2^64": pl.Series([18446744073709551000] * ROWS, dtype=pl.UInt64),
    "2^100": pl.Series([2**100 + 73219846] * ROWS, dtype=pl.Int128),
    "huge": pl.Series([7.3219846e300] * ROWS),
    "infinite": pl.Series([float("inf"), 73219846.0] * 4),
    "below zero": pl.Series([-73219846.5] * ROWS),
    "short float": pl.Series([7.3219846e30] * ROWS, dtype=pl.Float32),
    "decimal": pl.Series([Decimal("7321984673219846732198467321984.5")] * ROWS),
    "text": pl.Series(["1", "73219846 kg"] * 4),
    "long text": pl.Series(["73219846" * 50] * ROWS),
    "text of a huge number": pl.Series(["7.3219846e300"] * ROWS),
    "text of 2^63": pl.Series(["9223372036854775807"] * ROWS),
    "text of a date": pl.Series(["7321-98-46", "1998-04-06"] * 4),
    "date": pl.Series([dt.date(1998, 4, 6)] * ROWS),
    "date too far": pl.Series([73219846] * ROWS, dtype=pl.Int32).cast(pl.Date),
    "moment": pl.Series([dt.datetime(1998, 4, 6, 7, 3)] * ROWS),
    "moment too far": pl.Series([9223372036854775000] * ROWS).cast(pl.Datetime("ms")),
    "time": pl.Series([dt.time(7, 32, 19)] * ROWS),
    "duration": pl.Series([dt.timedelta(days=73219846)] * ROWS),
    "bytes": pl.Series([b"73219846\xff"] * ROWS),
    "list": pl.Series([[73219846]] * ROWS),
    "array": pl.Series([[73219846, 1]] * ROWS, dtype=pl.Array(pl.Int64, 2)),
    "struct": pl.Series([{"a": 73219846}] * ROWS),
    "object": pl.Series([object(), 73219846] * 4, dtype=pl.Object),
    "category": pl.Series(["73219846x", "b"] * 4, dtype=pl.Categorical),
    "enum": pl.Series(["73219846x", "b"] * 4, dtype=pl.Enum(["73219846x", "b"])),
    "truth": pl.Series([True, False] * 4),
    "nothing": pl.Series([None] * ROWS),
}
QUICK = ("near 2^63", "text of a huge number", "moment too far", "duration", "bytes", "list")
PLAIN = {"age": [20, 21, 22, 23, 24, 25, 26, 27], "ill": [*"xyzxyzxy"]}


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.anonymize(pl.DataFrame(PLAIN), k=2, quasi=["age"], sensitive=["ill"])


def published(frame, path, **words):
    made = shoal.anonymize(frame, **{"k": 2, "quasi": ["age"], **words})
    files = made.write(path)
    return shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CELLS]
)
def test_no_door_shows_a_cell_whatever_its_type(name, release, tmp_path):
    frame = pl.DataFrame({**PLAIN, "odd": CELLS[name]})
    before, after = pl.DataFrame(PLAIN), release.table
    match = {"odd": "odd"}

    def made(**words):
        return lambda: shoal.anonymize(frame, k=2, **{"quasi": ["odd"], **words})

    def written(end, **words):
        return lambda: published(frame, tmp_path / f"{len([*tmp_path.iterdir()])}.{end}", **words)

    doors = [
        *(made(kinds={"odd": kind}) for kind in ("number", "date", "date(%d.%m.%Y)", "label")),
        *(made(hierarchies={"odd": tree}) for tree in (shoal.prefixes(3, 0), shoal.bins(5, 10))),
        made(hierarchies={"odd": shoal.flat()}),
        made(hierarchies={"odd": shoal.calendar("month", "year")}),
        made(quasi=["home"], kinds={"home": "place(odd, age)"}),
        *(made(style=style) for style in ("means", "suppress")),
        *(written(end, keep=["odd"]) for end in ("csv", "arrow")),
        written("csv", sensitive=["odd"], rules=["odd: 0.9-close(ordered)"]),
        written("csv", sensitive=["odd"], missing=["73219846", "-1"]),
        written("csv", count="odd"),
        written("csv", unit="odd"),
        lambda: shoal.check_table(frame, quasi=["odd"], sensitive=["ill"]),
        lambda: shoal.check_table(frame, quasi=["age"], sensitive=["odd"]),
        lambda: shoal.check_table(frame, quasi=["age"], count="odd"),
        lambda: shoal.check_table(frame, quasi=["age"], unit="odd"),
        lambda: shoal.risk(frame, quasi=["odd", "age"], sampling=0.1),
        lambda: shoal.risk(frame, quasi=["age"], count="odd"),
        lambda: shoal.attack(frame, frame, match=match, nearest=True),
        lambda: shoal.attack(frame, frame, match={"age": "odd"}),
        lambda: shoal.attack(frame, frame, match=match, kinds={"odd": "date(%d.%m.%Y)"}),
        lambda: shoal.attack(frame, frame, match=match, hierarchies={"odd": shoal.prefixes(3, 0)}),
        lambda: shoal.attack(frame, frame, match={"age": "age"}, count="odd"),
        lambda: shoal.guess_plan(frame),
        lambda: shoal.verify(after, release.certificate, original=before.with_columns(age=CELLS[name])),
        lambda: shoal.verify(after.with_columns(age=CELLS[name]), release.certificate, original=before),
        lambda: shoal.verify(after.with_columns(ill=CELLS[name]), release.certificate, original=before),
    ]
    for door in doors:
        try:
            door()
        except shoal.ShoalError as error:
            said_by(error, *SECRETS)


@pytest.mark.parametrize(
    "name", ["near 2^63", "near 2^64", "2^100", "huge", "text of 2^63", "infinite", "list"]
)
def test_a_column_that_cannot_count_says_so(name):
    frame = pl.DataFrame({**PLAIN, "odd": CELLS[name]})
    for ask in (
        lambda: shoal.anonymize(frame, k=2, quasi=["age"], count="odd"),
        lambda: shoal.check_table(frame, quasi=["age"], count="odd"),
        lambda: shoal.risk(frame, quasi=["age"], count="odd"),
        lambda: shoal.attack(frame, frame, match={"age": "age"}, count="odd"),
    ):
        with pytest.raises(shoal.DataError, match=r"Column 'odd' (counts records, but|is of the type)"):
            ask()


def test_counts_whose_sum_is_not_exact_are_refused():
    frame = pl.DataFrame({**PLAIN, "odd": [2**52] * ROWS})
    with pytest.raises(shoal.DataError, match=r"counts 2\^53 records and more"):
        shoal.check_table(frame, quasi=["age"], count="odd")
