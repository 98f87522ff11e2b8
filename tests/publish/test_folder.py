"""A release of many files: the folder and its papers together, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.model.files import mark_of_folder
from shoal.publish.folder import check_new_folder, is_elsewhere, write_elsewhere, write_folder

Write = Callable[[str], None]


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    table = pl.DataFrame({"age": [20, 21, 35, 36] * 3, "flu": ["no", "yes"] * 6})
    return shoal.anonymize(table, k=3, quasi=["age"], sensitive=["flu"])


def papers(release: shoal.Release) -> tuple[Any, Any, Any]:
    return release.verdict, release.certificate, release.receipt


def writes(release: shoal.Release) -> Write:
    def write(place: str) -> None:
        folder = Path(place)
        folder.mkdir()
        release.table[:6].write_parquet(folder / "part-00000-abc.zstd.parquet")
        release.table[6:].write_parquet(folder / "part-00001-abc.zstd.parquet")
        (folder / ".part-00000-abc.zstd.parquet.crc").write_text("x")
        (folder / "_SUCCESS").touch()

    return write


def test_a_folder_appears_with_its_papers_and_is_verified(release: shoal.Release, tmp_path: Path) -> None:
    files = write_folder(writes(release), *papers(release), tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("out", "out.certificate.json", "out.receipt.json"),
    ]
    assert sorted(path.name for path in files.table.iterdir()) == [
        *("_SUCCESS", "part-00000.parquet", "part-00001.parquet"),
    ]
    assert files.receipt.stat().st_mode & 0o077 == 0
    found = shoal.verify(files.table, files.certificate)
    assert not [one for one in found if one.holds is False]
    (files.table / "part-00002.parquet").write_bytes((files.table / "part-00001.parquet").read_bytes())
    assert [one.claim for one in shoal.verify(files.table, files.certificate) if one.holds is False]


def test_a_writer_that_fails_leaves_nothing(release: shoal.Release, tmp_path: Path) -> None:
    def fail(place: str) -> None:
        writes(release)(place)
        raise shoal.NotAnonymous("It is not the same.")

    with pytest.raises(shoal.NotAnonymous):
        write_folder(fail, *papers(release), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_never_replaced(release: shoal.Release, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(shoal.PlanError, match="is there already"):
        check_new_folder(tmp_path / "out")
    with pytest.raises(shoal.PlanError, match="is there already"):
        write_folder(writes(release), *papers(release), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    release.write(tmp_path / "other.csv")
    with pytest.raises(shoal.PlanError, match="is the certificate of"):
        write_folder(writes(release), *papers(release), tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("other.certificate.json", "other.csv", "other.receipt.json", "out"),
    ]


def test_a_bad_verdict_writes_nothing(release: shoal.Release, tmp_path: Path) -> None:
    from dataclasses import replace

    bad = replace(release.verdict, reasons=("A class is too small.",))
    with pytest.raises(shoal.NotAnonymous):
        write_folder(writes(release), bad, release.certificate, release.receipt, tmp_path / "out")
    with pytest.raises(shoal.NotAnonymous):
        write_elsewhere(
            writes(release), list, bad, release.certificate, release.receipt, str(tmp_path / "out")
        )
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
import polars as pl
import shoal
from shoal.publish.folder import write_folder
table = pl.DataFrame({"age": [20, 21, 35, 36] * 3})
release = shoal.anonymize(table, k=3, quasi=["age"])
def write(place):
    Path(place).mkdir()
    release.table.write_parquet(Path(place) / "a.parquet")
    os.kill(os.getpid(), signal.SIGKILL)
write_folder(write, release.verdict, release.certificate, release.receipt, sys.argv[1])
"""


def test_a_kill_leaves_no_release_and_the_next_run_sweeps(release: shoal.Release, tmp_path: Path) -> None:
    target = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False, env={**os.environ})
    assert done.returncode == -9
    assert not target.exists()
    assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
    write_folder(writes(release), *papers(release), target)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("out", "out.certificate.json", "out.receipt.json"),
    ]


def test_elsewhere_the_certificate_comes_last(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far").mkdir()

    def write(address: str) -> None:
        assert not list(tmp_path.glob("*.json"))
        writes(release)(address)

    def marks() -> list[str]:
        from shoal.publish.atomic import hash_of

        return [hash_of(path) for path in sorted((tmp_path / "far" / "out").glob("*.parquet"))]

    files = write_elsewhere(write, marks, *papers(release), str(tmp_path / "far" / "out"))
    assert files.address == str(tmp_path / "far" / "out")
    assert files.certificate.exists()
    certificate = shoal.Certificate.of_json(files.certificate.read_text())
    (tmp_path / "far" / "out" / ".part-00000-abc.zstd.parquet.crc").unlink()
    assert certificate.release == mark_of_folder(tmp_path / "far" / "out")


def test_addresses_are_told_from_folders() -> None:
    assert is_elsewhere("s3a://bucket/out")
    assert is_elsewhere("dbfs:/out")
    assert not is_elsewhere("C:/out")
    assert not is_elsewhere("out/a")
