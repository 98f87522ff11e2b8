"""Columns of any name: used as any other, or refused before any work."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

import shoal

ROWS = 12
CANARY = "zqcanary"
ODD = [
    "^a",
    "a$",
    "*_low",
    "line\nfeed",
    "carriage\rreturn",
    'quo"te',
    "last, first",
    "semi;colon",
    "tab\tname",
    "🐟",
    "=1+1",
    "x" * 300,
    "literal",
    "len",
    "count",
    "index",
    "group",
    "value",
    "many",
    "order",
]
PATTERNS = ["*", "^a.*$", "^.*$", "^$", "\0rows", "a\0b"]
STYLES = [
    {},
    {"cells": "bounds"},
    {"cells": "middle"},
    {"style": "suppress"},
    {"style": "means"},
    {"style": "centres", "method": "gather"},
]


def table(name: str, cells=None) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"{CANARY}{row}" for row in range(ROWS)],
            "age": [20 + row % 7 * 3 for row in range(ROWS)],
            "abc": ["xyz"[row % 3] for row in range(ROWS)],
            name: ["uvw"[row % 3] for row in range(ROWS)] if cells is None else cells,
        }
    )


def plan(role: str, name: str) -> dict[str, object]:
    words: dict[str, object] = {"k": 3, "quasi": ["age"], "sensitive": ["abc"]}
    words[role] = [*words.get(role, []), name]  # type: ignore[misc]
    return words


CASES = [*itertools.product(["quasi", "sensitive"], STYLES), ("keep", {}), ("identifier", {})]


@pytest.fixture(scope="module")
def plain_tables():
    """What is published of each case where no name is odd."""
    frame = table("plain")
    return [shoal.anonymize(frame, **plan(role, "plain"), **style).table for role, style in CASES]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_a_name_as_any_other(name, plain_tables, tmp_path):
    frame = table(name)
    for at, (role, style) in enumerate(CASES):
        release = shoal.anonymize(frame, **plan(role, name), **style)
        expected = plain_tables[at]
        assert release.table.columns == [each.replace("plain", name) for each in expected.columns]
        assert [*release.table.iter_rows()] == [*expected.iter_rows()]
        files = release.write(tmp_path / f"{at}.csv")
        assert shoal.read_table(files.table).frame.columns == release.table.columns
        findings = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
        assert all(finding.holds is not False for finding in findings)


@pytest.mark.parametrize("name", ODD)
def test_strangers_take_an_odd_name_as_any_other(name):
    frame, plain = table(name), table("plain")

    def seen(frame, name):
        words = {"quasi": ["age", name], "sensitive": ["abc"]}
        trial = shoal.compare(frame, k=3, **words, methods=("mondrian",)).trials[0]
        link = shoal.attack(frame, frame, match={name: name, "age": "age"}, sensitive=["abc"])
        return (
            shoal.check_table(frame, **words).classes,
            shoal.risk(frame, quasi=words["quasi"]).uniques,
            (link.found, link.one_record, link.few),
            trial.loss_percent,
        )

    assert seen(frame, name) == seen(plain, "plain")


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_in_place_of_a_name_is_refused_everywhere(name, tmp_path):
    frame = table(name)
    register = table("plain")
    for ask in (
        *(lambda role=role: shoal.anonymize(frame, **plan(role, name)) for role in ("quasi", "keep")),
        lambda: shoal.anonymize(frame, k=3, quasi=["age"]),  # also where it has no role
        lambda: shoal.check_table(frame, quasi=[name]),
        lambda: shoal.risk(frame, quasi=[name]),
        lambda: shoal.attack(register, frame, match={"plain": name}),
        lambda: shoal.compare(frame, k=3, quasi=[name]),
        lambda: shoal.guess_plan(frame),
    ):
        with pytest.raises(
            shoal.DataError, match=r"^The table has 1 of 4 columns whose names are patterns"
        ):
            ask()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", PATTERNS[:4])
def test_a_file_with_a_pattern_for_a_name_is_refused(name, ending, tmp_path):
    path = tmp_path / f"in.{ending}"
    getattr(table(name), f"write_{ending}")(path)
    with pytest.raises(shoal.DataError, match=r"in\.\w+ has 1 of 4 columns .* 4, counted from the left"):
        shoal.read_table(path)


@pytest.mark.parametrize("name", ["", " ", " age", "age ", "\u2028", "\ufeffage"])
def test_a_name_that_is_not_read_back_is_not_published(name):
    for role in ("quasi", "sensitive", "keep"):
        with pytest.raises(shoal.DataError, match="would not be read back"):
            shoal.anonymize(table(name), **plan(role, name))
    assert (
        name
        not in shoal.anonymize(
            table(name), k=3, quasi=["abc"], identifier=[name], unit="rows"
        ).table.columns
    )


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_texts_with_a_zero_byte_are_refused_before_work(role, dtype):
    cells = pl.Series([f"{CANARY}\0x"] * 3 + ["a"] * (ROWS - 3), dtype=dtype)
    frame = table("odd", cells)
    with pytest.raises(shoal.DataError) as caught:
        shoal.anonymize(frame, **plan(role, "odd"))
    assert "Column 'odd' has 3 of 12 texts with a zero byte" in str(caught.value)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "cell",
    ["a\rb", "a\r\nb", "\ufeffx", "\x1a", "a\u2028b", '"', '""', "a\x85b", "\x1b[31m", "\x7f"],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_other_odd_letters_come_back_from_the_file(cell, ending, tmp_path):
    cells = [cell if row % 2 else "a" for row in range(ROWS)]
    release = shoal.anonymize(table("odd", cells), **plan("keep", "odd"))
    files = release.write(tmp_path / f"out.{ending}")
    assert sorted(shoal.read_table(files.table).frame["odd"]) == sorted(cells)


def test_a_hierarchy_with_a_zero_byte_is_refused():
    with pytest.raises(shoal.PlanError, match="zero byte"):
        shoal.Hierarchy.of_paths([("a", "b\0"), ("c", "b\0")])
