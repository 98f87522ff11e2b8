"""What is judged is what a reader of the file sees."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, time
from decimal import Decimal

import polars as pl
import pytest

import shoal
from shoal.publish import compare
from shoal.publish.formats import WRITERS
from silent import said_by

CANARY = "zqcanary"
NAMES = ["out.csv", "out.tsv", "out.parquet", "out.arrow", "out.feather", "out.ipc"]
EVERY = pl.DataFrame(
    {
        "text": ["a,b", 'say "x"', "two\nlines", " blanks ", "a;b\tc", None],
        "return": ["a\rb", "\r\n", "'", "#", "\\n", None],
        "numbers": [0, -1, 2**62, None, 5, 6],
        "floats": [0.1, 1e300, -5e-324, 1 / 3, float("inf"), None],
        "small": pl.Series([0.1, 1e30, 1 / 3, None, 0.0, 1.0], dtype=pl.Float32),
        "decimals": [Decimal("1.10"), None, *[Decimal("2.20")] * 4],
        "flags": [True, False, None] * 2,
        "dates": [date(1, 1, 1), date(9999, 12, 31), None] * 2,
        "moments": pl.Series([0, 1, None] * 2).cast(pl.Datetime("ns")),
        "zoned": pl.Series([datetime(2020, 10, 25, hour, 30, tzinfo=UTC) for hour in range(6)])
        .dt.convert_time_zone("Europe/Berlin"),  # one of these hours comes twice
        "times": [time(1), time(23, 59, 59, 999999), None] * 2,
        "enums": pl.Series(["b", "a", None] * 2, dtype=pl.Enum(["b", "a"])),
        "nothing": [None] * 6,
    },
    strict=False,
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_type_reads_as_it_was_written(name, tmp_path):
    WRITERS["." + name.split(".")[1]](EVERY, tmp_path / name, ",")
    for column in EVERY:
        alone = column.to_frame()
        WRITERS["." + name.split(".")[1]](alone, tmp_path / name, ";")


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_columns_are_read_again(name, tmp_path):
    odd = pl.DataFrame({"a\nb": ["x", None], 'say "a"': [1, 2], "a,b;\tc": ["", "y"], "#": ["#", '"']})
    odd = odd.with_columns(pl.col(pl.String).replace("", None))
    WRITERS["." + name.split(".")[1]](odd, tmp_path / name, ",")


@pytest.mark.parametrize("folder", ["data[1]", "a*", "a?b", "year=2020"])
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_whose_name_looks_like_a_pattern(name, folder, tmp_path):
    (tmp_path / folder).mkdir()
    WRITERS["." + name.split(".")[1]](EVERY, tmp_path / folder / name, ",")


@pytest.mark.parametrize("delimiter", [".", "1", "-"])
def test_a_delimiter_that_stands_in_numbers_is_refused(delimiter, tmp_path):
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "cost": [1.5, -1.5, 11.0, None]})
    release = shoal.anonymize(frame, k=2, quasi=["age"], keep=["cost"], method="mondrian")
    with pytest.raises(shoal.NotAnonymous, match="nothing was published"):
        release.write(tmp_path / "out.csv", delimiter=delimiter)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "rows"),
    [*((name, None) for name in NAMES), *(("out.parquet", rows) for rows in range(1, 6))],
)
def test_a_file_that_reads_otherwise_is_not_published(name, rows, tmp_path, monkeypatch):
    if rows is not None:  # as of a large table
        monkeypatch.setattr(compare, "SMALL", 0)
        monkeypatch.setattr(compare, "SOME", rows)
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "c", CANARY]})
    release = shoal.anonymize(frame, k=2, quasi=["age"], sensitive=["ill"], method="k-member")
    verb = {"csv": "write_csv", "tsv": "write_csv", "parquet": "write_parquet"}.get(
        name.split(".")[1], "write_ipc"
    )
    write = getattr(pl.DataFrame, verb)
    for change, said in (
        (lambda table: table.with_columns(ill=pl.lit("other")), "column 'ill'"),
        (lambda table: pl.concat([table.head(3), table.head(1)]), "column '"),
        (lambda table: table.head(3), "other columns or rows"),
        (lambda table: pl.concat([table, table.tail(1)]), "other columns or rows"),
        (lambda table: table.rename({"ill": CANARY}), "other columns or rows"),
    ):
        monkeypatch.setattr(
            pl.DataFrame,
            verb,
            lambda self, path, change=change, **words: write(change(self), path, **words),
        )
        with pytest.raises(shoal.NotAnonymous, match=said) as caught:
            release.write(tmp_path / name)
        said_by(caught.value, CANARY)
    monkeypatch.setattr(
        pl.DataFrame, verb, lambda self, path, **_: path.write_bytes(b'"' + CANARY.encode())
    )
    with pytest.raises(shoal.NotAnonymous) as caught:
        release.write(tmp_path / name)
    said_by(caught.value, CANARY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["label", "number", "tree"])
def test_a_csv_of_one_column_has_no_blank_line_and_verifies(kind, tmp_path):
    cells = ["1", "1", None, None, "7", "7"]
    words = {"hierarchies": {"a": shoal.flat()}} if kind == "tree" else {"kinds": {"a": kind}}
    release = shoal.anonymize(pl.DataFrame({"a": cells}), k=2, quasi=["a"], method="k-member", **words)
    files = release.write(tmp_path / "out.csv")
    lines = files.table.read_text().splitlines()
    assert "" not in lines
    assert sorted(lines[1:]) == ['""', '""', "1", "1", "7", "7"]
    with files.table.open(newline="") as file:
        assert len([row for row in csv.reader(file) if row]) == 7  # readers that skip blank lines see all
    findings = shoal.verify(
        files.table, files.certificate, original=pl.DataFrame({"a": cells}), receipt=files.receipt
    )
    assert [finding.claim for finding in findings if finding.holds is False] == []


@pytest.mark.parametrize("ending", WRITERS)
def test_a_disk_that_takes_no_more_is_an_error_of_ours_and_leaves_nothing(ending, tmp_path):
    resource = pytest.importorskip("resource")
    frame = pl.DataFrame({"age": [*range(300)], "note": [f"{CANARY} {number}" for number in range(300)]})
    release = shoal.anonymize(frame, k=3, quasi=["age"], keep=["note"], method="mondrian")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, before[1]))  # in place of a full disk
    try:
        with pytest.raises(shoal.ShoalError) as caught:
            release.write(tmp_path / f"out{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said_by(caught.value, CANARY)
    assert not [*tmp_path.iterdir()]
