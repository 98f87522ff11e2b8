"""Series through the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.app import app_of
from shoal.cli.guard import guarded
from shoal.model.register import RegisterState
from shoal.run.whose import persons_of

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


# a register

REGISTER = [*WORDS, "--rule", "ill: 2-diverse", "--method", "mondrian"]


@pytest.fixture
def register(tmp_path):
    """Two tables of a register, and its first release."""
    FRAME[:30].write_csv(tmp_path / "jan.csv")
    FRAME[5:].write_csv(tmp_path / "apr.csv")
    done = run(
        *("anonymize", tmp_path / "jan.csv", *REGISTER, "--series", "register", "-o", tmp_path / "q1.csv")
    )
    assert done.exit_code == 0
    return tmp_path


def follow(folder, *more, words=REGISTER, name="q2.csv"):
    return [
        "anonymize",
        folder / "apr.csv",
        *words,
        "--after",
        folder / "q1.state",
        *more,
        "-o",
        folder / name,
    ]


def refused(folder, words, says, capfd):
    """Exit 2, words on stderr without a canary, and every file as it was."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capfd.readouterr()
    assert guarded(app_of(), [str(word) for word in words]) == 2
    shown = capfd.readouterr()
    assert says in " ".join(shown.err.split())
    assert "canary" not in shown.err + shown.out
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_register_is_published_and_verified(register):
    second = run(*follow(register))
    assert second.exit_code == 0
    assert "Release 2 of a register. It follows release 1." in " ".join(second.output.split())
    assert "canary" not in second.output
    shown = run(
        *("verify", register / "q2.csv", register / "q2.certificate.json", "--before", register / "q1.csv")
    )
    assert shown.exit_code == 0


def test_a_state_is_verified_with_the_table_behind_it(register, capfd):
    assert run(*follow(register)).exit_code == 0
    words = [
        "verify",
        register / "q2.csv",
        register / "q2.certificate.json",
        "--before",
        register / "q1.csv",
    ]
    asked = " ".join(run(*words, "--original", register / "apr.csv").output.split())
    assert "--state" in asked.partition("give ")[2]
    given = ["--original", register / "apr.csv", "--receipt", register / "q2.receipt.json"]
    shown = run(*words, *given, "--state", register / "q2.state", "--json")
    said = {one["claim"]: one["holds"] for one in json.loads(shown.output)["findings"]}
    assert shown.exit_code == 0
    assert all(said[claim] for claim in ("state", "former state", "rows", "persons"))
    wrong = run(*words, "--state", register / "q1.state")
    assert wrong.exit_code == 3
    assert "is of release 1; this is release 2" in " ".join(wrong.output.split())
    assert "canary" not in asked + shown.output + wrong.output
    refused(register, [*words, "--state", register / "apr.csv"], "no file that Shoal wrote", capfd)


def test_a_state_is_followed_once_or_redone(register, capfd):
    assert run(*follow(register)).exit_code == 0
    refused(register, follow(register, name="q3.csv"), "already made after this state", capfd)
    assert run(*follow(register, "--redo")).exit_code == 0
    refused(register, follow(register, name="q1.csv"), "already made after this state", capfd)


def test_redo_needs_a_state(register, capfd):
    words = ["anonymize", register / "apr.csv", *REGISTER, "--series", "register", "--redo"]
    refused(register, [*words, "-o", register / "z.csv"], "follows no state", capfd)


def test_an_older_state_beside_a_newer_is_refused(register, capfd):
    old = (register / "q1.state").read_bytes()
    assert run(*follow(register)).exit_code == 0
    (register / "q1.state").write_bytes(old)
    refused(register, follow(register, name="q3.csv"), "Release 2 of this series is there", capfd)


def test_another_plan_a_person_twice_and_a_second_series_are_refused(register, capfd):
    other = ["-k", "4", *REGISTER[2:]]
    refused(register, follow(register, words=other), "differs from that of release 1 in: k", capfd)
    second = ["anonymize", register / "apr.csv", *REGISTER, "--series", "register"]
    refused(register, [*second, "-o", register / "z.csv"], "A second series of the same persons", capfd)
    pl.concat([FRAME[5:], FRAME[5:7]]).write_csv(register / "apr.csv")
    refused(register, follow(register), "names 2 persons twice", capfd)


def test_persons_are_forgotten_by_a_file(register):
    gone = register / "gone.txt"
    gone.write_text("canary-person-0\ncanary-person-1\n")
    done = run(*follow(register, "--forget", gone))
    assert done.exit_code == 0
    assert "canary" not in done.output
    kept = RegisterState.of_bytes((register / "q2.state").read_bytes())
    asked = persons_of(pl.Series(["canary-person-0", "canary-person-1", "canary-person-2"]), kept.key)
    assert (kept.find(asked) >= 0).tolist() == [False, False, True]
