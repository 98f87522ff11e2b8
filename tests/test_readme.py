"""The README's ten lines run one after another as they stand, on the first rows of the example."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from shoal.cli import main

ROOT = Path(__file__).parent.parent
ROWS = 400


def test_the_ten_lines_of_the_command_line_run_in_order(tmp_path, monkeypatch, capfd):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## The command line in ten lines\n\n```sh\n(.*?)```", text, re.DOTALL)[1]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(lines) == 10
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    table = tmp_path / "examples" / "hospital.csv"
    table.write_text("".join(table.read_text(encoding="utf-8").splitlines(keepends=True)[: ROWS + 1]))
    monkeypatch.chdir(tmp_path)
    for name, *words in lines:
        assert name == "shoal"
        with pytest.raises(SystemExit) as end:
            main(words)
        assert not end.value.code, (words, capfd.readouterr().err)
