"""First steps are light: nothing is loaded before it is needed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FRAMES = {"polars", "pyarrow", "narwhals", "pandas"}
CELLS = {"numpy", *FRAMES}
SOLVERS = {"numba", "llvmlite", "scipy", "matplotlib"}
OTHERS = {"narwhals", "pyarrow", "pandas", "yaml"}
"""Readers of what a CSV file is not."""
UNASKED = {"shoal.encode", "shoal.model.certificate", "shoal.check.verify", "shoal.cli.commands.anonymize"}
"""Rooms that a judgement of a table alone does not enter."""
TABLE = "age,sex,flu\n" + "20,f,yes\n21,f,no\n" * 5 + "30,m,no\n31,m,yes\n" * 5
ASKED = {
    "import shoal": ("import shoal", CELLS | SOLVERS | {"yaml"}),
    "what fields mean": ("import shoal; shoal.FIELDS['k']", CELLS | SOLVERS | {"yaml"}),
    # which looks at a certificate that may be there, and so at a plan
    "a target": ("import shoal; shoal.check_target('out.csv')", FRAMES | SOLVERS | {"yaml"}),
    "a map": ("import shoal; shoal.check_map('out.html')", CELLS | SOLVERS | {"yaml"}),
    "a plot": ("import shoal; shoal.check_plot('out.svg')", CELLS | SOLVERS | {"yaml"}),
    "a report": (
        "import shoal; shoal.check_report('out.html')",
        CELLS | SOLVERS | {"yaml", "jinja2"},
    ),
    "a table": ("import shoal; shoal.read_table('in.csv')", SOLVERS | OTHERS),
    "help": ("run('--help')", CELLS | SOLVERS | {"yaml"}),
    "shoal check": ("run('check', 'in.csv', '-q', 'age,sex', '-s', 'flu')", SOLVERS | OTHERS | UNASKED),
    "shoal check with rules": (
        "run('check', 'in.csv', '-q', 'sex', '-s', 'flu', '-k', '5', '--rule', 'flu: 2-diverse')",
        SOLVERS | OTHERS | UNASKED,
    ),
    "shoal risk": ("run('risk', 'in.csv', '-q', 'age,sex')", SOLVERS | OTHERS),
    "shoal risk of a sample": (
        "run('risk', 'in.csv', '-q', 'age,sex', '--sampling', '0.1')",
        SOLVERS | OTHERS,
    ),
    "shoal plan": ("run('plan', 'in.csv')", SOLVERS | OTHERS - {"yaml"}),
    "a bad target": (
        "run('anonymize', 'in.csv', '-k', '2', '-q', 'age', '-o', 'in.csv', code=2)",
        FRAMES | SOLVERS | {"yaml"},
    ),
    "a release": (
        "run('anonymize', 'in.csv', '-k', '5', '-q', 'age', '-o', 'out.csv')",
        {"matplotlib", "jinja2", "pandas"},
    ),
}
START = """
import sys

def run(*words, code=0):
    from shoal.cli import main
    try:
        main(list(words))
    except SystemExit as end:
        assert (end.code or 0) == code, end.code

"""


@pytest.mark.parametrize(("code", "heavy"), ASKED.values(), ids=ASKED)
def test_nothing_is_loaded_before_it_is_needed(code, heavy, tmp_path):
    (tmp_path / "in.csv").write_text(TABLE)
    ask = (
        f"{START}{code}\nprint([name for name in {sorted(heavy)} if name in sys.modules], file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", ask],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
