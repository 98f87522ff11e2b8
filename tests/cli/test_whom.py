"""Whom k counts, on the command line and in plan files."""

from __future__ import annotations

import json

import pytest

BASE = (
    "anonymize",
    "many.csv",
    "-k",
    "3",
    "-q",
    "age",
    "-s",
    "ill",
    "--identifier",
    "who",
    "-o",
    "out.csv",
)
ROWS = [("zqa", 20), ("zqa", 20), ("zqa", 21), ("zqb", 50), ("zqc", 51), ("zqd", 52), ("zqe", 20)]


@pytest.fixture
def many(folder):
    lines = [f"{who},{age},{'xy'[at % 2]},{2 + at}" for at, (who, age) in enumerate(ROWS * 2)]
    (folder / "many.csv").write_text("\n".join(["who,age,ill,n", *lines]) + "\n")
    return folder


def written(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("out"))


def test_a_repeating_identifier_ends_with_exit_2_and_nothing_written(run, many):
    ran = run(*BASE)
    assert ran.code == 2
    assert "The identifier 'who' repeats" in ran.err
    assert "unit = who for persons" in ran.err
    assert "The option for unit is --unit." in ran.err
    assert "zq" not in ran.said
    assert written(many) == []


def test_a_unit_or_the_word_rows_lets_it_run(run, many):
    ran = run(*BASE, "--unit", "who", "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    assert said["verdict"]["persons"]["fewest"] >= 3
    assert run(*BASE, "--unit", "rows").code == 0
    (many / "plan.yaml").write_text("k: 3\nquasi: [age]\nidentifier: [who]\nunit: rows\n")
    ran = run("anonymize", "many.csv", "--plan", "plan.yaml", "-o", "out.csv")
    assert ran.code == 0, ran.err
    assert "k counts rows, as was asked for" in ran.out
    assert run("verify", "out.csv", "out.certificate.json", "--original", "many.csv").code == 0


def test_a_count_that_fills_k_alone_ends_with_exit_2_until_it_is_of_persons(run, many):
    words = ("anonymize", "many.csv", "-k", "3", "-q", "age", "-o", "out.csv")
    ran = run(*words, "--count", "n")
    assert ran.code == 2
    assert "A sampling weight is no count" in ran.err
    assert written(many) == []
    assert run(*words, "--count", "persons(n)").code == 0
    (many / "plan.yaml").write_text("k: 3\nquasi: [age]\ncount: persons(n)\n")
    ran = run("anonymize", "many.csv", "--plan", "plan.yaml", "-o", "out.csv")
    assert ran.code == 0, ran.err
    assert run("verify", "out.csv", "out.certificate.json", "--original", "many.csv").code == 0
    assert run("check", "out.csv", "-q", "age", "-k", "3", "--count", "persons(n)").code == 0


def test_a_column_with_another_role_takes_the_place_of_a_count_of_persons(run, many):
    (many / "plan.yaml").write_text("k: 3\nquasi: [age]\ncount: persons(n)\n")
    ran = run("anonymize", "many.csv", "--plan", "plan.yaml", "-s", "n", "-o", "out.csv")
    assert ran.code == 0, ran.err


def test_risk_attack_and_check_take_a_unit(run, many):
    ran = run("risk", "many.csv", "-q", "ill", "--unit", "who", "--json")
    found = json.loads(ran.out)["risk"]
    assert (found["records"], found["persons"]) == (14, 5)
    ran = run("attack", "many.csv", "--known", "many.csv", "--match", "age", "--unit", "who", "--json")
    assert json.loads(ran.out)["attack"]["by_person"] is True
    ran = run("check", "many.csv", "-q", "age", "-k", "2", "--unit", "who")
    assert ran.code == 3
    assert "5 persons, 1 to 2 in a class." in ran.out


def test_without_a_unit_the_words_are_of_records(run, many):
    (many / "many.csv").write_text((many / "many.csv").read_text().replace("who", "patient_id"))
    ran = run("risk", "many.csv", "-q", "ill", "--json")
    assert json.loads(ran.out)["is_high"] is None
    said = " ".join(run("risk", "many.csv", "-q", "ill").out.split())
    assert "NOTHING IS SAID OF PERSONS" in said
    assert "LOW RISK" not in said
    ran = run("check", "many.csv", "-q", "ill", "-k", "5")
    assert ran.code == 0
    said = " ".join(ran.out.split())
    assert "Every class holds at least 7 records: k = 5 is met." in said
    assert "Count persons with unit = patient_id" in said
    said = " ".join(run("attack", "many.csv", "--known", "many.csv", "--match", "ill").out.split())
    assert "at least 7 candidate records" in said
    assert "Count persons with unit = patient_id" in said
