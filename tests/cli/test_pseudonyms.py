"""Pseudonyms on the command line: --pseudonym, --key, and verify --key."""

from __future__ import annotations

import json
import stat

import pytest

BASE = ("anonymize", "people.csv", "-k", "3", "-q", "age", "-s", "ill", "-o", "out.csv")
NAMED = (*BASE, "--pseudonym", "who", "--key", "ward.key")


@pytest.fixture
def people(folder):
    lines = [f"zq{i:02d},{20 + i},{'xyz'[i % 3]}" for i in range(12)]
    (folder / "people.csv").write_text("\n".join(["who,age,ill", *lines]) + "\n")
    return folder


def written(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_release_has_pseudonyms_and_names_its_key(run, people):
    ran = run(*NAMED)
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "Column who holds keyed pseudonyms" in said
    assert "ward.key (private: whoever has it" in said
    key = people / "ward.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_text().strip() not in ran.said
    assert "zq" not in ran.said + (people / "out.csv").read_text()
    verify = ("verify", "out.csv", "out.certificate.json", "--original", "people.csv")
    whole = (*verify, "--receipt", "out.receipt.json", "--strict")
    ran = run(*whole)
    assert ran.code == 3
    assert "give --key" in ran.out
    ran = run(*whole, "--key", "ward.key")
    assert ran.code == 0, ran.out
    assert run(*whole, "--key", "nothing.key").code == 2


def test_a_plan_file_says_it_and_facts_hold_no_key(run, people):
    (people / "plan.yaml").write_text("k: 3\nquasi: [age]\nidentifier: [who]\npseudonym: who\n")
    ran = run(
        "anonymize", "people.csv", "--plan", "plan.yaml", "--key", "ward.key", "-o", "out.csv", "--json"
    )
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["certificate"]["plan"]["pseudonym"] == "who"
    assert (people / "ward.key").read_text().strip() not in ran.said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((*BASE, "--pseudonym", "who"), "The option for key is --key."),
        ((*BASE, "--key", "ward.key"), "The option for pseudonym is --pseudonym."),
        ((*BASE, "--pseudonym", "nobody", "--key", "ward.key"), "nobody"),
        ((*NAMED, "--engine", "stream"), "in memory"),
        ((*NAMED, "--series", "ledger"), "series does not fit"),
        ((*NAMED, "--count", "age"), "count"),
        ((*BASE, "--pseudonym", "who", "--key", "people.csv"), "key file"),
        ((*BASE[:-1], "here.key.csv", "--pseudonym", "who", "--key", "open.key"), "open to others"),
    ],
)
def test_bad_words_end_with_exit_2_and_nothing_written(run, people, words, expected):
    (people / "open.key").write_text("0123456789abcdef" * 4)
    (people / "open.key").chmod(0o644)
    before = written(people)
    ran = run(*words)
    assert ran.code == 2, ran.out
    assert expected in " ".join(ran.err.split())
    assert "zq" not in ran.said
    assert "0123456789abcdef" not in ran.said
    assert written(people) == before


def test_the_release_never_takes_the_place_of_the_key(run, people):
    ran = run(*BASE, "--pseudonym", "who", "--key", "out.csv")
    assert ran.code == 2
    assert "one of the inputs" in ran.err
    assert len((people / "out.csv").read_text()) == 65
