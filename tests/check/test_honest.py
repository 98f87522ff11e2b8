"""verify says False of no honest release, whatever its cells look like."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import polars as pl
import pytest

import shoal

TEXTS = [
    *("a", " lead", "trail ", "a\tb", "a\nb", "a\r\nb", 'q"uote', "'x'", "1", "1.0", "01", "1e5", "true"),
    *("NaN", "nan", "", "  ", "?", "null", "None", "=1+1", "é", "a,b", "a;b", "{s}", "[1]", "-0", "-0.0"),
    *("True", "\u200b", "\x01", "\x7f", "inf", None),
]
FLOATS = [0.0, -0.0, 1.5, float("nan"), float("inf"), None, 1e300, 5e-324, 0.1, 2.0**60, 100.0]
COLUMNS = {
    "text": pl.Series(TEXTS, dtype=pl.String),
    "floats": pl.Series(FLOATS),
    "short floats": pl.Series([0.1, 1.5, None, 3.4e38, 1e-40], dtype=pl.Float32),
    "integers": pl.Series([0, 1, 2**62, -(2**63) + 1, 2**53 + 1, None], dtype=pl.Int64),
    "large": pl.Series([0, 2**64 - 1, 2**63], dtype=pl.UInt64),
    "booleans": pl.Series([True, False, None]),
    "dates": pl.Series([dt.date(2000, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "moments": pl.Series([dt.datetime(2000, 1, 1, 1, 2, 3), dt.datetime(2000, 1, 1, 1, 2, 3, 4), None]),
    "times": pl.Series([dt.time(1, 2, 3), dt.time(1, 2, 3, 5), None]),
    "decimals": pl.Series([Decimal("1.50"), Decimal("-0.05"), None], dtype=pl.Decimal(20, 2)),
    "categories": pl.Series(["x", " y", "", "1", None], dtype=pl.Categorical),
    "nothing": pl.Series([None, None], dtype=pl.Null),
}


def frame_of(odd: pl.Series, rows: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [(i * 7) % 23 if i % 11 else None for i in range(rows)],
            "town": [["a", "b", "c, d", None][i % 4] for i in range(rows)],
            "odd": odd[[i % len(odd) for i in range(rows)]],
        }
    )


def denied(findings) -> list[shoal.Finding]:
    return [finding for finding in findings if finding.holds is False]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("role", ["sensitive", "keep"])
def test_odd_values_do_not_deny_an_honest_release(tmp_path, name, role, ending):
    frame = frame_of(COLUMNS[name])
    words = {"k": 3, "quasi": ["age", "town"], role: ["odd"], "missing": ["?"], "method": "k-member"}
    release = shoal.anonymize(frame, **words)
    files = release.write(tmp_path / f"out.{ending}")
    given = {"original": frame, "missing": ["?"]}
    assert not denied(shoal.verify(files.table, files.certificate, receipt=files.receipt, **given))
    assert not denied(shoal.verify(files.table, files.certificate))
    assert not denied(shoal.verify(release.table, release.certificate, **given))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_are_verified_though_a_lookup_table_is_empty(tmp_path, ending):
    # every label stands k times, so that no set of two is published
    frame = pl.DataFrame({"town": ["a"] * 4 + ["b"] * 4, "x": list("uvuvuvuv")})
    release = shoal.anonymize(
        frame, k=4, quasi=["town"], sensitive=["x"], cells="id", kinds={"town": "label"}
    )
    assert release.lookups["town"].height == 0
    files = release.write(tmp_path / f"out.{ending}")
    findings = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert all(finding.holds for finding in findings), denied(findings)
    assert "lookup of town" in {finding.claim for finding in findings}


@pytest.mark.parametrize("style", ["generalize", "suppress", "means"])
@pytest.mark.parametrize("cells", ["text", "bounds", "middle", "id"])
@pytest.mark.parametrize("withhold", [0.0, 0.1])
def test_every_style_and_cell_is_verified_with_hidden_rows(tmp_path, style, cells, withhold):
    frame = frame_of(COLUMNS["text"])
    words = {"k": 3, "quasi": ["age", "town"], "sensitive": ["odd"], "missing": ["?"], "cells": cells}
    release = shoal.anonymize(frame, style=style, withhold=withhold, **words)
    files = release.write(tmp_path / "out.csv")
    given = {"original": frame, "missing": ["?"]}
    found = shoal.verify(files.table, files.certificate, receipt=files.receipt, **given)
    assert not denied(found)
    holds = {finding.claim: finding.holds for finding in found}
    assert holds["bound"] is True
    assert holds["certificate"] is True
    assert not denied(shoal.verify(files.table, files.certificate, **given))


def test_a_missing_mark_an_empty_cell_and_not_a_number_are_one_value():
    nothing = float("nan")
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "x": ["?", "", None, "u"], "y": [nothing, None, 1.0, -0.0]})
    words = {"k": 2, "quasi": ["age"], "sensitive": ["x"], "keep": ["y"], "missing": ["?"]}
    release = shoal.anonymize(frame, kinds={"age": "number"}, **words)
    # whatever of the three a release writes, its rows are those of the original
    table = pl.DataFrame(release.table).with_columns(
        pl.col("x").replace(["?", ""], [None, None]),
        pl.col("y").fill_nan(None).cast(pl.String).replace("-0.0", "0.0"),
    )
    given = {"original": frame, "missing": ["?"]}
    assert not denied(shoal.verify(table, release.certificate, **given))
    invented = table.with_columns(pl.lit(None, dtype=pl.String).alias("x"))
    findings = denied(shoal.verify(invented, release.certificate, **given))
    assert "values of x" in {finding.claim for finding in findings}


@pytest.mark.parametrize("whom", [{"unit": "rows"}, {"count": "persons(n)"}, {"unit": "who"}])
def test_whoever_is_counted_an_honest_release_holds(tmp_path, whom):
    frame = frame_of(COLUMNS["text"]).drop_nulls("age")
    frame = frame.with_columns(n=pl.lit(2), who=pl.int_range(frame.height).cast(pl.String))
    words = {"k": 3, "quasi": ["age"], "sensitive": ["odd"], "method": "gather", "identifier": ["who"]}
    files = shoal.anonymize(frame, **words, **whom).write(tmp_path / "out.csv")
    found = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert not denied(found)
    assert not denied(shoal.verify(files.table, files.certificate))


ALL_MISSING = {
    "number": pl.Series("age", [None] * 4, dtype=pl.Int64),
    "date": pl.Series("age", ["?", "", "?", ""]),
    "label": pl.Series("age", [None] * 4, dtype=pl.String),
}


@pytest.mark.parametrize("cells", ["text", "bounds", "middle", "id"])
@pytest.mark.parametrize("kind", [*ALL_MISSING, "place"])
def test_a_column_of_missing_cells_alone_is_verified(tmp_path, kind, cells):
    frame = pl.DataFrame({"town": ["a", "a", "b", "b"], "x": list("uvuv")})
    columns, quasi = ALL_MISSING.get(kind), "age"
    if columns is None:
        frame = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in ("lat", "lon"))
        kind, quasi = "place(lat, lon)", "home"
    else:
        frame = frame.with_columns(columns)
    words = {"k": 2, "quasi": ["town", quasi], "sensitive": ["x"], "missing": ["?"], "method": "k-member"}
    kinds = {"town": "label", quasi: kind}
    files = shoal.anonymize(frame, kinds=kinds, cells=cells, **words).write(tmp_path / "out.csv")
    assert not denied(shoal.verify(files.table, files.certificate))
    given = {"original": frame, "missing": ["?"]}
    assert not denied(shoal.verify(files.table, files.certificate, **given))
    assert not denied(shoal.verify(files.table, files.certificate, receipt=files.receipt, **given))
    # empty bounds may be a mix of missing and present, so a reader must count them in full
    column = json.loads(files.certificate.read_text())["columns"][1]
    if cells != "middle" or kind == "label":
        assert column["loss"] == (1.0 if cells == "bounds" and kind != "label" else 0.0)


@pytest.mark.parametrize(("values", "least"), [(["a", "b", "c", "d"], 1), (["a", None, "a", None], 1)])
def test_a_label_that_is_starred_is_verified(tmp_path, values, least):
    frame = pl.DataFrame({"town": values, "x": list("uvuv")})
    words = {"k": 4, "quasi": ["town"], "sensitive": ["x"], "kinds": {"town": "label"}, "method": "levels"}
    files = shoal.anonymize(frame, **words).write(tmp_path / "out.csv")
    assert shoal.read_table(files.table).frame["town"].to_list() == ["*"] * 4
    found = shoal.verify(files.table, files.certificate)
    assert not denied(found)
    assert {finding.claim: finding.holds for finding in found}["loss of town"] is None
    assert not denied(shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt))
    # one value alone is never starred
    text = json.loads(files.certificate.read_text())
    text["columns"][0]["denominator"] = least - 1.0
    files.certificate.write_text(json.dumps(text))
    assert "loss of town" in {one.claim for one in denied(shoal.verify(files.table, files.certificate))}


WRONG = ([], {}, "x", "", -1, 10**400, None, True, 0.5, 1e999, [[]], ["x"], {"x": {}}, {"x": "x"})


@pytest.mark.parametrize("inside", ["", "plan"])
def test_no_field_of_a_certificate_makes_a_bug_or_passes_unseen(tmp_path, inside):
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "x": list("uvuv")})
    words = {"k": 2, "quasi": ["age"], "sensitive": ["x"], "kinds": {"age": "number"}}
    files = shoal.anonymize(frame, **words).write(tmp_path / "out.csv")
    whole = json.loads(files.certificate.read_text())
    for name, honest in (whole[inside] if inside else whole).items():
        for wrong in WRONG:
            if wrong == honest:
                continue
            changed = {name: wrong}
            changed = {**whole, inside: {**whole[inside], **changed}} if inside else {**whole, **changed}
            files.certificate.write_text(json.dumps(changed))
            for given in ({}, {"original": frame, "receipt": files.receipt}):
                try:
                    found = shoal.verify(files.table, files.certificate, **given)
                except shoal.ShoalError:
                    continue
                assert denied(found) or not given, (name, wrong)
