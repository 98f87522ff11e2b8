"""A release on disk: table, certificate and receipt, in an order that survives a kill at any moment.

Three files cannot be renamed at once, so the order and one detail make every moment in between safe:

1. the table is written whole under a temporary name, and its SHA-256 is taken;
2. the receipt, then the certificate get their names. Where they replace those of an older release, they
   carry the older ones along (`replaces`), so both the old and the new table have their certificate;
3. the table gets its name: the release is now the new one;
4. the certificate and the receipt are written once more without the older ones.

A kill before 2 changes nothing that has a name; between 2 and 3 the table is absent, or the old one with
a certificate that still vouches for it; after 3 it is the new one with its certificate. An error or Ctrl-C
before 3 puts the certificate and the receipt back as they were.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, NotAnonymous, PlanError, ShoalError
from shoal.model.certificate import Certificate
from shoal.model.files import Files, lookup_path
from shoal.model.plain import has_text
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.atomic import PRIVATE, PUBLIC, Draft, hash_of, is_same, sweep
from shoal.publish.target import as_data_error, check_ending, check_name

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_target", "write_release"]

Writer = Callable[["pl.DataFrame", Path, str], None]


def _write_csv(table: pl.DataFrame, path: Path, delimiter: str) -> None:
    for name, dtype in table.schema.items():
        if not has_text(dtype):
            kind = dtype.base_type().__name__  # the full name of an Enum lists its values
            raise DataError(f"Column {name!r} is a {kind}, which CSV cannot hold. Write Parquet or Arrow.")
    table.write_csv(path, separator=delimiter)


def _write_parquet(table: pl.DataFrame, path: Path, _delimiter: str) -> None:
    table.write_parquet(path)


def _write_arrow(table: pl.DataFrame, path: Path, _delimiter: str) -> None:
    table.write_ipc(path)


WRITERS: dict[str, Writer] = {
    ".csv": _write_csv,
    ".tsv": lambda table, path, _delimiter: _write_csv(table, path, "\t"),
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
    ".ipc": _write_arrow,
}


def check_target(
    path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = (), delimiter: str = ","
) -> Files:
    """Whether a release can be written to `path`, before any work is done for it."""
    table = check_ending(path, "output", WRITERS)
    files = Files.beside(table)
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise PlanError("The delimiter is not one plain character. Give one such as ',' or ';'.")
    sources = list(inputs)
    for target in (table, files.certificate, files.receipt):
        check_name(target, "output", inputs=sources)
    with as_data_error(table, "output"):
        _check_siblings(files)
        for target in (table, files.certificate, files.receipt):
            sweep(target)
        with Draft(table):
            pass
    return files


def write_release(
    table: pl.DataFrame,
    verdict: Verdict,
    certificate: Certificate,
    receipt: Receipt,
    path: str | os.PathLike[str],
    *,
    delimiter: str = ",",
    inputs: Iterable[str | os.PathLike[str]] = (),
    lookups: Mapping[str, pl.DataFrame] | None = None,
) -> Files:
    """Publish a table that has passed; there is no way around the verdict."""
    if not verdict.has_passed:
        raise NotAnonymous(f"The check failed and nothing was written. {' '.join(verdict.reasons)}")
    if verdict.k is None or verdict.k != certificate.k:
        raise NotAnonymous("The table was not judged for the certificate's k, so nothing was written.")
    sources = list(inputs)
    files = check_target(path, inputs=sources, delimiter=delimiter)
    files = replace(files, lookups=tuple(lookup_path(files.table, name) for name in lookups or {}))
    for target in files.lookups:
        check_name(target, "lookup table", inputs=sources)
    with as_data_error(files.table, "output"), Draft(files.table) as draft:
        WRITERS[files.table.suffix.lower()](table, draft.path, delimiter)
        draft.keep()
        release = draft.fingerprint()
        for target, lookup in zip(files.lookups, (lookups or {}).values(), strict=True):
            _place(target, lookup.write_csv())
        files = replace(files, formulas=_formulas(files.table, table, lookups or {}))
        sealed = certificate.sealed(release=release, original=receipt.original)
        _place_all(files, draft, sealed, receipt.sealed(release=release))
    return files


def _formulas(path: Path, table: pl.DataFrame, lookups: Mapping[str, pl.DataFrame]) -> dict[str, int]:
    """The cells by column that a spreadsheet would take for formulas, in files that it opens."""
    from shoal.publish.formulas import count_formulas  # a target is checked before Polars is there

    counts = count_formulas(table) if path.suffix.lower() in {".csv", ".tsv"} else {}
    for name, lookup in lookups.items():
        counts[name] = counts.get(name, 0) + sum(count_formulas(lookup).values())
    return {name: count for name, count in counts.items() if count}


def _place_all(files: Files, draft: Draft, certificate: Certificate, receipt: Receipt) -> None:
    old = _old_release(files)
    before = {name: _bytes(name) for name in (files.receipt, files.certificate)}
    try:
        _place(files.receipt, receipt.to_json(replaces=old.receipt), mode=PRIVATE)
        _place(files.certificate, certificate.to_json(replaces=old.certificate))
        draft.place()
    except BaseException:
        if draft.path.exists():  # the table has not got its name: nothing has happened
            _put_back(before)
        raise
    with contextlib.suppress(OSError):  # the release is complete; what follows only tidies
        if old.certificate is not None:
            _place(files.certificate, certificate.to_json())
        if old.receipt is not None:
            _place(files.receipt, receipt.to_json(), mode=PRIVATE)


def _place(target: Path, text: str, *, mode: int = PUBLIC) -> None:
    with Draft(target, mode=mode) as draft:
        draft.write(text)
        draft.place()


def _put_back(before: dict[Path, bytes | None]) -> None:
    for path, content in before.items():
        if content is None:
            path.unlink(missing_ok=True)
        elif _bytes(path) != content:
            mode = PRIVATE if path.name.endswith(".receipt.json") else PUBLIC
            _place(path, content.decode(), mode=mode)


@dataclass(frozen=True, slots=True)
class _Old:
    certificate: Certificate | None = None
    receipt: Receipt | None = None


def _old_release(files: Files) -> _Old:
    """What vouches for the table that is about to be replaced, as far as it does."""
    if not files.table.is_file():
        return _Old()
    release = hash_of(files.table)
    certificate, receipt = None, None
    with contextlib.suppress(OSError, UnicodeDecodeError, ShoalError):
        certificate = Certificate.of_json(files.certificate.read_text("utf-8"), release=release)
    with contextlib.suppress(OSError, UnicodeDecodeError, ShoalError):
        receipt = Receipt.of_json(files.receipt.read_text("utf-8"), release=release)
    return _Old(
        certificate if certificate is not None and certificate.release == release else None,
        receipt if receipt is not None and receipt.release == release else None,
    )


def _check_siblings(files: Files) -> None:
    """Refuse to take the certificate from a release that differs in its ending only."""
    content = _bytes(files.certificate)
    if content is None:
        return
    for suffix in WRITERS:
        sibling = files.table.with_suffix(suffix)
        if suffix == files.table.suffix or not sibling.is_file() or is_same(sibling, files.table):
            continue
        release = hash_of(sibling)
        found = None
        with contextlib.suppress(UnicodeDecodeError, ShoalError):
            found = Certificate.of_json(content.decode(), release=release).release
        if found == release:
            raise PlanError(
                f"{files.certificate.name!r} is the certificate of {sibling.name!r}. "
                "Write the release under another name."
            )


def _bytes(path: Path) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return None
