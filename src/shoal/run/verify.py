"""The story of a verification: a certificate held against its files, claim by claim."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.check.chain import verify_chain
from shoal.check.original import verify_original
from shoal.check.states import NO_STATE
from shoal.check.verify import verify_release
from shoal.encode import encode
from shoal.encode.published import as_published
from shoal.errors import DataError, PlanError, ShoalError
from shoal.group import METHODS, fill_options
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.files import Files, lookups_beside, mark_of_folder
from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Plan, words_of
from shoal.model.pseudonym import Key
from shoal.model.receipt import Receipt
from shoal.model.verdict import GIVE, Finding
from shoal.read.frames import to_polars
from shoal.read.key import read_key
from shoal.read.large import has_many_cells, needs_stream
from shoal.read.scan import scan_table
from shoal.read.table import read_table
from shoal.recode import digest_of, from_ids
from shoal.run.findings import (
    GIVE_ORIGINAL,
    GIVE_RECEIPT,
    Given,
    Whole,
    bound_findings,
    bound_named,
    built_trees,
    end_findings,
    original_finding,
    ranges_seen,
    run_findings,
)
from shoal.run.listed import list_findings, of_rows
from shoal.run.outsider import is_release
from shoal.run.plans import graphs_of
from shoal.run.register import hiding
from shoal.run.stated import Stated, person_findings, state_findings
from shoal.run.verify_stream import verify_stream

if TYPE_CHECKING:
    import polars as pl

__all__ = ["verify"]


def verify(
    release: Any,
    certificate: Any = None,
    *,
    original: Any = None,
    receipt: Any = None,
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    graphs: Mapping[str, Any] | None = None,
    lookups: Mapping[str, Any] | None = None,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
    before: Sequence[Any] = (),
    state: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    memory: str | None = None,
) -> tuple[Finding, ...]:
    """Recompute what a certificate claims: everything holds where no finding's `holds` is False.

    `release` may be a `Release`, which knows its certificate, trees, graphs and marks. Otherwise
    `release` and `original` are files or frames; `certificate` and `receipt` files or values. Hierarchies
    are needed for the loss of trees, graphs for that of regions, missing marks for the original. Lookups of
    published ids are looked for beside the release. `before` are files of releases that this one follows in
    a series, with their certificates beside them. `state` is the file of the private state of a register:
    with the original, and the state of the release before beside that one, everybody's line and what all
    cells shown of him tell are judged again. `key` is the file of the key of pseudonyms, which are
    recomputed from the original. A release that would not fit into `memory`, two thirds of the machine's if
    not given, is read as a stream; of its original the fingerprint is then compared, and no row.
    """
    if is_release(release):
        plan = release.plan
        certificate = release.certificate if certificate is None else certificate
        hierarchies = {**plan.hierarchies, **(hierarchies or {})}
        graphs, missing = {**plan.graphs, **(graphs or {})}, missing or plan.missing
        lookups, release = {**release.lookups, **(lookups or {})}, release.table
    table: pl.DataFrame | None = None
    digest: str | None
    if isinstance(release, str | os.PathLike) and (
        needs_stream(release, memory=memory) or has_many_cells(release, memory=memory)
    ):
        digest = _digest_of(release)
    else:
        table, digest = _table_of(release, delimiter)
    others: list[Finding] = []
    if isinstance(certificate, str | os.PathLike):
        text = _text_of(certificate)
        certificate = Certificate.of_json(text, release=digest)
        if Certificate.of_json(text).release != certificate.release:
            detail = "What the file says first is of another release, and was not looked at."
            others.append(Finding("first certificate", None, detail))
    if isinstance(receipt, str | os.PathLike):
        receipt = Receipt.of_json(_text_of(receipt), release=digest)
    if not isinstance(certificate, Certificate):
        raise PlanError("The certificate is neither a file nor a shoal.Certificate.")
    if receipt is not None and not isinstance(receipt, Receipt):
        raise PlanError("The receipt is not a file that Shoal wrote.")
    if table is None:
        findings = verify_stream(
            release,
            certificate,
            digest=digest,
            original=original,
            given=Given(
                certificate,
                receipt,
                hierarchies or {},
                graphs_of(graphs or {}),
                words_of("missing", missing),
            ),
            delimiter=delimiter,
        )
        if state is not None:
            others.append(Finding("state", False, NO_STATE))
        return (*others, *verify_chain(certificate, [_former(one) for one in before]), *findings)
    table, findings = _written_out(_by_one_clock(table, certificate), release, certificate, lookups or {})
    findings += others
    former = [_former(one) for one in before]
    findings += verify_chain(certificate, former)
    findings += list_findings(table, release, certificate, before, hierarchies or {})
    stated = None
    if state is not None:
        chain = [(path, paper) for path, (paper, _) in zip(before, former, strict=True)]
        of_state, stated = state_findings(table, release, certificate, chain, state)
        findings += of_state
    was, _ = _table_of(original, delimiter) if original is not None else (None, None)
    findings += _findings(
        table,
        certificate,
        digest=digest,
        original=was,
        receipt=receipt,
        hierarchies=hierarchies or {},
        graphs=graphs_of(graphs or {}),
        missing=words_of("missing", missing),
        key=_key_of(key),
        stated=stated,
    )
    return tuple(findings)


def _key_of(path: str | os.PathLike[str] | None) -> Key | None:
    key = None if path is None else read_key(path)
    if path is not None and key is None:
        raise DataError(f"There is no key file {str(path)!r}. Give the one that was used.", field="key")
    return key


def _findings(
    table: pl.DataFrame,
    certificate: Certificate,
    *,
    digest: str | None,
    original: pl.DataFrame | None,
    receipt: Receipt | None,
    hierarchies: Mapping[str, Hierarchy | Builder],
    graphs: Mapping[str, Graph],
    missing: tuple[str, ...],
    key: Key | None,
    stated: Stated | None,
) -> list[Finding]:
    """Every claim that can be recomputed from what is given, and those that cannot, in order."""
    findings = [*run_findings(certificate, receipt)]
    rows = of_rows(certificate)
    given = Given(certificate, receipt, hierarchies, graphs, missing)
    findings += [*given.findings, *end_findings(Whole(table), certificate, given.trees)]
    whole = given.whole
    exact = receipt.figures if receipt is not None else None
    if original is None:
        whole |= built_trees(Whole(table), certificate, given.trees)
        findings += verify_release(table, rows, digest=digest, hierarchies=whole)
        findings.append(bound_named(certificate) or Finding("bound", None, GIVE_ORIGINAL))
        detail = "Whether a row was lost, invented or changed is not known."
        return [*findings, Finding("rows", None, f"{detail} {GIVE_ORIGINAL}")]
    findings.append(original_finding(certificate, Whole(original), receipt))
    coded: Coded | None = None
    plan: Plan | None = None
    try:
        plan = given.plan()
        if plan.method in METHODS:
            fill_options(plan.method, plan.options)
        coded = encode(original, plan)
    except PlanError as error:
        findings.append(Finding("rows", None, f"Not recomputable: {error}"))
    except ShoalError as error:
        findings.append(Finding("rows", False, f"The original does not fit the plan. {error}"))
    seen = None
    if coded is not None:
        whole |= coded.held.trees if coded.held is not None else {}
        ranges = ranges_seen(table, certificate, coded.plain, receipt)
        seen = as_published(coded, ranges) if ranges is not None else None
    plain = seen.plain if seen is not None else None
    if plain is not None and rows is not certificate:
        plain = replace(plain, columns=hiding(plain.columns, table, certificate.plan.cells))
    findings += verify_release(table, rows, digest=digest, hierarchies=whole, coded=plain, exact=exact)
    if coded is None or plan is None:
        return [*findings, bound_named(certificate) or Finding("bound", None, "It needs the rows.")]
    if rows is certificate:
        findings += verify_original(
            table, certificate, original, coded.plain, seen=plain, missing=missing, key=key
        )
    elif stated is not None:
        findings += person_findings(table, original, plan, stated)
    else:
        detail = f"Who stands behind a line of a register is known by its state alone. {GIVE['state']}"
        findings.append(Finding("rows", None, detail))
    if seen is None:
        detail = f"Published cells do not tell the unit of a release with hidden cells. {GIVE_RECEIPT}"
        return [*findings, bound_named(certificate) or Finding("bound", None, detail)]
    return [*findings, *bound_findings(certificate, seen, plan, receipt)]


def _by_one_clock(table: pl.DataFrame, certificate: Certificate) -> pl.DataFrame:
    """Moments as such: a sheet gives them back as dates where all of a column are at midnight.

    The certificate's range of a column says whether its bounds were days.
    """
    import polars as pl

    moments = []
    for column in certificate.columns:
        ends = [f"{column.name}_low", f"{column.name}_high"]
        if certificate.plan.cells != "bounds" or not {*ends} <= {*table.columns}:
            continue
        days = [table[end] for end in ends if table.schema[end] == pl.Date]
        if len(days) == len(ends):
            low, high = (end.cast(pl.Int32) for end in days)
            if (high.max() or 0) - (low.min() or 0) == column.denominator:  # type: ignore[operator]
                continue
        moments += [end.cast(pl.Datetime("us")) for end in days]
    return table.with_columns(moments)


def _written_out(
    table: pl.DataFrame, release: Any, certificate: Certificate, given: Mapping[str, Any]
) -> tuple[pl.DataFrame, list[Finding]]:
    """The table with the sets behind its ids, and whether the lookup tables are those certified."""
    marks = certificate.more.get("lookups")
    cells = certificate.plan.cells
    if not isinstance(marks, Mapping):
        lacking = cells == "id"
        return table, [
            Finding("lookups", False, "The certificate names no lookup tables.")
        ] if lacking else []
    beside = lookups_beside(release, certificate) if isinstance(release, str | os.PathLike) else {}
    found: dict[str, pl.DataFrame] = {}
    findings = []
    for name, mark in marks.items():
        source = given.get(name, beside.get(name))
        if source is None:
            raise DataError(
                f"The lookup table of column {name!r} is needed to verify its ids. Give lookups."
            )
        found[name] = _lookup_of(source, name)
        same = digest_of(found[name], name) == mark and cells == "id"
        detail = f"The lookup table {'is' if same else 'is not'} the one that was certified."
        findings.append(Finding(f"lookup of {name}", same, detail))
    return from_ids(table, found), findings


def _lookup_of(source: Any, name: str) -> pl.DataFrame:
    """A lookup table from a file, which may hold no line, or from a frame."""
    import polars as pl

    if not isinstance(source, str | os.PathLike):
        lookup = to_polars(source)[1]
    else:
        try:
            with open(source, encoding="utf-8", newline="") as file:  # Polars leaves quotes in names
                names = next(csv.reader(file), [])
            lookup = pl.read_csv(os.fspath(source), infer_schema=False, glob=False, new_columns=names)
        except (OSError, ValueError, csv.Error, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise DataError(
                f"The lookup table of column {name!r} cannot be read. Give the file that Shoal wrote."
            ) from None
    if lookup.width != 2 or lookup.columns[1] != name:
        raise DataError(f"The lookup table of column {name!r} has other columns than Shoal writes.")
    return lookup


def _table_of(table: Any, delimiter: str | None) -> tuple[pl.DataFrame, str | None]:
    """A frame from a file, with its SHA-256, or from any frame."""
    if not isinstance(table, str | os.PathLike):
        return to_polars(table)[1], None
    if Path(table).is_dir():
        import polars as pl

        return pl.concat(scan_table(table).frames()), _digest_of(table)
    return read_table(os.fspath(table), delimiter=delimiter).frame, _digest_of(table)


def _digest_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, or of a folder of files."""
    try:
        if Path(path).is_dir():
            return mark_of_folder(Path(path))
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise DataError(f"The file {str(path)!r} cannot be read. Give the file that Shoal wrote.") from None


def _former(path: Any) -> tuple[Certificate, str]:
    """The certificate beside a former release, and the SHA-256 of that release."""
    if not isinstance(path, str | os.PathLike):
        raise PlanError(
            "A former release is given as a file, with its certificate beside it.", field="before"
        )
    digest = _digest_of(path)
    return Certificate.of_json(_text_of(Files.beside(path).certificate), release=digest), digest


def _text_of(path: str | os.PathLike[str]) -> str:
    if not Path(path).exists():
        raise DataError(f"There is no file {str(path)!r}. Check the name and the folder.")
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"The file {str(path)!r} cannot be read. Give the file that Shoal wrote.") from None
