"""A release of many files: a folder of Parquet files, its certificate and receipt beside it.

Somebody else writes the files, such as Spark. On a file system of this machine they are written to a hidden
folder beside the target, read again, and the folder gets its name when its receipt and certificate have
theirs: whoever looks sees nothing or all. Where names cannot be changed, such as in an object store, the
files are written where they stay, and the certificate, in a file of this machine, comes last: without it
there is no release.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.files import Files, mark_of_files
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.alone import alone_in
from shoal.publish.atomic import PRIVATE, Drafts, FolderDraft, sync_folder
from shoal.publish.change import change, replace_file
from shoal.publish.table import check_siblings
from shoal.publish.target import as_data_error, check_folder, check_name
from shoal.publish.verdict import check_verdict

__all__ = ["check_elsewhere", "check_new_folder", "is_elsewhere", "write_elsewhere", "write_folder"]

Write = Callable[[str], None]
"""Writes Parquet files to a folder that is not there yet, and reads them again; raises if they differ."""


def is_elsewhere(path: str | os.PathLike[str]) -> bool:
    """Whether a place is named by an address, such as s3://bucket/out, and is no folder of this machine.

    >>> is_elsewhere("s3://bucket/out"), is_elsewhere("out/")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)) is not None


def check_new_folder(
    path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()
) -> Files:
    """Whether a release can be written to a folder, before any work is done for it: it must be new."""
    target = Path(path)
    if not target.name:
        raise PlanError(f"The output {str(path)!r} has no name. Give the name of a new folder.")
    check_is_new(target)
    files = Files.beside(target)
    for paper in (files.certificate, files.receipt):
        check_name(paper, "output", inputs=inputs)
    check_folder(target, "output")
    with as_data_error(target, "output"):
        check_siblings(files)
    return files


def check_is_new(target: Path) -> None:
    """Refuse a name that is taken: a folder cannot be replaced in one step."""
    if os.path.lexists(target):
        raise PlanError(
            f"The output {str(target)!r} is there already. A release of many files needs a new folder: "
            "choose another name, or remove it first."
        )


def write_folder(
    write: Write,
    verdict: Verdict,
    certificate: Certificate,
    receipt: Receipt,
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Files:
    """Publish a table that has passed to a new folder of this machine, all of it or nothing."""
    check_verdict(verdict, certificate)
    files = check_new_folder(path, inputs=inputs)
    with as_data_error(files.table, "output"), Drafts(files.table) as drafts:
        draft = drafts.new_folder(files.table)
        write(os.fspath(draft.path))
        _name_parts(draft)
        draft.keep()
        release = draft.fingerprint()
        sealed = certificate.sealed(release=release, original=receipt.original)
        kept = drafts.new(files.receipt, mode=PRIVATE)
        kept.write(receipt.sealed(release=release, certificate=sealed.digest).to_json())
        shown = drafts.new(files.certificate)
        shown.write(sealed.to_json())
        folder = files.table.parent
        with alone_in(folder):
            check_is_new(files.table)
            check_siblings(files)
            before = [replace_file(drafts, kept), replace_file(drafts, shown)]
            change(before, draft, [partial(sync_folder, folder)], folders=[folder])
    return files


def _name_parts(draft: FolderDraft) -> None:
    """Names without what a writer adds to them, in the same order; checksums of its own go."""
    for path in draft.path.glob(".*.crc"):
        path.unlink()
    for at, path in enumerate(sorted(draft.path.glob("*.parquet"))):
        path.rename(path.with_name(f"part-{at:05d}.parquet"))


def write_elsewhere(
    write: Write,
    marks: Callable[[], Sequence[str]],
    verdict: Verdict,
    certificate: Certificate,
    receipt: Receipt,
    address: str,
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Files:
    """Publish a table that has passed where names cannot be changed; its papers go to files here.

    `marks` gives the SHA-256 of every file that was written, by name.
    """
    check_verdict(verdict, certificate)
    stored = check_elsewhere(address, inputs=inputs)
    write(address)
    release = mark_of_files(marks())
    sealed = certificate.sealed(release=release, original=receipt.original)
    try:
        with as_data_error(stored.certificate, "certificate"), Drafts(stored.certificate) as drafts:
            kept = drafts.new(stored.receipt, mode=PRIVATE)
            kept.write(receipt.sealed(release=release, certificate=sealed.digest).to_json())
            shown = drafts.new(stored.certificate)
            shown.write(sealed.to_json())
            with alone_in(stored.certificate.parent):
                kept.place()
                shown.place()
                sync_folder(stored.certificate.parent)
    except DataError as error:
        raise DataError(
            f"The table {address} is written, but its certificate is not. Remove it, and write it once "
            f"more. {error}"
        ) from None
    return stored


def check_elsewhere(address: str, *, inputs: Iterable[str | os.PathLike[str]] = ()) -> Files:
    """Where the papers of such a release go: to files of its name in the current folder."""
    name = address.rstrip("/").rpartition("/")[2]
    plain = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name)
    if not plain.strip("."):
        raise PlanError(f"The output {address!r} has no name. Give the name of a new folder.")
    files = Files.beside(plain)
    for paper in (files.certificate, files.receipt):
        check_name(paper, "certificate", inputs=inputs)
    check_folder(files.certificate, "certificate")
    return replace(files, address=address)
