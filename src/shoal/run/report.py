"""The report for a data protection officer: a release measured anew, in words, names and counts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.check.chances import alone_with, chances_before, chances_now, mixed_of
from shoal.check.claims import Claims
from shoal.errors import PlanError, ShoalError
from shoal.group import METHODS, facts
from shoal.model.certificate import Certificate
from shoal.model.exposure import Linkage
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.kind import Kind
from shoal.model.report import Chances, Context, Mixed, Report
from shoal.model.utility import Utility
from shoal.model.verdict import Finding
from shoal.model.whom import Whom, doubt_of_persons
from shoal.publish.report import check_report, write_report
from shoal.read.context import read_context
from shoal.read.frames import to_polars
from shoal.read.guess import repeats_in
from shoal.read.hierarchy import is_builder, parse_builder
from shoal.read.table import read_table
from shoal.run.answers import questions_of, treated_columns
from shoal.run.listed import mixed_beside, of_rows
from shoal.run.outsider import attack, is_release
from shoal.run.utility import utility
from shoal.run.verify import verify

if TYPE_CHECKING:
    import polars as pl

__all__ = ["report"]

MOST_ROWS = 200_000
"""Rows of the original of which it is measured what a release is good for."""
MOST_PAIRS = 300_000_000
"""Pairs of a row of the original and a class that the linkage trial may look at: some seconds."""

File = str | os.PathLike[str]


def report(
    release: Any,
    certificate: Any = None,
    path: File | None = None,
    *,
    original: Any = None,
    receipt: Any = None,
    context: Context | File | None = None,
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    graphs: Mapping[str, Any] | None = None,
    lookups: Mapping[str, Any] | None = None,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
    inputs: Iterable[File] = (),
) -> Report:
    """Measure a release and verify its certificate, for a data protection officer, as one HTML page.

    The page is written to `path`, where one is given, also if claims do not hold: it then says so first.
    It holds column names and counts and no cell. `release`, `certificate`, `original`, `receipt`,
    `hierarchies`, `graphs`, `lookups` and `missing` are as `verify` takes them, so that a `Release` needs
    no certificate; with the original, the risk before is measured and a linkage trial is run. `context`
    says what only people know (purpose, recipients, ...), as a `Context` or its YAML file. `inputs` are
    files that must not be overwritten.
    """
    given = [release, certificate, original, receipt, context]
    inputs = [*inputs, *(one for one in given if isinstance(one, str | os.PathLike))]
    target = None if path is None else check_report(path, inputs=inputs)
    about = read_context(context) if isinstance(context, str | os.PathLike) else context or Context()
    if not isinstance(about, Context):
        raise PlanError("The context is neither a file nor a shoal.Context.")
    made_here = is_release(release)
    if made_here:
        certificate = release.certificate if certificate is None else certificate
        hierarchies = {**release.plan.hierarchies, **(hierarchies or {})}
        missing = missing or release.plan.missing
    elif certificate is None:
        raise PlanError("Give the certificate of the release, or the Release itself.", field="certificate")
    table, digest = _table_of(release, delimiter)
    before = None if original is None else _table_of(original, delimiter)[0]
    findings = verify(
        release,
        certificate,
        original=before,
        receipt=receipt,
        hierarchies=hierarchies,
        graphs=graphs,
        lookups=lookups,
        missing=missing,
        delimiter=delimiter,
    )
    made = _report(
        table,
        _certificate_of(certificate, digest),
        names=(_name_of(release), _name_of(certificate)),
        digest=digest,
        findings=findings,
        context=about,
        original=before,
        hierarchies=hierarchies or {},
        missing=missing,
        mixed_apart=mixed_beside(release, _certificate_of(certificate, digest)),
    )
    if before is not None and made.holds and (made_here or isinstance(release, str | os.PathLike)):
        told = None if made_here else certificate
        made = replace(made, utility=_good_for(release, told, before, hierarchies or {}, missing))
    if target is not None:
        write_report(made, target)
    return made


def _good_for(
    release: Any,
    certificate: Any,
    original: pl.DataFrame,
    hierarchies: Mapping[str, Hierarchy | Builder],
    missing: Sequence[str],
) -> Utility | None:
    """What the release is still good for; None where that is not measured, or the table is large."""
    if original.height > MOST_ROWS or isinstance(certificate, Certificate):
        return None
    with suppress(ShoalError):
        found = utility(
            release,
            original,
            certificate=certificate,
            hierarchies=hierarchies,
            missing=tuple(missing),
            beside=False,
        )
        return replace(found, moments=())  # means of the original are no counts, and nobody needs them here
    return None


def _report(
    table: pl.DataFrame,
    certificate: Certificate,
    *,
    names: tuple[str, str],
    digest: str | None,
    findings: tuple[Finding, ...],
    context: Context,
    original: pl.DataFrame | None,
    hierarchies: Mapping[str, Hierarchy | Builder],
    missing: Sequence[str],
    mixed_apart: tuple[Mixed, ...],
) -> Report:
    rows = of_rows(certificate)
    claims, plan = Claims.of(rows), rows.plan
    whom = Whom.read(unit=plan.unit, count=plan.count)
    has_columns = not any(finding.claim == "columns" and finding.holds is False for finding in findings)
    now = chances_now(table, claims, whom, context) if has_columns else None
    before = None if original is None else chances_before(original, claims, whom, context)
    mixed = mixed_of(table, claims, plan.sensitive) if now is not None else ()
    mixed = mixed_apart or mixed
    kept = alone_with(table, claims, plan.keep) if now is not None else 0
    linkage, untried = None, "It needs the original."
    if original is not None and now is not None:
        linkage, untried = _tried(table, original, rows, now, hierarchies, missing)
    named = (*plan.quasi, *claims.beside)
    repeats = repeats_in(table, named, unit=plan.unit, count=plan.count) if now is not None else ()
    holds = not any(finding.holds is False for finding in findings)
    return Report(
        release=names[0],
        written_in=names[1],
        fingerprint=digest,
        certificate=certificate,
        context=context,
        findings=findings,
        questions=questions_of(
            certificate,
            holds=holds,
            before=before,
            now=now,
            mixed=mixed,
            alone_with_kept=kept,
            linkage=linkage,
            untried=untried,
            doubt=doubt_of_persons(repeats),
        ),
        columns=treated_columns(certificate, table, None if original is None else original.columns),
        mixed=mixed,
        before=before,
        now=now,
        alone_with_kept=kept,
        linkage=linkage,
        untried=untried,
        doubt=doubt_of_persons(repeats),
        guarantee=facts(certificate.method).guarantee if certificate.method in METHODS else "",
        has_original=original is not None,
    )


def _tried(
    table: pl.DataFrame,
    original: pl.DataFrame,
    certificate: Certificate,
    now: Chances,
    hierarchies: Mapping[str, Hierarchy | Builder],
    missing: Sequence[str],
) -> tuple[Linkage | None, str]:
    """The linkage trial with the original as register, or why there was none."""
    plan = certificate.plan
    if plan.style != "generalize" or plan.cells not in {"text", "bounds"}:
        return None, "Cells of this release do not say what they cover."
    if original.height * now.classes > MOST_PAIRS:
        return None, "The table is large; run shoal attack by itself."
    if plan.missing is not None and not missing:
        return None, "The plan has missing marks. Give them, or the plan."
    try:
        kinds = {name: Kind.parse(text, column=name) for name, text in plan.kinds.items()}
        match = {}
        for name, kind in kinds.items():
            if kind.name != "place":
                match[name] = name
            elif plan.cells == "bounds":  # whose two sides are published by themselves
                match |= {part: part for part in kind.parts}
            else:
                match[name] = "+".join(kind.parts)
        dates = {name: str(kind) for name, kind in kinds.items() if kind.name == "date" and kind.inside}
        builders = {name: text for name, text in plan.hierarchies.items() if is_builder(text)}
        trees = {name: parse_builder(text) for name, text in builders.items()} | dict(hierarchies)
        found = attack(
            table,
            original,
            match=match,
            sensitive=plan.sensitive,
            hierarchies={name: tree for name, tree in trees.items() if name in match},
            count=plan.count,
            kinds=dates,
            k=certificate.k,
            missing=tuple(missing),
        )
    except ShoalError as error:
        return None, str(error)
    if found.found < found.persons - certificate.withheld:
        return None, "Not all rows of the original were recognised. Give the hierarchies that were used."
    return found, ""


def _certificate_of(certificate: Any, digest: str | None) -> Certificate:
    if isinstance(certificate, Certificate):
        return certificate
    return Certificate.of_json(Path(certificate).read_text("utf-8"), release=digest)


def _table_of(table: Any, delimiter: str | None) -> tuple[pl.DataFrame, str | None]:
    """A frame from a file, with its SHA-256, or from any frame or release."""
    if is_release(table):
        table = table.table
    if not isinstance(table, str | os.PathLike):
        return to_polars(table)[1], None
    frame = read_table(os.fspath(table), delimiter=delimiter).frame
    with open(table, "rb") as file:
        return frame, hashlib.file_digest(file, "sha256").hexdigest()


def _name_of(given: Any) -> str:
    return Path(given).name if isinstance(given, str | os.PathLike) else ""
