"""A mistyped line, and compiled code that speaks for itself: nothing that was typed or read is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from shoal.cli.usage import without_words

ADDRESS = "postgresql://ward:zqsecret@host/clinic"


@pytest.mark.parametrize(
    "line",
    [
        ("anonymize", "in.csv", ADDRESS, "-o", "out.csv"),
        ("anonymize", "in.csv", "zqsecret", "-o", "out.csv"),
        ("methods", ADDRESS),
        (ADDRESS,),
        ("check", "in.csv", f"--from={ADDRESS}"),
        ("check", "in.csv", f"--{ADDRESS}"),
        ("anonymize", "in.csv", "-kzqsecret", "-o", "out.csv"),
        ("anonymize", "in.csv", "-k", "zqsecret", "-o", "out.csv"),
        ("anonymize", "in.csv", "--plan", ADDRESS, "-o", "out.csv"),
        ("anonymize", "in.csv", "-k", "3", "-q", "sex", "--effort", ADDRESS, "-o", "out.csv"),
        ("anonymize", "in.csv", "-k", "3", "-q", "sex", "--hierarchies", f"sex={ADDRESS}", "-o", "out.csv"),
        ("apply", "in.csv", "--recoding", ADDRESS, "-o", "out.csv"),
        ("tabulate", ADDRESS, "--by", "sex"),
        ("tabulate", "postgresql://host/clinic?password=zqsecret", "--by", "sex"),
        ("verify", "in.csv", ADDRESS),
        ("report", "in.csv", ADDRESS, "-o", "out.html"),
        ("workbench", ADDRESS),
    ],
    ids=" ".join,
)
def test_a_mistyped_line_shows_no_password(run, folder, line):
    ran = run(*line)
    assert ran.code == 2, ran.said
    assert "zqsecret" not in ran.said
    assert ran.err
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv"]


def test_names_of_options_and_commands_are_shown_again(run):
    assert "'anonymise'" in run("anonymise").err
    assert "--quazi" in run("check", "in.csv", "--quazi", "age").err


def test_a_value_is_hidden_however_the_parser_quotes_it():
    assert without_words("'zq' is not a valid integer.", ["-k", "zq"]) == "'...' is not a valid integer."
    assert "zq" not in without_words("Invalid value: 'zq'", ["--k=zq"])
    assert "zq" not in without_words("Got unexpected extra argument (zq)", ["zq"])


PANIC = """
import os
import sys
import polars as pl
import shoal.read.table

def panic(path):
    os.write(2, b"thread panicked at zqcell")
    raise pl.exceptions.PanicException("zqcell")

shoal.read.table.READERS[".parquet"] = panic
sys.argv = ["shoal", "check", "in.parquet", "-q", "age"]
shoal.cli.main()
"""


NOISE = """
import os
import sys
import shoal.cli

def noisy(*given, **words):
    os.write(1, b"what a solver prints")
    os.write(2, b"and another one")
    if os.open(os.devnull, os.O_RDONLY) <= 2:
        os._exit(77)
    return real(*given, **words)

real, shoal.check_table = shoal.check_table, noisy
sys.argv = ["shoal", "check", "in.csv", "-k", "2", "-q", "age", "--json"]
shoal.cli.main()
"""


def test_what_solvers_print_does_not_come_between_our_lines(folder):
    (folder / "in.csv").write_text("age\n1\n1\n")
    ran = subprocess.run([sys.executable, "-c", NOISE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["has_passed"]
    assert ran.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the outputs")
def test_where_outputs_are_closed_no_other_file_takes_their_numbers(folder):
    (folder / "in.csv").write_text("age\n1\n1\n")
    (folder / "noise.py").write_text(NOISE)
    ran = subprocess.run(["sh", "-c", 'exec "$0" noise.py >&- 2>&-', sys.executable], check=False)
    assert ran.returncode == 0


def test_what_compiled_code_writes_to_standard_error_is_not_shown(folder):
    (folder / "in.parquet").write_bytes(b"PAR1 and no more")
    code = f"import shoal.cli\n{PANIC}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "zqcell" not in ran.stdout + ran.stderr
    assert "cannot be read as a .parquet file" in ran.stderr
