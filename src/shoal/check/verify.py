"""Recomputes what a certificate claims from the release alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from shoal.check import centres
from shoal.check.claims import (
    Claims,
    classes_as_said,
    close,
    published_columns,
    ranges_in,
    rulers_of,
)
from shoal.check.kanonymity import Classes
from shoal.check.measured import Members, check_exact, check_losses, check_value, measure_columns
from shoal.check.pseudonyms import faults_of
from shoal.check.ruler import Ruler
from shoal.check.rules import rule_on
from shoal.model.certificate import VERSION, Certificate
from shoal.model.coded import Coded
from shoal.model.facts import TOTAL_LOSS
from shoal.model.figures import Figures
from shoal.model.hierarchy import Hierarchy
from shoal.model.pseudonym import links
from shoal.model.rule import Rule
from shoal.model.verdict import GIVE, Finding, Ruling
from shoal.model.written import names_of

__all__ = ["check_classes", "check_columns", "check_papers", "check_rules", "verify_release"]

MORE = frozenset({"sse", "sst", "sse_share", "centre", "lookups", "pseudonym"})
"""What a certificate may hold besides."""


def verify_release(
    table: pl.DataFrame,
    certificate: Certificate,
    *,
    digest: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    coded: Coded | None = None,
    exact: Figures | None = None,
) -> list[Finding]:
    """Hold a release against its certificate; `digest` is the SHA-256 of its file.

    Trees are measured with `hierarchies`, or with the columns of the coded original; `exact` are the
    figures of the receipt, which need that original.
    """
    claims = Claims.of(certificate)
    trees = hierarchies or {}
    findings = [*check_papers(certificate, claims, digest)]
    rulers = rulers_of(certificate, claims, trees, coded, ranges_in(table, claims))
    columns, is_whole = check_columns(table.columns, claims, rulers)
    findings.append(columns)
    if not is_whole:
        return findings
    if claims.pseudonym is not None or "pseudonym" in certificate.more:
        findings.append(_pseudonyms(table, certificate, claims.pseudonym))
    classes = classes_as_said(table, claims)
    found = measure_columns(table, claims, rulers, classes, withheld=certificate.withheld)
    findings += check_classes(certificate, claims, Counter(classes.sizes.tolist()))
    findings += check_rules(certificate, claims, trees, partial(_measured, table, claims, classes, trees))
    findings += check_losses(
        found,
        certificate,
        claims,
        rulers,
        trees,
        published=classes.total,
        members=lambda name: Members.of(table[name]),
        has_original=coded is not None,
    )
    # radii around middles are not those around the rows that the objective is about
    radii = claims.style == "centres" and centres.publishes_rows(certificate)
    findings += check_value(
        certificate,
        largest=int(classes.sizes.max(initial=0)),
        published=classes.total,
        shown=centres.value_from(table, certificate.objective) if radii else None,
        exact=exact,
    )
    if exact is not None and coded is not None:
        records = classes.total + certificate.withheld
        is_loss = certificate.objective in TOTAL_LOSS
        findings.append(check_exact(exact, found, records=records, is_loss=is_loss, style=claims.style))
    if claims.style == "centres":
        said = certificate.more.get("centre")
        is_said = said == ("row" if centres.publishes_rows(certificate) else "middle")
        findings.append(Finding("centre", is_said, "Whose the centres are is what the plan says."))
        unfit = list(centres.faults(table, classes, list(rulers.values()), claims.others))
        unread = [name for name, ruler in rulers.items() if ruler and centres.is_unreadable(ruler)]
        detail = " ".join(unfit) or "Centres are single values, and the counts of each line add up."
        if unread and not unfit:
            detail = (
                f"The counts of each line add up; whether centres are single values of {', '.join(unread)} "
            )
            detail += f"is not recomputable. {GIVE['hierarchies']}"
        findings.append(Finding("lines", None if unread and not unfit else not unfit, detail))
    return findings


def check_papers(certificate: Certificate, claims: Claims, digest: str | None) -> Iterator[Finding]:
    """Whether the release is the one certified, and the certificate agrees with itself."""
    yield _fingerprint(certificate, digest)
    yield _fields(certificate)
    yield _agrees(certificate, claims)


def check_columns(
    names: Sequence[str], claims: Claims, rulers: Mapping[str, Ruler | None]
) -> tuple[Finding, bool]:
    """Whether a release has the columns of its plan and no other, and whether all of them are there."""
    wanted = published_columns(claims, rulers)
    absent = [name for name in wanted if name not in names]
    extra = [name for name in names if name not in wanted]
    detail = "The release has the columns that the certificate's plan names."
    if absent:
        detail = f"The release lacks the columns: {', '.join(absent)}."
    elif extra:
        detail = f"The release has columns that the plan does not name: {', '.join(extra)}."
    return Finding("columns", not absent and not extra, detail), not absent


def _fingerprint(certificate: Certificate, digest: str | None) -> Finding:
    if digest is None:
        return Finding("release", None, "Not a file: its fingerprint was not compared. Give the file.")
    if certificate.release is None:
        return Finding("release", False, "The certificate holds no fingerprint of a release.")
    same = digest == certificate.release
    detail = "The file is" if same else "The file is not"
    return Finding("release", same, f"{detail} the one that was certified (SHA-256).")


def _fields(certificate: Certificate) -> Finding:
    """Whether the certificate has the fields of our version, and no other."""
    strange = names_of(certificate.unread)
    strange += [f"more.{name}" for name in certificate.more if name not in MORE]
    if certificate.is_newer:
        detail = f"Written by a newer Shoal, in format {certificate.version}; this one knows {VERSION}. "
        detail += f"Not looked at: {', '.join(strange)}." if strange else "It has no fields that are new."
        return Finding("fields", None, detail)
    detail = f"The certificate has the fields of format {certificate.version} and no other."
    if strange:
        detail = f"The certificate has fields that Shoal does not write: {', '.join(strange)}."
    return Finding("fields", not strange, detail)


def _pseudonyms(table: pl.DataFrame, certificate: Certificate, name: str | None) -> Finding:
    """Whether what stands aside when classes are counted links no two rows, and readers are told of it."""
    if name is None or certificate.more.get("pseudonym") != links(name):
        detail = "The certificate and its plan do not say the same of pseudonyms."
        return Finding("pseudonyms", False, detail)
    faults = faults_of(table[name])
    detail = f"Column {name!r} holds pseudonyms, all different: no two rows are linked."
    return Finding("pseudonyms", not faults, " ".join(faults) or detail)


def _agrees(certificate: Certificate, claims: Claims) -> Finding:
    """Whether the certificate says the same as the plan inside it."""
    differ = [
        name
        for name in ("k", "method", "style", "seed")
        if getattr(certificate, name) != getattr(certificate.plan, name)
    ]
    rules = {rule.text for rule in claims.rules}
    differ += [
        f"rule {ruling.rule}" for ruling in certificate.rules if not _is_planned(ruling, rules, claims)
    ]
    named = [ruling.rule for ruling in certificate.rules]
    differ += sorted({f"rule {rule} twice" for rule in named if named.count(rule) > 1})
    broken = [ruling.rule for ruling in certificate.rules if not ruling.holds or ruling.failing]
    detail = "The certificate says what its plan says."
    if differ:
        detail = f"The certificate and its plan differ in: {', '.join(differ)}."
    elif broken:
        detail = f"The certificate itself says that a rule does not hold: {', '.join(broken)}."
    return Finding("plan", not differ and not broken, detail)


def _is_planned(ruling: Ruling, rules: set[str], claims: Claims) -> bool:
    """Whether the plan asks for a ruling: by a rule, or by its unit, of which no figure is told."""
    if ruling.rule in rules:
        return True
    own = f"{claims.unit}: at least {claims.k} in every class"
    return claims.unit is not None and ruling.rule == own and ruling.measured is None


def check_classes(certificate: Certificate, claims: Claims, sizes: Mapping[int, int]) -> Iterator[Finding]:
    """What is claimed of classes, of which there are so many of each size."""
    classes = sum(sizes.values())
    total = sum(size * many for size, many in sizes.items())
    smallest = min(sizes, default=total)
    holds = classes > 0 and smallest >= certificate.k and certificate.k == claims.k >= 2
    small = sum(many for size, many in sizes.items() if size < certificate.k)
    yield Finding(
        "k",
        holds,
        f"Every class holds at least k = {certificate.k} records."
        if holds
        else f"{small} of {classes} classes hold fewer than k = {certificate.k} records, or the "
        "certificate names no k of its plan.",
    )
    for claim, found in (
        ("classes", classes),
        ("smallest_class", smallest),
        ("published", total),
    ):
        said = getattr(certificate, claim)
        yield Finding(claim, said == found, f"The certificate says {said}; the release has {found}.")
    mean = total / max(classes, 1)
    yield Finding(
        "mean_class",
        close(certificate.mean_class, mean),
        f"The certificate says {certificate.mean_class:.6g}; the release has {mean:.6g}.",
    )
    adds_up = certificate.published + certificate.withheld == certificate.records
    yield Finding(
        "records",
        adds_up and certificate.withheld >= 0,
        f"{certificate.published} published and {certificate.withheld} withheld records "
        f"{'are' if adds_up else 'are not'} the {certificate.records} of the table.",
    )


def check_rules(
    certificate: Certificate,
    claims: Claims,
    trees: Mapping[str, Hierarchy],
    measured: Callable[[Rule], Ruling | str],
) -> Iterator[Finding]:
    """Every rule of the plan, measured again, or why it cannot be; persons cannot be."""
    said = {ruling.rule: ruling.measured for ruling in certificate.rules}
    for rule in claims.rules:
        claim = f"rule {rule.text}"
        if rule.column not in claims.others:
            yield Finding(claim, False, "The plan does not publish the column of this rule.")
        elif rule.distance == "hierarchy" and rule.column not in trees:
            yield Finding(claim, None, "Not recomputable without the column's hierarchy, the one used.")
        elif rule.text not in said:
            yield Finding(claim, False, "The certificate says nothing of this rule.")
        else:
            ruling = measured(rule)
            if isinstance(ruling, str):
                yield Finding(claim, False, ruling)
                continue
            figure = said[rule.text]
            same = figure is not None and ruling.measured is not None and close(figure, ruling.measured)
            detail = (
                f"The certificate says {_short(figure)}; the worst class has {_short(ruling.measured)}."
            )
            if not ruling.holds:
                detail += f" The rule fails in {ruling.failing} classes."
            yield Finding(claim, ruling.holds and same, detail)
    if claims.unit is not None:
        detail = "Not recomputable: no file says which person stands behind a line, and none should."
        said_so = f"{claims.unit}: at least {claims.k} in every class" in said
        yield Finding(f"k of {claims.unit}", None if said_so else False, detail)


def _measured(
    table: pl.DataFrame, claims: Claims, classes: Classes, trees: Mapping[str, Hierarchy], rule: Rule
) -> Ruling | str:
    """A rule on a table in memory."""
    values, held = table[rule.column], classes
    if claims.style == "centres":
        values, held, unfit = centres.unfold(values, classes)
        if unfit:
            return f"The counts of {unfit} lines cannot be read."
    return rule_on(values, held, rule, trees.get(rule.column))


def _short(number: float | None) -> str:
    return "nothing" if number is None else f"{number:.6g}"
