"""A certificate is believed only as far as it can be recomputed: tampering and broken releases."""

from __future__ import annotations

import json
from datetime import date, timedelta

import polars as pl
import pytest

import shoal
from shoal.model.hierarchy import Hierarchy, prefixes

TREE = Hierarchy.of_paths([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "z")])


def frame_of(rows=60):
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": [(i * 7) % 23 if i % 11 else None for i in range(rows)],
            "born": [date(2000, 1, 1) + timedelta(days=(i * 37) % 400) for i in range(rows)],
            "code": ["abcde"[(i * 3) % 5] for i in range(rows)],
            "zip": [f"{(i * 13) % 40:05d}" for i in range(rows)],
            "word": [["p", "q, r", "{s}", None][(i * 5) % 4] for i in range(rows)],
            "ill": [["flu", "cold", "pox"][(i * i) % 3] for i in range(rows)],
            "cost": [float((i * 31) % 17) + 0.5 for i in range(rows)],
        }
    )


def release_of(frame, **words):
    given = {
        "k": 4,
        "quasi": ["age", "born", "code", "zip", "word"],
        "sensitive": ["ill"],
        "keep": ["cost"],
        "identifier": ["name"],
        "hierarchies": {"code": TREE, "zip": prefixes(4, 3)},
        "weights": {"age": 2.0},
        "method": "k-member",
    }
    return shoal.anonymize(frame, **(given | words))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release on disk as CSV, with its original as Parquet."""
    folder = tmp_path_factory.mktemp("release")
    frame = frame_of()
    frame.write_parquet(folder / "original.parquet")
    files = release_of(frame).write(folder / "out.csv")
    return files, folder / "original.parquet"


def verify(files, original=None, **words):
    words = {"hierarchies": {"code": TREE}} | words
    return shoal.verify(files.table, files.certificate, original=original, **words)


TOTALS = {"loss", "loss_percent", "value"}


def failed(findings):
    return {finding.claim for finding in findings if finding.holds is False}


def unknown(findings):
    return {finding.claim for finding in findings if finding.holds is None}


def test_an_honest_release_holds_with_its_original(written):
    files, original = written
    findings = verify(files, original, receipt=files.receipt)
    assert failed(findings) == set()
    assert unknown(findings) == set()
    assert {"k", "loss", "bound", "ratio", "rows", "original", "values of ill"} <= {
        finding.claim for finding in findings
    }


def test_without_the_original_only_built_trees_stay_unknown(written):
    files, _ = written
    findings = verify(files)
    assert failed(findings) == set()
    needs_original = {"rows", "bound", "certificate", "loss of zip", "pairs told apart", *TOTALS}
    assert unknown(findings) == {*needs_original, "hierarchy of code"}
    without = verify(files, hierarchies={})
    assert unknown(without) == {*needs_original, "hierarchy of code", "loss of code"}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("cells", ["text", "bounds", "middle"])
@pytest.mark.parametrize("style", ["generalize", "suppress"])
@pytest.mark.parametrize("loss", ["leaves", "levels", "sets"])
def test_every_way_to_publish_is_verified(tmp_path, ending, cells, style, loss):
    frame = frame_of()
    files = release_of(frame, cells=cells, style=style, loss=loss).write(tmp_path / f"out.{ending}")
    findings = verify(files, frame, receipt=files.receipt)
    assert failed(findings) == set()
    middles = cells == "middle" and style == "generalize"
    hidden = {"loss of age", "loss of born", "exact losses", *TOTALS}
    assert unknown(findings) == (hidden if middles else set())


TAMPERED = [
    ("value", lambda c: c["value"] * 0.9, {"value", "ratio"}),
    ("bound", lambda c: c["bound"] * 1.05, {"bound", "ratio"}),
    ("ratio", lambda c: c["ratio"] * 0.9, {"ratio"}),
    ("k", lambda c: c["k"] + 1, {"k"}),
    ("k", lambda c: 2, {"k"}),
    ("classes", lambda c: c["classes"] + 1, {"classes"}),
    ("smallest_class", lambda c: c["smallest_class"] + 1, {"smallest_class"}),
    ("mean_class", lambda c: c["mean_class"] * 0.5, {"mean_class"}),
    ("loss", lambda c: c["loss"] * 0.9, {"loss"}),
    ("loss_percent", lambda c: c["loss_percent"] * 0.9, {"loss_percent"}),
    ("release", lambda c: "0" * 64, {"release"}),
    ("original", lambda c: "0" * 64, {"original"}),
    ("records", lambda c: c["records"] + 1, {"records", "original records"}),
    ("published", lambda c: c["published"] - 1, {"published", "records"}),
    ("withheld", lambda c: 1, {"records"}),
    ("objective", lambda c: "radius", {"objective"}),
    ("style", lambda c: "means", {"plan"}),
    ("seed", lambda c: 7, {"plan"}),
    ("method", lambda c: "mondrian", {"plan"}),
    ("plan", lambda c: {**c["plan"], "k": 2}, {"plan", "k"}),
    ("bound", lambda c: c["bound"] * 0.5, {"figures", "ratio"}),
]


@pytest.mark.parametrize(("field", "change", "caught"), TAMPERED)
def test_a_changed_field_is_caught(written, field, change, caught):
    files, original = written
    raw = json.loads(files.certificate.read_text())
    raw[field] = change(raw)
    certificate = shoal.Certificate.of_json(json.dumps(raw))
    findings = shoal.verify(
        files.table, certificate, original=original, receipt=files.receipt, hierarchies={"code": TREE}
    )
    assert caught <= failed(findings)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("field", ["loss", "weight", "denominator"])
def test_a_changed_column_is_caught(written, number, field):
    files, original = written
    raw = json.loads(files.certificate.read_text())
    raw["columns"][number][field] *= 1.25
    certificate = shoal.Certificate.of_json(json.dumps(raw))
    findings = shoal.verify(files.table, certificate, original=original, hierarchies={"code": TREE})
    assert f"loss of {raw['columns'][number]['name']}" in failed(findings)


def broken(written, change, **words):
    """Findings for the written release after a change to its table."""
    files, original = written
    table = change(shoal.read_table(files.table).frame)
    return shoal.verify(table, files.certificate, original=original, hierarchies={"code": TREE}, **words)


def test_a_lost_row_is_caught(written):
    assert {"published", "k"} & failed(broken(written, lambda table: table[1:]))


def test_an_invented_row_is_caught(written):
    findings = broken(written, lambda table: pl.concat([table, table[:1]]))
    assert {"published", "rows"} <= failed(findings)


def test_a_row_lost_and_another_invented_is_caught(written):
    def change(table):
        twice = table.filter(table["age"] == table["age"][0])
        return pl.concat([table.filter(table["age"] != table["age"][0]), twice[:1], twice[:-1]])

    assert "rows" in failed(broken(written, change))


def test_a_changed_sensitive_value_is_caught(written):
    def change(table):
        return table.with_columns(pl.Series("ill", ["rare", *table["ill"].to_list()[1:]]))

    assert {"values of ill", "rows"} <= failed(broken(written, change))


def test_a_swapped_sensitive_value_is_caught(written):
    files, _ = written
    table = shoal.read_table(files.table).frame
    cost = table["cost"].to_list()
    other = next(i for i in range(len(cost)) if table["age"][i] != table["age"][0] and cost[i] != cost[0])
    cost[0], cost[other] = cost[other], cost[0]
    findings = broken(written, lambda table: table.with_columns(pl.Series("cost", cost)))
    assert "values of cost" not in failed(findings)  # the column as a whole is the same
    assert "rows" in failed(findings)


def test_a_cell_that_does_not_cover_is_caught(written):
    def change(table):
        narrow = pl.when(pl.col("born") == table["born"][0]).then(pl.lit("2000-01-01"))
        return table.with_columns(narrow.otherwise(pl.col("born")).alias("born"))

    assert {"rows", "loss of born"} <= failed(broken(written, change))


def test_an_extra_column_is_caught(written):
    findings = broken(written, lambda table: table.with_row_index("line"))
    assert {"columns", "k"} <= failed(findings)


def test_a_missing_column_is_caught(written):
    assert "columns" in failed(broken(written, lambda table: table.drop("word")))


def test_another_original_is_recognised(written):
    files, _ = written
    changed = frame_of().with_columns(pl.col("age") + 1)
    findings = verify(files, changed, receipt=files.receipt)
    assert {"original", "rows"} <= failed(findings)


def test_a_wrong_hierarchy_is_said(written):
    files, original = written
    other = Hierarchy.of_paths([("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", "z")])
    findings = verify(files, original, receipt=files.receipt, hierarchies={"code": other})
    assert "hierarchy of code" in failed(findings)
    assert {"rows", "loss"} <= unknown(findings)
    # without the salt nobody can tell whether it is the one; what is measured by it tells
    findings = verify(files, original, hierarchies={"code": other})
    assert "hierarchy of code" in unknown(findings)
    assert "loss of code" in failed(findings)


def test_missing_marks_must_be_the_same(tmp_path):
    frame = frame_of().with_columns(pl.col("word").fill_null("?"))
    files = release_of(frame, missing=["?"]).write(tmp_path / "out.csv")
    assert "rows" in unknown(verify(files, frame))
    findings = verify(files, frame, missing="?")
    assert failed(findings) == set()
    assert "rows" not in unknown(findings)


def test_counted_and_withheld_records_are_verified(tmp_path):
    frame = frame_of().with_columns(pl.Series("times", [1 + i % 3 for i in range(60)]))
    release = release_of(frame, count="persons(times)")
    files = release.write(tmp_path / "out.csv")
    assert failed(verify(files, frame, receipt=files.receipt)) == set()
    raw = json.loads(files.certificate.read_text())
    table = shoal.read_table(files.table).frame
    times = [int(cell) for cell in table["times"]]
    less = table.with_columns(pl.Series("times", [times[0] + 1, *times[1:]]))
    findings = shoal.verify(
        less, shoal.Certificate.of_json(json.dumps(raw)), original=frame, hierarchies={"code": TREE}
    )
    assert {"published", "rows"} <= failed(findings)


def test_no_finding_shows_a_value(written):
    files, _ = written
    canary = frame_of().with_columns(pl.lit("canary").alias("ill"), pl.lit("canary").alias("word"))
    for finding in verify(files, canary, receipt=files.receipt):
        assert "canary" not in finding.detail
        assert "canary" not in finding.claim


def test_dates_in_a_written_form_are_encoded_again(tmp_path):
    frame = frame_of().with_columns(pl.col("born").dt.strftime("%d.%m.%Y"))
    files = release_of(frame, kinds={"born": "date(%d.%m.%Y)"}).write(tmp_path / "out.csv")
    findings = verify(files, frame, receipt=files.receipt)
    assert failed(findings) == set()
    assert unknown(findings) == set()


def test_a_release_without_other_columns_is_verified(tmp_path):
    frame = frame_of()
    files = release_of(frame, sensitive=[], keep=[]).write(tmp_path / "out.csv")
    findings = verify(files, frame, receipt=files.receipt)
    assert failed(findings) == set()
    assert unknown(findings) == set()


def test_a_claim_that_nobody_knows_is_no_success(written):
    files, original = written
    for change, claim in (
        ({"method": "not-yet"}, "method"),
        ({"bound_name": "not-yet"}, "bound"),
        ({"promise": "safe"}, "fields"),
    ):
        raw = json.loads(files.certificate.read_text()) | change
        raw["plan"]["method"] = raw["method"]
        certificate = shoal.Certificate.of_json(json.dumps(raw))
        findings = shoal.verify(files.table, certificate, original=original, hierarchies={"code": TREE})
        assert claim in failed(findings)
        assert claim in failed(shoal.verify(files.table, certificate))


def test_a_hierarchy_that_was_built_needs_the_original_and_no_file(written):
    files, _ = written
    finding = next(one for one in verify(files) if one.claim == "loss of zip")
    assert finding.needs == ("original",)


def test_where_nothing_was_claimed_nothing_is_said_to_hold(written, capsys):
    from shoal.cli.screen.findings import show_findings, sum_up

    files, original = written
    findings = verify(files, original, receipt=files.receipt)
    factor = next(one for one in findings if one.claim == "factor")
    assert (factor.holds, factor.claimed) == (True, False)
    show_findings(findings)
    line = next(line for line in capsys.readouterr().out.splitlines() if " factor " in line)
    assert line.startswith("-")
    assert f"all {len(findings) - 1} claims hold" in sum_up(findings)


def test_a_certificate_that_is_not_there_is_told_as_such(tmp_path):
    with pytest.raises(shoal.DataError, match="There is no file"):
        shoal.verify(pl.DataFrame({"age": [1, 1]}), tmp_path / "none.json")
