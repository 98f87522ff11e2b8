"""Publishing: only what passed, whole or not at all, in an order that survives a kill at any moment."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.model.certificate import Certificate
from shoal.model.receipt import Receipt, fingerprint
from shoal.publish import table as publishing


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    frame = pl.DataFrame(
        {
            "age": [20, 21, 22, 40, 41, 42],
            "sex": list("mfmmff"),
            "ill": ["a;b", 'say "x"', None, "c", "d", "e"],
        }
    )
    return shoal.anonymize(frame, k=3, quasi=["age", "sex"], sensitive=["ill"], method="k-member")


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def vouched(folder: Path, name: str = "out.csv") -> bool:
    """Whether the table in `folder` has a certificate for exactly these bytes."""
    release = digest(folder / name)
    text = (folder / "out.certificate.json").read_text()
    return Certificate.of_json(text, release=release).release == release


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("out.csv", lambda path: pl.read_csv(path, infer_schema=False)),
        ("out.parquet", pl.read_parquet),
        ("out.arrow", pl.read_ipc),
        ("out.CSV", lambda path: pl.read_csv(path, infer_schema=False)),
    ],
)
def test_a_release_is_three_files_that_fit_each_other(release, tmp_path, name, read):
    files = release.write(tmp_path / name)
    assert sorted(listing(tmp_path)) == sorted([name, "out.certificate.json", "out.receipt.json"])
    assert read(files.table).rows() == release.table.rows()
    certificate = json.loads(files.certificate.read_text())
    receipt = json.loads(files.receipt.read_text())
    assert certificate["release"] == receipt["release"] == digest(files.table)
    assert certificate["original"] == receipt["original"]
    assert receipt["salt"] not in files.certificate.read_text()
    assert stat.S_IMODE(files.receipt.stat().st_mode) == 0o600


def test_the_delimiter_is_the_one_asked_for(release, tmp_path):
    files = release.write(tmp_path / "out.csv", delimiter=";")
    read = pl.read_csv(files.table, separator=";", infer_schema=False)
    assert read.rows() == release.table.rows()


def test_the_receipt_is_never_readable_by_others(release, tmp_path, monkeypatch):
    modes = []
    replace = os.replace

    def spy(source, target):
        modes.append((Path(target).name, stat.S_IMODE(os.stat(source).st_mode)))
        replace(source, target)

    before = os.umask(0)
    try:
        monkeypatch.setattr(os, "replace", spy)
        release.write(tmp_path / "out.csv")
    finally:
        os.umask(before)
    assert modes == [("out.receipt.json", 0o600), ("out.certificate.json", 0o666), ("out.csv", 0o666)]


def test_the_copy_of_an_older_receipt_is_as_private_as_it_was(release, tmp_path, monkeypatch):
    files = release.write(tmp_path / "out.csv")
    files.certificate.chmod(0o640)
    before = listing(tmp_path)
    seen = []
    replace = os.replace

    def failing(source, target):
        seen.extend(
            stat.S_IMODE(path.stat().st_mode)
            for path in tmp_path.glob(".shoal-*")
            if b"salt" in path.read_bytes()
        )
        if Path(target).name == "out.csv":
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(shoal.DataError, match="Nothing was published"):
        release.write(tmp_path / "out.csv", delimiter=";")
    assert set(seen) == {0o600}
    assert listing(tmp_path) == before
    assert stat.S_IMODE(files.receipt.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.certificate.stat().st_mode) == 0o640


def test_the_fingerprint_needs_the_salt_and_every_cell():
    frame = pl.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    receipt = Receipt.of(frame)
    assert receipt.original == fingerprint([frame], receipt.salt)
    assert receipt.original != Receipt.of(frame).original
    other = pl.DataFrame({"a": ["x", "z"], "b": [1, 2]})
    assert fingerprint([other], receipt.salt) != receipt.original


def test_a_failed_verdict_writes_nothing(release, tmp_path):
    verdict = dataclasses.replace(release.verdict, reasons=("The smallest class has 1 record.",))
    with pytest.raises(shoal.NotAnonymous, match="nothing was written"):
        dataclasses.replace(release, verdict=verdict).write(tmp_path / "out.csv")
    assert not listing(tmp_path)


def test_a_verdict_for_another_k_writes_nothing(release, tmp_path):
    verdict = dataclasses.replace(release.verdict, k=2)
    with pytest.raises(shoal.NotAnonymous):
        dataclasses.replace(release, verdict=verdict).write(tmp_path / "out.csv")
    assert not listing(tmp_path)


@pytest.mark.parametrize("name", ["out.xyz", "out", "absent/out.csv", "file/out.csv", "folder.csv"])
def test_an_impossible_target_writes_nothing(release, tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "folder.csv").mkdir()
    before = listing(tmp_path)
    with pytest.raises((shoal.PlanError, shoal.DataError)):
        release.write(tmp_path / name)
    assert listing(tmp_path) == before
    assert not listing(tmp_path / "folder.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_an_error(release, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(shoal.DataError, match="cannot be written"):
        release.write(tmp_path / "out.csv")


def test_a_full_disk_leaves_nothing_behind(release, tmp_path, monkeypatch):
    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(shoal.DataError, match="No space left"):
        release.write(tmp_path / "out.csv")
    assert not listing(tmp_path)


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
def test_an_input_is_never_overwritten(release, tmp_path, link):
    source = tmp_path / "in.csv"
    source.write_text("precious")
    target = source if link == "same" else tmp_path / "out.csv"
    if link == "symbolic":
        target.symlink_to(source)
    if link == "hard":
        target.hardlink_to(source)
    with pytest.raises(shoal.PlanError, match="one of the inputs"):
        release.write(target, inputs=[source])
    assert source.read_text() == "precious"


def test_the_certificate_of_a_sibling_is_not_taken(release, tmp_path):
    release.write(tmp_path / "out.csv")
    with pytest.raises(shoal.PlanError, match=r"is the certificate of 'out\.csv'"):
        release.write(tmp_path / "out.parquet")
    assert vouched(tmp_path)


def test_the_certificate_of_a_sibling_with_capitals_is_not_taken(release, tmp_path):
    release.write(tmp_path / "out.CSV")
    with pytest.raises(shoal.PlanError, match=r"is the certificate of 'out\.CSV'"):
        release.write(tmp_path / "out.csv")
    assert vouched(tmp_path, "out.CSV")


def test_writing_again_leaves_plain_files(release, tmp_path):
    files = release.write(tmp_path / "out.csv")
    release.write(tmp_path / "out.csv", delimiter=";")
    assert "replaces" not in json.loads(files.certificate.read_text())
    assert "replaces" not in json.loads(files.receipt.read_text())
    assert vouched(tmp_path)


def test_csv_refuses_what_it_cannot_hold(tmp_path):
    frame = pl.DataFrame({"age": [1, 1], "visits": [[1], [2]]})
    release = shoal.anonymize(frame, k=2, quasi=["age"], keep=["visits"], method="k-member")
    with pytest.raises(shoal.DataError, match="'visits'"):
        release.write(tmp_path / "out.csv")
    assert not listing(tmp_path)
    release.write(tmp_path / "out.parquet")


def test_every_ending_is_named_in_the_error():
    with pytest.raises(shoal.PlanError) as caught:
        publishing.check_target("out.docx")
    assert all(suffix in str(caught.value) for suffix in publishing.WRITERS)


FORMULAS = ["=1+2", "+49 30 12", "-2+3", "@me", "\t=1", "- none", "＝A1"]  # noqa: RUF001
PLAIN = ["-5", "+1.5", "-1.234,5", "-1e-3", "+5 %", "-", "--", "=", "x=1", "", "a-b", None]


def test_cells_that_look_like_formulas_are_counted_and_left_as_they_are(tmp_path):
    cells = FORMULAS + PLAIN
    frame = pl.DataFrame({"age": [1] * len(cells), "ill": cells, "note": ["x"] * len(cells)})
    made = shoal.anonymize(frame, k=3, quasi=["age"], sensitive=["ill"], keep=["note"], method="k-member")
    files = made.write(tmp_path / "out.csv")
    assert dict(files.formulas) == {"ill": len(FORMULAS)}
    written = pl.read_csv(files.table, infer_schema=False)["ill"].to_list()
    assert sorted(cell or "" for cell in written) == sorted(cell or "" for cell in cells)
    assert made.write(tmp_path / "typed.parquet").formulas == {}


def test_formulas_in_a_lookup_table_are_counted_too(tmp_path):
    frame = pl.DataFrame({"job": ["=a", "b", "c"] * 2})
    made = shoal.anonymize(frame, k=6, quasi=["job"], cells="id", method="k-member")
    assert dict(made.write(tmp_path / "out.csv").formulas) == {"job": 1}
