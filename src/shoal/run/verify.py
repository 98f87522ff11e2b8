"""A certificate recomputed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shoal import engines
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.files import lookup_path
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import words_of
from shoal.model.receipt import Receipt
from shoal.model.verdict import Finding
from shoal.read.frames import to_polars
from shoal.read.table import read_table
from shoal.run.plans import graphs_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["verify"]


def verify(
    release: Any,
    certificate: Any,
    *,
    original: Any = None,
    receipt: Any = None,
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    graphs: Mapping[str, Any] | None = None,
    lookups: Mapping[str, Any] | None = None,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
) -> tuple[Finding, ...]:
    """Recompute what a certificate claims: everything holds where no finding's `holds` is False.

    `release` and `original` are files or frames; `certificate` and `receipt` files or values. Hierarchies
    are needed for the loss of trees, graphs for that of regions, missing marks for the original. Lookups of
    published ids are looked for beside the release.
    """
    at = engines.load("local")
    table, digest = _table_of(release, delimiter)
    if isinstance(certificate, str | os.PathLike):
        certificate = Certificate.of_json(_text_of(certificate), release=digest)
    if isinstance(receipt, str | os.PathLike):
        receipt = Receipt.of_json(_text_of(receipt), release=digest)
    if not isinstance(certificate, Certificate):
        raise PlanError("The certificate is neither a file nor a shoal.Certificate.")
    if receipt is not None and not isinstance(receipt, Receipt):
        raise PlanError("The receipt is not a file that Shoal wrote.")
    table = _written_out(at, table, release, certificate, lookups or {})
    before, _ = _table_of(original, delimiter) if original is not None else (None, None)
    findings: list[Finding] = at.verify(
        table,
        certificate,
        digest=digest,
        original=before,
        receipt=receipt,
        hierarchies=hierarchies or {},
        graphs=graphs_of(graphs or {}),
        missing=words_of("missing", missing),
    )
    return tuple(findings)


def _written_out(
    at: ModuleType, table: pl.DataFrame, release: Any, certificate: Certificate, given: Mapping[str, Any]
) -> pl.DataFrame:
    """The table with the sets behind its ids, from the lookup tables that were certified."""
    marks = certificate.more.get("lookups")
    if not isinstance(marks, Mapping):
        return table
    found: dict[str, pl.DataFrame] = {}
    for name, mark in marks.items():
        source = given.get(name)
        if source is None and isinstance(release, str | os.PathLike):
            source = lookup_path(release, name)
        if source is None:
            raise DataError(
                f"The lookup table of column {name!r} is needed to verify its ids. Give lookups."
            )
        lookup, _ = _table_of(source, None)
        if at.digest_of(lookup) != mark:
            raise DataError(f"The lookup table of column {name!r} is not the one that was certified.")
        found[name] = lookup
    written: pl.DataFrame = at.from_ids(table, found)
    return written


def _table_of(table: Any, delimiter: str | None) -> tuple[pl.DataFrame, str | None]:
    """A frame from a file, with its SHA-256, or from any frame."""
    if not isinstance(table, str | os.PathLike):
        return to_polars(table)[1], None
    frame = read_table(os.fspath(table), delimiter=delimiter).frame
    with open(table, "rb") as file:
        return frame, hashlib.file_digest(file, "sha256").hexdigest()


def _text_of(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"The file {str(path)!r} cannot be read. Give the file that Shoal wrote.") from None
