"""Databases from the command line: the same promises, and no password on the screen."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app_of
from shoal.cli.guard import guarded

SECRET = "canary-pa55"
ROLES = ("-k", "3", "-q", "age,town", "-s", "ill")
pytest.importorskip("adbc_driver_sqlite", reason="the extra 'sqlite' is not installed")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    from adbc_driver_sqlite.dbapi import connect

    rows = {"age": [20 + i for i in range(12)], "town": ["A", "B"] * 6, "ill": ["flu", "cold"] * 6}
    with connect("file:in.db") as made, made.cursor() as cursor:
        cursor.adbc_ingest("people", pl.DataFrame(rows).to_arrow())
        made.commit()


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app_of(), list(words))
    return done.exit_code, done.output


def test_a_table_comes_from_a_database_and_goes_to_one() -> None:
    words = ("anonymize", "sqlite:in.db", "--table", "people", *ROLES, "-o", "sqlite:in.db#out")
    code, said = run(*words)
    assert code == 0, said
    assert "sqlite:in.db#out" in said
    assert "out.certificate.json" in said
    assert shoal.read_database("sqlite:in.db#out").frame.height == 12
    assert run("verify", "sqlite:in.db#out", "out.certificate.json")[0] == 0
    assert run("check", "sqlite:in.db#out", "-q", "age,town", "-k", "3")[0] == 0
    assert "quasi" in run("plan", "sqlite:in.db#people")[1]


def test_a_query_is_read_and_facts_are_json() -> None:
    query = "select * from people where age > 22"
    words = ("anonymize", "sqlite:in.db", "--query", query, *ROLES, "-o", "out.csv", "--json")
    code, said = run(*words)
    assert code == 0, said
    assert json.loads(said)["certificate"]["records"] == 9


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sqlite:in.db#people", "-o", "sqlite:in.db#people"), "is the table that is read"),
        (("sqlite:in.db", "-o", "sqlite:in.db#out"), "either a table or a query"),
        (("sqlite:in.db#nothing", "-o", "out.csv"), "no table of that name"),
        (("sqlite:in.db#people", "-o", "sqlite:in.db"), "which table"),
        (("in.csv", "--table", "t", "-o", "out.csv"), "is a file"),
        (("sqlite:in.db#people", "-o", "out.csv", "--replace"), "--replace is for"),
        (("sqlite:in.db#people", "-o", "out.csv", "--certificate", "c.json"), "--certificate is for"),
        (("sqlite:in.db#people", "-o", "sqlite:in.db#out", "--map", "m.html"), "A map goes with a file"),
        ((f"mysql://a:{SECRET}@h/b#t", "-o", "out.csv"), "adbc_driver_mysql"),
        ((f"postgresql://a:{SECRET}@/b?host=/nowhere#t", "-o", "out.csv"), "no server answers"),
        (("sqlite:in.db#people", "-o", f"postgresql://a:{SECRET}@/b?host=/nowhere#t"), "no server answers"),
        (("sqlite:in.db#people", "-o", f"postgresql://a:x/{SECRET}@h/b#t"), "cannot be read"),
        (("sqlite:in.db#people", "-o", "sqlite:in.db#out", "--cells", "id"), "lookup tables"),
    ],
)
def test_bad_words_are_told_and_nothing_is_written(
    words: tuple[str, ...], expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("in.csv").write_text("age,town,ill\n1,a,b\n")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert guarded(app_of(), ["anonymize", *words, *ROLES]) == 2
    out, err = capfd.readouterr()
    assert expected in " ".join(err.split())
    assert SECRET not in out + err
    after = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert after.keys() == before.keys()
    assert shoal.read_database("sqlite:in.db#people").frame.height == 12
