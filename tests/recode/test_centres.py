"""The style `centres`: what it publishes, who judges it, and what verify finds."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.check.judge import judge
from shoal.encode import encode
from shoal.errors import NotAnonymous, PlanError
from shoal.model.cell import parse_counts, print_counts

FRAME = pl.DataFrame(
    {
        "age": [20, 21, 22, 60, 61, 61, 63],
        "sex": ["f", "f", "f", "m", "m", "m", "m"],
        "illness": ["flu", "flu", "a: b, {c}", "gout", None, "gout", "flu"],
        "cost": ["9.5", "10", "9.5", "1", "2", "30", "4"],
    }
)
WORDS = {
    "k": 3,
    "quasi": ["age", "sex"],
    "sensitive": ["illness", "cost"],
    "method": "gather",
    "style": "centres",
}
ROW = {**WORDS, "options": {"centre": "row"}}


@pytest.fixture(scope="module")
def release():
    return shoal.anonymize(FRAME, **ROW)


def judged(table, **words):
    plan = shoal.Plan(**{**WORDS, **words})
    return judge(table, plan, encode(FRAME, plan).columns, withheld=0)


def test_a_line_per_group_says_all_the_paper_says(release):
    assert release.table.columns == ["age", "sex", "group_size", "group_radius", "illness", "cost"]
    assert release.table["group_size"].to_list() == [3, 4]
    # 21 lies between 20 and 22: 1 of the range of 43, rounded up
    assert release.table["age"].to_list()[0] == "21"
    assert release.table["group_radius"][0] == pytest.approx(1 / 43, abs=1e-6)
    assert release.table["group_radius"][0] >= 1 / 43
    assert release.table["cost"].to_list() == ["{9.5: 2, 10}", "{1, 2, 4, 30}"]
    assert parse_counts(release.table["illness"][0]) == [("flu", 2), ("a: b, {c}", 1)]
    assert parse_counts(release.table["illness"][1]) == [("gout", 2), ("flu", 1), (None, 1)]
    assert release.verdict.has_passed
    assert release.receipt.figures.value == pytest.approx(release.table["group_radius"].max(), abs=1e-6)
    assert release.certificate.loss is None
    assert release.certificate.smallest_class == 3


@given(
    st.lists(
        st.tuples(st.none() | st.text(min_size=1, max_size=5), st.integers(1, 20)), min_size=1, max_size=5
    )
)
def test_values_with_counts_come_back(counted):
    assert parse_counts(print_counts(counted)) == counted


@pytest.mark.parametrize("cell", [None, "", "{}", "flu", "{flu: x}", "{flu: -1}", "{flu, }", "{flu: 1.5}"])
def test_what_is_no_list_of_counts_is_not_read(cell):
    assert parse_counts(cell) is None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (pl.col("group_size") - 1, "1 of 2 classes hold fewer than k = 3 records"),
        (pl.col("group_size") + 1, "do not add up to the records of the group"),
        (pl.lit("{flu: 9}").alias("illness"), "Column 'illness': in 2 of 2 lines"),
        (pl.lit("[20, 22]").alias("age"), "Column 'age': 2 of 2 cells are no single values"),
        (pl.lit("*").alias("sex"), "Column 'sex': 2 of 2 cells are no single values"),
        (pl.lit(-1.0).alias("group_radius"), "2 of 2 radii are not numbers"),
        (pl.lit("x").alias("name"), "columns that no line of centres has: 'name'"),
    ],
)
def test_a_table_broken_on_purpose_is_refused(release, change, what):
    verdict = judged(release.table.with_columns(change))
    assert not verdict.has_passed
    assert what in " ".join(verdict.reasons)


@pytest.mark.parametrize("name", ["age", "group_size", "group_radius", "cost"])
def test_a_missing_column_is_refused(release, name):
    assert not judged(release.table.drop(name)).has_passed


def test_nothing_is_written_where_the_check_fails(release, tmp_path):
    broken = replace(release, verdict=judged(release.table.with_columns(group_size=pl.lit(1))))
    with pytest.raises(NotAnonymous):
        broken.write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_verify_finds_every_claim_true_in_the_files(release, tmp_path):
    FRAME.write_csv(tmp_path / "in.csv")
    original = shoal.read_table(tmp_path / "in.csv").frame
    fresh = shoal.anonymize(original, kinds={"age": "number"}, **ROW)
    files = fresh.write(tmp_path / "out.csv")
    findings = shoal.verify(
        files.table, files.certificate, original=tmp_path / "in.csv", receipt=files.receipt
    )
    by_claim = {finding.claim: finding for finding in findings}
    assert [finding.claim for finding in findings if finding.holds is False] == []
    for claim in ("value", "k", "lines", "centres", "radii", "bound", "values of illness", "release"):
        assert by_claim[claim].holds, claim


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        (pl.lit("23").alias("age"), "centres"),
        (pl.col("group_radius") * 2, "value"),
        (pl.col("group_radius") / 2, "radii"),
        (pl.Series("illness", ["{flu: 3}", "{flu: 4}"]), "values of illness"),
        (pl.Series("illness", ["{flu: 3}", "{flu: 3}"]), "lines"),
        (pl.Series("group_size", [2, 5]), "k"),
    ],
)
def test_verify_finds_what_was_changed(release, change, claim):
    changed = release.table.with_columns(change)
    findings = shoal.verify(changed, release.certificate, original=FRAME)
    assert {finding.claim: finding.holds for finding in findings}[claim] is False


def test_verify_without_the_hierarchies_says_so_and_finds_no_fault():
    frame = pl.DataFrame({"zip": ["011", "012", "021", "022"] * 2, "illness": list("aabbccdd")})
    trees = {"zip": shoal.prefixes(3, 2, 0)}
    words = {"k": 2, "quasi": ["zip"], "sensitive": ["illness"], "method": "gather", "style": "centres"}
    release = shoal.anonymize(frame, hierarchies=trees, **words)
    table = release.table
    found = {each.claim: each for each in shoal.verify(table, release.certificate)}
    assert [claim for claim, each in found.items() if each.holds is False] == []
    assert found["lines"].holds is None
    assert "zip" in found["lines"].detail
    broken = table.with_columns(illness=pl.lit("{a: 99}"))
    found = {each.claim: each.holds for each in shoal.verify(broken, release.certificate)}
    assert found["lines"] is False


def test_rules_are_judged_by_the_counts():
    release = shoal.anonymize(FRAME, **{**WORDS, "rules": ["illness: 2-diverse"]})
    assert release.verdict.has_passed
    assert release.verdict.rules[0].measured >= 2


def test_copies_count_in_full():
    frame = pl.DataFrame({"a": [1, 2, 9], "n": [2, 1, 5], "s": ["x", "y", "x"]})
    release = shoal.anonymize(
        frame, k=3, quasi=["a"], sensitive=["s"], count="persons(n)", method="gather", style="centres"
    )
    assert release.table["group_size"].to_list() == [3, 5]
    assert release.table["s"].to_list() == ["{x: 2, y}", "{x: 5}"]
    assert release.verdict.has_passed


def test_places_and_missing_cells():
    frame = pl.DataFrame({"lat": [1.0, 1.5, None, None], "lon": [2.0, 2.0, None, 3.0], "s": [1, 2, 3, 3]})
    release = shoal.anonymize(
        frame,
        k=2,
        quasi=["home"],
        kinds={"home": "place(lat, lon)"},
        sensitive=["s"],
        method="gather",
        style="centres",
    )
    assert release.verdict.has_passed
    assert release.table["home"].to_list() == ["1.25 x 2.0", None]
    findings = shoal.verify(release.table, release.certificate, original=frame)
    assert [finding.claim for finding in findings if finding.holds is False] == []


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"method": "mondrian"}, "has no centres to publish"),
        ({"quasi": ["age", "group_size"]}, "publishes columns named group_size and group_radius"),
    ],
)
def test_what_the_style_cannot_do_is_said(words, what):
    frame = FRAME.with_columns(group_size=pl.lit(1))
    with pytest.raises(PlanError, match=what):
        shoal.anonymize(frame, **{**WORDS, **words})


@pytest.mark.parametrize("style", ["generalize", "suppress"])
def test_the_other_styles_still_work(style):
    release = shoal.anonymize(FRAME, **{**WORDS, "style": style})
    assert release.table.height == FRAME.height
    assert release.verdict.has_passed


def test_zero_and_minus_zero_are_one_counted_value_and_not_a_number_is_missing():
    frame = FRAME.with_columns(cost=pl.Series([0.0, -0.0, float("nan"), None, -0.0, 0.0, 1.5]))
    release = shoal.anonymize(frame, **WORDS)
    assert release.table["cost"].to_list() == ["{0.0: 2, : 1}", "{0.0: 2, 1.5, : 1}"]
    findings = shoal.verify(release.table, release.certificate, original=frame)
    assert not [finding for finding in findings if finding.holds is False]
