"""A first plan says whom k counts and asks for a rule; it runs as it stands."""

from __future__ import annotations

import polars as pl
import pytest

import shoal


def plan_of(frame: pl.DataFrame, tmp_path) -> tuple[dict, str]:
    text = shoal.guess_plan(frame)
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    return shoal.plan_words(tmp_path / "plan.yaml"), text


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


def visits() -> pl.DataFrame:
    rows = range(60)
    return pl.DataFrame(
        {
            "patient_nbr": [f"zq{row // 2}" for row in rows],
            "age": [f"[{row % 10 * 10}-{row % 10 * 10 + 10})" for row in rows],
            "weight": ["?"] * 50 + ["[75-100)"] * 5 + [">200"] * 5,
            "zip": [f"0{row % 7}123" for row in rows],
            "seen": [f"{row % 28 + 1}.03.2020" for row in rows],
            "diag_1": [["zq250.8", "zqV45", "zq401"][row % 3] for row in rows],
            "readmitted": [["no", "yes"][row % 2] for row in rows],
            "stage": ["x"] * 60,
        }
    )


def test_guesses_are_values_with_reasons_and_without_cells():
    guesses = shoal.guess(visits())
    by_name = {one.name: one for one in guesses.columns}
    assert [one.role for one in guesses.columns] == [
        *("identifier", "quasi", "quasi", "quasi", "quasi", "sensitive", "sensitive", ""),
    ]
    assert by_name["age"].kind == "tree"
    assert guesses.hierarchies == {"age": "bins(20, 40)", "zip": "prefixes(5, 3, 1)"}
    assert by_name["seen"].kind == "date(%d.%m.%Y)"
    assert (guesses.unit, guesses.why_unit) == (
        "patient_nbr",
        "30 of its values stand in 60 rows, one in up to 2",
    )
    assert guesses.rules == ("diag_1: 2-diverse", "readmitted: 2-diverse")
    assert guesses.missing == ("?",)
    assert by_name["weight"].marks == 50
    assert "outcome" in by_name["readmitted"].why
    assert all(one.why for one in guesses.columns)
    assert "zq" not in repr(guesses)


def test_the_plan_says_what_the_guesses_say_and_runs_as_it_stands(tmp_path):
    words, text = plan_of(visits(), tmp_path)
    guesses = shoal.guess(visits())
    assert {name: tree.text for name, tree in words["hierarchies"].items()} == guesses.hierarchies
    assert (words["unit"], words["rules"], words["missing"]) == (
        guesses.unit,
        guesses.rules,
        guesses.missing,
    )
    assert "# weights:\n#   age: 1" in text
    assert "zq" not in text
    assert shoal.anonymize(visits(), **words).verdict.has_passed


def test_a_key_without_a_telling_name_is_found_by_its_shape():
    reference = [f"K{row // 2:06d}" for row in range(40)]
    guesses = shoal.guess(table(reference=reference))
    assert guesses.columns[0].role == "identifier"
    assert "a key that repeats" in guesses.columns[0].why
    assert guesses.unit == "reference"
    assert shoal.guess(table(reference=reference[:4] * 10)).columns[0].role == ""


def test_a_direct_run_guesses_as_the_plan_does():
    release = shoal.anonymize(visits(), k=2, quasi=["seen"], unit="rows")
    assert release.guessed == {"seen": "date(%d.%m.%Y)"}
    assert release.certificate.plan.kinds == {"seen": "date(%d.%m.%Y)"}
    assert release.table["seen"][0].startswith("2020-03-01")


def test_a_german_date_that_was_guessed_is_verified_against_the_original(tmp_path):
    release = shoal.anonymize(visits(), k=2, quasi=["seen"], unit="rows")
    files = release.write(tmp_path / "out.csv")
    findings = shoal.verify(files.table, files.certificate, original=visits(), receipt=files.receipt)
    assert not [finding for finding in findings if not finding.holds]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([f"{row // 60:02d}:{row % 60:02d}" for row in range(400)], "times of day"),
        ([f"{row % 12 + 1:02d}/{row // 12 + 1:02d}/2020" for row in range(60)], "date.%d/%m/%Y. or date"),
        ([*map(str, range(100)), "zqcanary"], "1 of its 101 cells is no number"),
    ],
)
def test_many_labels_that_look_like_something_else_are_a_question_before_the_run(cells, said):
    frame = pl.DataFrame({"seen": cells})
    with pytest.raises(shoal.DataError, match=said) as caught:
        shoal.anonymize(frame, k=2, quasi=["seen"])
    assert (caught.value.field, caught.value.column) == ("kinds", "seen")
    assert "zq" not in str(caught.value)
    assert shoal.anonymize(frame, k=2, quasi=["seen"], kinds={"seen": "label"}).verdict.has_passed


def test_a_written_plan_is_never_written_over(tmp_path):
    path = tmp_path / "plan.yaml"
    assert shoal.write_plan(visits(), path, of="visits.csv") == path
    assert path.read_text("utf-8") == shoal.guess_plan(visits(), path="visits.csv")
    path.write_text("k: 7\n")
    with pytest.raises(shoal.PlanError, match="there already"):
        shoal.write_plan(visits(), path)
    assert path.read_text() == "k: 7\n"
    with pytest.raises(shoal.PlanError, match="no ending"):
        shoal.write_plan(visits(), tmp_path / "plan.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["plan.yaml"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_a_plan_as_powershell_writes_it_is_read(encoding, tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("k: 5\nquasi: [Größe]\n", encoding=encoding)
    assert shoal.plan_words(path) == {"k": 5, "quasi": ("Größe",)}


def test_a_column_of_countries_gets_its_regions():
    frame = pl.DataFrame({"Nationality": ["DE", "AT", "FRA", None], "country": ["DE", "zq", "AT", "FR"]})
    assert [one.hierarchy for one in shoal.guess(frame).columns] == ["countries()", ""]


def test_a_builder_for_codes_of_illnesses_is_shown_beside_those_that_are_used(tmp_path):
    frame = pl.DataFrame({"diag_1": ["250.83", "428", "V45", "250"], "age": [1, 2, 3, 4]})
    found = {one.name: one for one in shoal.guess(frame).columns}
    assert (found["diag_1"].role, found["diag_1"].hierarchy) == ("sensitive", "icd9()")
    text = shoal.guess_plan(frame)
    assert '#   diag_1: "icd9()"  # fits, were it a quasi-identifier' in text
    assert "diag_1" not in shoal.guess(frame).hierarchies
    codes = pl.DataFrame({"Diagnose": ["E11.9", "E11", "I10.0", "J44"]})
    assert shoal.guess(codes).columns[0].hierarchy == "icd10()"


def test_guesses_are_shown_a_line_for_each_column():
    cells = {"patient_id": ["zqa", "zqa", "zqb"], "age": [1, 2, 3], "note": ["zqx", "zqy", "zqx"]}
    guesses = shoal.guess(pl.DataFrame(cells))
    first, *lines = repr(guesses).splitlines()
    assert "k counts patient_id" in first
    assert [line.split()[0] for line in lines] == ["patient_id", "age", "note"]
    assert "zq" not in repr(guesses)
