"""From a file nobody has seen to a report: repeating patients, marks, codes and bands are guessed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import shoal
from shoal.cli import main

ROWS = 1500


@pytest.fixture
def admissions(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    script = Path(__file__).parent.parent / "examples" / "make_diabetes.py"
    spec = importlib.util.spec_from_file_location("make_diabetes", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path / "admissions.csv", ROWS)
    return tmp_path


def run(*words: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert not end.value.code


def test_a_first_plan_runs_to_the_report_without_an_edit(admissions, capfd):
    run("plan", "admissions.csv", "-o", "plan.yaml")
    words = shoal.plan_words("plan.yaml")
    assert words["unit"] == "patient_nbr"
    assert words["identifier"] == ("encounter_id", "patient_nbr")
    assert words["missing"] == ("?",)
    assert set(words["quasi"]) == {
        *("race", "gender", "age", "weight", "admission_type_id", "discharge_disposition_id")
    }
    assert {"diag_1", "diag_2", "readmitted"} <= set(words["sensitive"])
    assert {"diag_1: 2-diverse", "diag_2: 2-diverse"} <= set(words["rules"])
    assert {name: tree.text for name, tree in words["hierarchies"].items()} == {
        "age": "bins(20, 40)",
        "weight": "bins(50, 100)",
    }
    assert words["kinds"]["admission_type_id"] == "label"
    run("anonymize", "admissions.csv", "--plan", "plan.yaml", "-o", "out.csv")
    run("check", "out.csv", "--plan", "plan.yaml")
    files = ("out.csv", "out.certificate.json", "--original", "admissions.csv", "--plan", "plan.yaml")
    run("report", *files, "-o", "report.html")
    page = (admissions / "report.html").read_text("utf-8")
    assert "k = 5" in page
    assert "Linkage trial: an attacker" in page
    assert "--hierarchies FOLDER" not in page
    command = "shoal verify out.csv out.certificate.json --original FILE --receipt FILE --plan PLAN"
    assert command in page
    given = {"FILE --receipt": "admissions.csv --receipt", "FILE --plan": "out.receipt.json --plan"}
    for word, path in given.items():
        command = command.replace(word, path)
    capfd.readouterr()
    run(*command.replace("PLAN", "plan.yaml").split()[1:])
    run("report", *files[:4], "-o", "again.html")
    said = capfd.readouterr().out
    assert "Linkage trial: not measured. The plan has missing marks." in said


def test_the_generator_tells_how_it_is_called(tmp_path):
    import subprocess
    import sys

    script = Path(__file__).parent.parent / "examples" / "make_diabetes.py"
    ran = subprocess.run(
        [sys.executable, script, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "FILE [ROWS]" in ran.stderr + ran.stdout
    assert not list(tmp_path.iterdir())


def test_a_share_in_percent_is_told_how_to_write(admissions, capfd):
    with pytest.raises(SystemExit):
        main(["anonymize", "admissions.csv", "-k", "5", "-q", "age", "--withhold", "5%", "-o", "out.csv"])
    assert "0.05 for 5 %" in capfd.readouterr().err
