"""`python -O` leaves asserts out: every guard that protects people is still there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("*.py") if "kernels" not in path.relative_to(SOURCE).parts)
TABLE = "age,sex,ill\n" + "".join(f"{20 + row % 9},{'mf'[row % 2]},{'xyz'[row % 3]}\n" for row in range(24))
SCRIPT = """
import sys
from dataclasses import replace
import polars as pl
import shoal
from shoal import engines
from shoal.errors import BrokenPromise

assert False, "python -O leaves this out"
frame = shoal.read_table("in.csv").frame
words = {"k": 3, "quasi": ["age", "sex"], "sensitive": ["ill"], "rules": ["ill: 2-diverse"]}
files = shoal.anonymize(frame, **words).write("out.csv")
found = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
if not all(finding.holds for finding in found):
    sys.exit("an honest release was denied")
if not shoal.check_table(pl.read_csv("out.csv", infer_schema=False), quasi=["age", "sex"], k=3).has_passed:
    sys.exit("a good table was denied")

memory = engines.load("memory")
made, judged = memory.recode, memory.check

def broken(*given, **words):
    finished = made(*given, **words)
    table = finished.judged
    return replace(finished, judged=table.with_columns(pl.Series("age", ["99", *table["age"][1:]])))

def finding(*given, **words):
    return replace(judged(*given, **words), reasons=("A class is too small.",))

for recode, check in ((broken, judged), (made, finding)):
    memory.recode, memory.check = recode, check
    try:
        shoal.anonymize(frame, **words).write("bad.csv")
    except (shoal.NotAnonymous, BrokenPromise) as error:
        print(type(error).__name__)
"""


def test_asserts_only_tell_types():
    """What they guard would fail in the next line anyway; a guard of people raises an error."""
    told = (ast.Is, ast.IsNot)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert):
                test = node.test
                is_none = isinstance(test, ast.Compare) and isinstance(test.ops[0], told)
                is_type = isinstance(test, ast.Call) and ast.unparse(test.func) == "isinstance"
                assert is_none or is_type, f"{path}:{node.lineno}"


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), *sys.path])}
    line = [sys.executable, *words]
    return subprocess.run(line, cwd=folder, env=own, capture_output=True, text=True, check=False)


def test_a_whole_release_without_asserts(tmp_path):
    (tmp_path / "in.csv").write_text(TABLE)
    ran = python(tmp_path, "-O", "-c", SCRIPT)
    assert (ran.returncode, ran.stdout) == (0, "BrokenPromise\nNotAnonymous\n"), ran.stderr
    assert not [*tmp_path.glob("bad*")]


@pytest.mark.parametrize("flag", [[], ["-O"]])
def test_a_promise_that_breaks_is_a_bug_and_nothing_is_written(tmp_path, flag):
    (tmp_path / "in.csv").write_text(TABLE)
    script = (
        "from shoal import engines, errors\n"
        "from shoal.cli import main\n"
        "def group(*_):\n    raise errors.BrokenPromise('zqcanary')\n"
        "engines.load('memory').group = group\n"
        "main('anonymize in.csv -k 3 -q age,sex -o out.csv'.split())\n"
    )
    ran = python(tmp_path, *flag, "-c", script)
    assert ran.returncode == 1
    assert "BrokenPromise" in ran.stderr
    assert "This is a bug" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
