"""Missing is one value: to encoding, to rules, to the judge and in the file."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

import shoal
from shoal.model.missing import missing_to_null

NAN = float("nan")


@pytest.mark.parametrize(
    ("cells", "marks", "expected"),
    [
        (pl.Series(["a", "", "  ", "?", " ? ", "a "]), ("?",), ["a", None, None, None, None, "a "]),
        (pl.Series(["a", "?", None], dtype=pl.Categorical), ("?",), ["a", None, None]),
        (pl.Series(["a", "?"], dtype=pl.Enum(["?", "a"])), ("?",), ["a", None]),
        (pl.Series([1.5, NAN, -9.0, None]), ("-9",), [1.5, None, None, None]),
        (pl.Series([1, -9, 2**60 + 1]), ("-9.0", str(2**60), "x"), [1, None, 2**60 + 1]),
        (pl.Series([Decimal("1.10"), Decimal("-9.00")]), ("-9",), [Decimal("1.10"), None]),
        (pl.Series([True, None]), ("true",), [True, None]),
        (pl.Series([[1], None]), ("1",), [[1], None]),
    ],
    ids=["text", "category", "enum", "float", "whole", "decimal", "flag", "list"],
)
def test_what_is_missing(cells, marks, expected):
    assert missing_to_null(cells, marks).to_list() == expected
    assert missing_to_null(cells, marks).dtype == cells.dtype


def test_zero_has_no_sign():
    assert [str(x) for x in missing_to_null(pl.Series([-0.0, 0.0, -1.0]), ()).to_list()] == [
        "0.0",
        "0.0",
        "-1.0",
    ]


ONES = {
    "not a number": ([1.0, NAN, None, NAN, 2.0, None], ()),
    "marks": (["1", "?", None, "", "2", " "], ("?",)),
    "marked numbers": ([1, -9, None, -9, 2, None], ("-9",)),
    "signed zeros": ([1.0, 0.0, -0.0, -0.0, 2.0, 0.0], ()),
}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.arrow"])
@pytest.mark.parametrize("case", ONES)
def test_what_the_rules_call_one_value_is_one_value_in_the_file(case, name, tmp_path):
    cells, marks = ONES[case]
    frame = pl.DataFrame({"age": [1, 1, 1, 1, 90, 90], "ill": pl.Series(cells, strict=False)})
    words = {"k": 2, "quasi": ["age"], "sensitive": ["ill"], "missing": marks, "method": "k-member"}
    release = shoal.anonymize(frame, rules=["ill: 2-diverse"], **words)
    assert release.verdict.sensitive[0].distinct == 2
    files = release.write(tmp_path / name)
    table = shoal.read_table(files.table).frame
    assert release.table["ill"].null_count() == table["ill"].null_count()
    assert table["ill"].cast(pl.String).n_unique() == 3
    assert release.table["ill"].cast(pl.String).n_unique() == 3
    # the two middle values of the first four are one, so three of them cannot be asked for
    with pytest.raises(shoal.ShoalError):
        shoal.anonymize(frame, rules=["ill: 4-diverse"], **{**words, "quasi": ["age"]}).write(
            tmp_path / name
        )
    findings = shoal.verify(
        files.table, files.certificate, original=frame, receipt=files.receipt, missing=marks
    )
    assert [finding for finding in findings if finding.holds is False] == []


def test_signed_zeros_do_not_tell_the_order_of_rows(tmp_path):
    cells = [0.0, -0.0, 0.0, -0.0]
    for at, order in enumerate(([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2])):
        frame = pl.DataFrame({"x": cells, "y": cells, "z": cells})[order]
        release = shoal.anonymize(
            frame, k=2, quasi=["x"], sensitive=["y"], keep=["z"], method="k-member", cells="bounds"
        )
        release.write(tmp_path / f"{at}.csv")
    assert len({(tmp_path / f"{at}.csv").read_bytes() for at in range(3)}) == 1
    assert "-0" not in (tmp_path / "0.csv").read_text()


def test_a_mark_is_no_person_of_its_own():
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "who": ["?", "", "a", "b"]})
    with pytest.raises(shoal.ShoalError):
        shoal.anonymize(
            frame.head(2), k=2, quasi=["age"], unit="who", missing=["?"], method="k-member"
        ).write("nowhere.csv")
    release = shoal.anonymize(frame, k=3, quasi=["age"], unit="who", missing=["?"], method="k-member")
    assert release.verdict.has_passed
    assert release.verdict.rules[0].measured == 3
