"""A plan, or a certificate, says what other commands need; what is typed overrides it."""

from __future__ import annotations

import json

import polars as pl
import pytest

import shoal

PLAN = """
k: 2
unit: name
identifier: [name]
quasi: [age, sex]
sensitive: [ill]
rules: ["ill: 2-diverse"]
kinds: {age: number, sex: label}
missing: ["?"]
"""


@pytest.fixture
def plan(folder):
    (folder / "plan.yaml").write_text(PLAN)
    return "plan.yaml"


@pytest.fixture
def release(run, plan):
    ran = run("anonymize", "in.csv", "--plan", plan, "-o", "out.csv")
    assert ran.code == 0, ran.err
    return "out.csv"


@pytest.mark.parametrize("by", ["plan.yaml", "out.certificate.json"])
def test_check_takes_a_plan_or_a_certificate(run, release, by):
    said = json.loads(run("check", release, "--plan", by, "--json").out)["verdict"]
    typed = run(
        "check", release, "-q", "age,sex", "-s", "ill", "-k", 2, "--rules", "ill: 2-diverse", "--json"
    )
    assert said == json.loads(typed.out)["verdict"]
    assert run("check", "in.csv", "--plan", by).code == 3
    assert run("check", release, "--plan", by, "-k", 7, "--json").code == 3


def test_check_by_a_plan_knows_bounds_and_refuses_another_table(run, plan, folder):
    assert run("anonymize", "in.csv", "--plan", plan, "--cells", "bounds", "-o", "out.csv").code == 0
    assert run("check", "out.csv", "--plan", plan).code == 0
    (folder / "other.csv").write_text("a,b\n1,2\n1,2\n")
    ran = run("check", "other.csv", "--plan", plan)
    assert ran.code == 2
    assert "'age'" in ran.err


@pytest.mark.parametrize("by", ["plan.yaml", "out.certificate.json"])
def test_risk_takes_a_plan_or_a_certificate(run, release, by):
    found = json.loads(run("risk", "in.csv", "--plan", by, "--json").out)["risk"]
    assert found["persons"] == 7
    assert [one["columns"] for one in found["pairs"]] == [["age", "sex"]]


@pytest.mark.parametrize("by", ["plan.yaml", "out.certificate.json"])
def test_attack_takes_a_plan_or_a_certificate(run, release, by):
    by_plan = json.loads(run("attack", release, "--known", "in.csv", "--plan", by, "--json").out)
    typed = run(
        "attack", release, "--known", "in.csv", "--match", "age,sex", "-s", "ill", "-k", 2, "--json"
    )
    assert by_plan == json.loads(typed.out)


def test_attack_knows_missing_marks(run, release, folder):
    text = (folder / "in.csv").read_text().replace(",34,", ",?,")
    (folder / "known.csv").write_text(text)
    words = ("attack", release, "--known", "known.csv", "--match", "age,sex", "--json")
    without = json.loads(run(*words).out)["attack"]
    told = json.loads(run(*words, "--missing", "?").out)["attack"]
    assert told["found"] == without["found"] + 1
    frame = pl.read_csv(folder / "known.csv", infer_schema=False)
    table = pl.read_csv(folder / release, infer_schema=False)
    match = {"age": "age", "sex": "sex"}
    assert shoal.attack(table, frame, match=match, missing=["?"]).found == told["found"]


def test_verify_and_report_take_a_plan(run, release, plan, folder):
    words = (release, "out.certificate.json", "--original", "in.csv", "--receipt", "out.receipt.json")

    def open_with(*more) -> set[str]:
        found = json.loads(run("verify", *words, *more, "--json").out)["findings"]
        return {one["claim"] for one in found if one["holds"] is None}

    # missing marks are told by a fingerprint, so without them the original cannot be read as it was
    assert open_with("--plan", plan) < open_with()
    assert run("report", *words, "--plan", plan, "-o", "report.html").code == 0


def test_a_plan_says_how_the_table_is_written(run, folder):
    text = "größe;alter;sex\n" + "1,5;20;f\n1,6;21;f\n1,7;30;m\n1,8;31;m\n"
    (folder / "latin.csv").write_bytes(text.encode("latin-1"))
    lines = ["k: 2", "quasi: [größe, alter]", "encoding: latin-1", "delimiter: semicolon", "decimal: ','"]
    (folder / "latin.yaml").write_text("\n".join(lines), encoding="utf-8")
    assert run("anonymize", "latin.csv", "--plan", "latin.yaml", "-o", "out.csv").code == 0
    assert "größe" in (folder / "out.csv").read_text("utf-8").splitlines()[0]
    assert run("risk", "latin.csv", "--plan", "latin.yaml").code == 0
    ran = run("anonymize", "latin.csv", "--plan", "latin.yaml", "--encoding", "utf-8", "-o", "no.csv")
    assert ran.code == 2
    assert not (folder / "no.csv").exists()


def test_one_name_for_one_thing(run, folder):
    words = ("anonymize", "in.csv", "-k", 2, "-q", "age,zip", "-s", "ill")
    both = []
    for plural in ("", "s"):
        ran = run(
            *words,
            *(f"--kind{plural}", "age=number"),
            *(f"--weight{plural}", "age=2"),
            *(f"--rule{plural}", "ill: 2-diverse"),
            *("--hierarchies" if plural else "--hierarchy", "zip=prefixes(5,3)"),
            *("-o", f"out{plural}.csv"),
        )
        assert ran.code == 0, ran.err
        both.append((folder / f"out{plural}.csv").read_bytes())
    assert both[0] == both[1]


def test_a_release_is_attacked_and_measured_as_it_is(folder):
    frame = pl.read_csv(folder / "in.csv", schema_overrides={"zip": pl.String})
    release = shoal.anonymize(frame, k=2, quasi=["age", "sex"], sensitive=["ill"], unit="rows")
    found = shoal.attack(release, frame)
    match = {"age": "age", "sex": "sex"}
    assert found == shoal.attack(release.table, frame, match=match, sensitive=["ill"])
    assert shoal.risk(release) == shoal.risk(release.table, quasi=["age", "sex"])
    with pytest.raises(shoal.PlanError, match="match must be a mapping"):
        shoal.attack(release.table, frame)


def test_a_first_plan_says_how_its_table_is_written(run, folder):
    (folder / "latin.csv").write_bytes("größe;age\n1;20\n2;21\n".encode("latin-1"))
    ran = run("plan", "latin.csv", "--encoding", "latin-1", "--delimiter", "semicolon", "-o", "first.yaml")
    assert ran.code == 0
    words = shoal.plan_words("first.yaml")
    assert (words["encoding"], words["delimiter"]) == ("latin-1", "semicolon")
    with pytest.raises(shoal.PlanError, match="by 'ending'"):
        shoal.guess_plan(pl.DataFrame({"a": [1]}), ending="csv")
