"""Terminals of other encodings, and pipes whose reader goes away: nothing breaks, nothing is a bug."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from shoal.cli import main

ODD = "n🐟me→é"
ENCODINGS = ["ascii", "latin-1", "utf-8"]


def ended(monkeypatch, line: str, **streams: io.TextIOWrapper) -> int:
    """The exit code of `shoal` with other streams in the place of its own."""
    with monkeypatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as end:
            main(line.split())
    return int(end.value.code or 0)


@pytest.fixture
def shoal(folder, monkeypatch):
    """Run `shoal` with a stdout and stderr of some encoding; their bytes come back."""
    lines = (folder / "in.csv").read_text().replace("born", ODD)
    (folder / "in.csv").write_text(lines, encoding="utf-8")

    def call(encoding: str, line: str) -> tuple[int, bytes, bytes]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
        code = ended(monkeypatch, line, stdout=out, stderr=err)
        for stream in (out, err):
            stream.flush()
        return code, out.buffer.getvalue(), err.buffer.getvalue()  # type: ignore[attr-defined]

    return call


@pytest.fixture
def unread():
    """A stream into a pipe that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as stream:
        yield stream


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_terminal_that_lacks_letters_gets_others_in_their_place(shoal, folder, encoding):
    code, out, _ = shoal(encoding, f"anonymize in.csv -k 3 -q age,zip --keep {ODD} -o out.csv")
    assert code == 0
    assert b"8 of 8 rows published" in out
    assert ("█" if encoding == "utf-8" else "#") in out.decode(encoding)
    assert (folder / "out.csv").read_text(encoding="utf-8").splitlines()[0] == f"age,zip,{ODD}"
    code, out, _ = shoal(encoding, "verify out.csv out.certificate.json")
    assert code == 0
    assert out.decode(encoding).startswith("✓" if encoding == "utf-8" else "+")
    code, out, _ = shoal(encoding, f"risk in.csv -q age,{ODD}")
    assert code == 0
    assert (b"n\\U0001f41fme\\u2192\\xe9" in out) == (encoding == "ascii")
    code, _, err = shoal(encoding, f"check in.csv -q {ODD},zipp")
    assert code == 2
    assert err.startswith(b"Error: The table has no column 'zipp'.")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_is_json_in_every_encoding(shoal, encoding):
    code, out, _ = shoal(encoding, f"anonymize in.csv -k 3 -q age --keep {ODD} -o out.csv --json")
    assert code == 0
    assert json.loads(out.decode(encoding))["certificate"]["plan"]["keep"] == [ODD]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_printed_plan_is_utf8_as_plan_files_are(shoal, encoding):
    code, out, _ = shoal(encoding, "plan in.csv")
    assert code == 0
    assert "me→é" in out.decode()


@pytest.mark.parametrize("line", ["methods", "methods --json", "anonymize --help", "check in.csv -q age"])
def test_a_reader_who_goes_away_is_no_bug(folder, capfd, monkeypatch, unread, line):
    assert ended(monkeypatch, line, stdout=unread) == 141
    assert capfd.readouterr().err == ""


def test_a_reader_who_goes_away_hides_no_failed_check(folder, monkeypatch, unread):
    assert ended(monkeypatch, "check in.csv -q age -k 8 --json", stdout=unread) != 0
