"""Series through the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.app import app_of
from shoal.cli.guard import guarded

FRAME = pl.DataFrame(
    {
        "who": [f"canary-person-{i}" for i in range(40)],
        "age": [20 + i * 7 % 31 for i in range(40)],
        "ill": [["canary-flu", "canary-cold", "canary-pox"][i % 3] for i in range(40)],
    }
)
WORDS = ["-k", "3", "-q", "age", "-s", "ill", "--unit", "who", "--effort", "quick"]


def run(*words):
    return CliRunner().invoke(app_of(), [str(word) for word in words])


@pytest.fixture
def batches(tmp_path):
    FRAME[:20].write_csv(tmp_path / "jan.csv")
    FRAME[20:].write_csv(tmp_path / "apr.csv")
    return tmp_path


def test_a_ledger_is_published_and_verified(batches):
    first = run("anonymize", batches / "jan.csv", *WORDS, "--series", "ledger", "-o", batches / "q1.csv")
    assert first.exit_code == 0
    assert "Release 1 of a ledger." in first.output
    second = run(
        *("anonymize", batches / "apr.csv", *WORDS, "--after", batches / "q1.certificate.json"),
        *("-o", batches / "q2.csv"),
    )
    assert second.exit_code == 0
    assert "Release 2 of a ledger. It follows release 1." in second.output
    assert "canary" not in first.output + second.output
    words = ("verify", batches / "q2.csv", batches / "q2.certificate.json")
    assert "give --original, --receipt, --before" in " ".join(run(*words).output.split())
    shown = run(*words, "--before", batches / "q1.csv")
    assert shown.exit_code == 0
    assert "release 1" in shown.output
    said = json.loads(run(*words, "--json", "--before", batches / "q1.csv").output)
    assert {one["claim"] for one in said["findings"]} >= {"release 1", "series"}


def test_another_plan_exits_2_and_writes_nothing(batches, capfd):
    run("anonymize", batches / "jan.csv", *WORDS, "--series", "ledger", "-o", batches / "q1.csv")
    there = sorted(batches.iterdir())
    words = ["anonymize", batches / "apr.csv", "-k", "4", *WORDS[2:]]
    words += ["--after", batches / "q1.certificate.json", "-o", batches / "q2.csv"]
    assert guarded(app_of(), [str(word) for word in words]) == 2
    said = capfd.readouterr().err
    assert "differs from that of release 1 in: k" in said
    assert "canary" not in said
    assert sorted(batches.iterdir()) == there
