"""A folder with a small table, and the command line run inside this process."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from shoal.cli import main

TABLE = """name,age,zip,sex,born,ill,note,visits
Ada,34,02139,f,1990-01-05,flu,a,3
Bob,36,02138,m,1988-03-01,cold,b,1
Cyd,35,02139,f,1989-07-21,flu,c,2
Dan,61,90210,m,1963-02-11,gout,d,2
Eve,63,90211,f,1961-12-30,cold,e,1
Fay,60,90210,f,1964-05-05,gout,f,4
Gus,62,90213,m,1962-09-17,flu,g,1
Gus,33,02141,m,1991-11-02,gout,h,1
"""


@dataclasses.dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "in.csv").write_text(TABLE)
    return tmp_path


@pytest.fixture
def run(capfd, folder):
    """Run `shoal` with arguments; blanks separate them where one text is given."""

    def call(*arguments: object) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(one) for one in arguments])
        out, err = capfd.readouterr()
        return Ran(int(end.value.code or 0), out, err)

    return call
