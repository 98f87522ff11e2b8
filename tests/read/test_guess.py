"""A first plan says whom k counts and asks for a rule; it runs as it stands."""

from __future__ import annotations

import polars as pl
import pytest

import shoal


def plan_of(frame: pl.DataFrame, tmp_path) -> tuple[dict, str]:
    text = shoal.guess_plan(frame)
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    return shoal.read_plan(tmp_path / "plan.yaml"), text


def table(**columns) -> pl.DataFrame:
    rows = 40
    return pl.DataFrame(
        {
            **columns,
            "age": [20 + row // 2 for row in range(rows)],
            "diagnosis": ["zqflu", "zqcold", "zqgout", "zqpain"] * (rows // 4),
        }
    )


@pytest.mark.parametrize(
    "name", ["patient_id", "patient_nbr", "Patientennr", "PatientNr", "person_id", "subject id", "user_id"]
)
def test_a_number_of_persons_that_repeats_becomes_the_unit(name, tmp_path):
    frame = table(**{name: [f"zq{row // 2}" for row in range(40)]})
    words, text = plan_of(frame, tmp_path)
    assert words["identifier"] == (name,)
    assert words["unit"] == name
    assert "20 of its values stand in 40 rows, one in up to 2" in text
    assert "zq" not in text
    release = shoal.anonymize(frame, **words)
    assert release.verdict.persons.fewest >= 5


def test_an_id_that_repeats_becomes_the_unit_unless_it_has_few_values(tmp_path):
    words, _ = plan_of(table(id=[row // 2 for row in range(40)]), tmp_path)
    assert words["unit"] == "id"
    words, _ = plan_of(table(ward_id=["a"] * 40), tmp_path)
    assert "unit" not in words


def test_a_number_of_persons_goes_before_names_and_before_finer_ids(tmp_path):
    frame = table(
        admission_id=[f"a{row}" for row in range(40)],
        name=[f"zq{row // 4}" for row in range(40)],
        patient_id=[f"p{row // 2}" for row in range(40)],
    )
    words, _ = plan_of(frame, tmp_path)
    assert words["unit"] == "patient_id"
    # where each number stands once, it still parts those who share a name
    words, _ = plan_of(frame.with_columns(patient_id=pl.Series([f"p{row}" for row in range(40)])), tmp_path)
    assert words["unit"] == "patient_id"
    assert shoal.anonymize(frame, **words).verdict.has_passed


def test_without_a_repeating_identifier_rows_are_counted(tmp_path):
    words, text = plan_of(table(patient_id=[f"p{row}" for row in range(40)]), tmp_path)
    assert "unit" not in words
    assert "# unit: rows" in text


def test_a_rule_is_asked_for_where_values_are_mixed(tmp_path):
    frame = table().with_columns(hiv=pl.Series(["no"] * 39 + ["yes"]))
    words, text = plan_of(frame, tmp_path)
    assert words["rules"] == ("diagnosis: 2-diverse",)
    assert '#  - "hiv: 2-diverse"' in text
    assert shoal.anonymize(frame, **words).verdict.rules[0].measured >= 2


@pytest.mark.parametrize(
    "name", ["diagnosis: a", 'diagnosis "x"', "diagnosis, main", "diagnosis:", "#diagnosis"]
)
def test_odd_names_of_sensitive_columns_survive_in_rules(name, tmp_path):
    words, _ = plan_of(table().rename({"diagnosis": name}), tmp_path)
    assert [shoal.Rule.parse(text).column for text in words["rules"]] == [name]
