"""Recomputes what a certificate claims from the release alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from shoal.check import centres
from shoal.check.claims import (
    MEASURED,
    TOLERANCE,
    Claims,
    classes_as_said,
    close,
    published_columns,
    rulers_of,
)
from shoal.check.kanonymity import Classes
from shoal.check.loss import loss_of_column, published_names, read_column, total_of
from shoal.check.ruler import NODES, PLACES, RANGES, Ruler
from shoal.check.rules import rule_on
from shoal.model.certificate import Certificate, ratio_of
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.verdict import ColumnLoss, Finding

__all__ = ["verify_release"]


def verify_release(
    table: pl.DataFrame,
    certificate: Certificate,
    *,
    digest: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    coded: Coded | None = None,
) -> list[Finding]:
    """Hold a release against its certificate; `digest` is the SHA-256 of its file.

    Trees are measured with `hierarchies`, or with the columns of the coded original.
    """
    claims = Claims.of(certificate)
    findings = [_fingerprint(certificate, digest), _agrees(certificate)]
    rulers = rulers_of(certificate, claims, hierarchies or {}, coded)
    wanted = published_columns(claims, rulers)
    absent = [name for name in wanted if name not in table.columns]
    extra = [name for name in table.columns if name not in wanted]
    detail = "The release has the columns that the certificate's plan names."
    if absent:
        detail = f"The release lacks the columns: {', '.join(absent)}."
    elif extra:
        detail = f"The release has columns that the plan does not name: {', '.join(extra)}."
    findings.append(Finding("columns", not absent and not extra, detail))
    if absent:
        return findings
    classes = classes_as_said(table, claims)
    findings += _class_findings(certificate, claims, classes)
    findings += _rule_findings(table, certificate, claims, classes, hierarchies or {})
    findings += _loss_findings(table, certificate, claims, rulers, classes)
    findings += _value_findings(certificate, classes, table, claims)
    if claims.style == "centres":
        unfit = list(centres.faults(table, classes, list(rulers.values()), claims.others))
        unread = [name for name, ruler in rulers.items() if ruler and centres.is_unreadable(ruler)]
        detail = " ".join(unfit) or "Centres are single values, and the counts of each line add up."
        if unread and not unfit:
            detail = (
                f"The counts of each line add up; whether centres are single values of {', '.join(unread)} "
            )
            detail += "is not recomputable without the hierarchies, the very ones that were used."
        findings.append(Finding("lines", None if unread and not unfit else not unfit, detail))
    return findings


def _fingerprint(certificate: Certificate, digest: str | None) -> Finding:
    if digest is None:
        return Finding("release", None, "Not a file: its fingerprint was not compared.")
    if certificate.release is None:
        return Finding("release", None, "The certificate holds no fingerprint of a release.")
    same = digest == certificate.release
    detail = "The file is" if same else "The file is not"
    return Finding("release", same, f"{detail} the one that was certified (SHA-256).")


def _agrees(certificate: Certificate) -> Finding:
    """Whether the certificate says the same as the plan inside it."""
    differ = [
        name
        for name in ("k", "method", "style", "seed")
        if getattr(certificate, name) != certificate.plan.get(name)
    ]
    detail = f"The certificate and its plan differ in: {', '.join(differ)}."
    return Finding("plan", not differ, detail if differ else "The certificate says what its plan says.")


def _class_findings(certificate: Certificate, claims: Claims, classes: Classes) -> Iterator[Finding]:
    smallest = int(classes.sizes.min(initial=classes.total))
    holds = classes.sizes.size > 0 and smallest >= certificate.k and certificate.k == claims.k >= 2
    small = int((classes.sizes < certificate.k).sum())
    yield Finding(
        "k",
        holds,
        f"Every class holds at least k = {certificate.k} records."
        if holds
        else f"{small} of {classes.sizes.size} classes hold fewer than k = {certificate.k} records, or the "
        "certificate names no k of its plan.",
    )
    for claim, found in (
        ("classes", classes.sizes.size),
        ("smallest_class", smallest),
        ("published", classes.total),
    ):
        said = getattr(certificate, claim)
        yield Finding(claim, said == found, f"The certificate says {said}; the release has {found}.")
    mean = classes.total / max(classes.sizes.size, 1)
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


def _rule_findings(
    table: pl.DataFrame,
    certificate: Certificate,
    claims: Claims,
    classes: Classes,
    trees: Mapping[str, Hierarchy],
) -> Iterator[Finding]:
    """Every rule of the plan, measured again; persons cannot be."""
    said = {ruling.rule: ruling.measured for ruling in certificate.rules}
    for rule in claims.rules:
        claim = f"rule {rule.text}"
        tree = trees.get(rule.column)
        if rule.column not in claims.others:
            yield Finding(claim, False, "The plan does not publish the column of this rule.")
        elif rule.distance == "hierarchy" and tree is None:
            yield Finding(claim, None, "Not recomputable without the column's hierarchy, the one used.")
        elif rule.text not in said:
            yield Finding(claim, False, "The certificate says nothing of this rule.")
        else:
            values, its = table[rule.column], classes
            if claims.style == "centres":
                values, its, unfit = centres.unfold(values, classes)
                if unfit:
                    yield Finding(claim, False, f"The counts of {unfit} lines cannot be read.")
                    continue
            found = rule_on(values, its, rule, tree)
            same = close(said[rule.text], found.measured)
            detail = (
                f"The certificate says {said[rule.text]:.6g}; the worst class has {found.measured:.6g}."
            )
            if not found.holds:
                detail += f" The rule fails in {found.failing} of {classes.sizes.size} classes."
            yield Finding(claim, found.holds and same, detail)
    if claims.unit is not None:
        detail = "Not recomputable from a release: the column that says who is who is never published."
        yield Finding(f"k of {claims.unit}", None, detail)


def _loss_findings(
    table: pl.DataFrame,
    certificate: Certificate,
    claims: Claims,
    rulers: Mapping[str, Ruler | None],
    classes: Classes,
) -> Iterator[Finding]:
    said_of = {column.name: column for column in certificate.columns}
    faces = table[classes.row]
    losses: list[ColumnLoss] = []
    unfit = 0
    for name in claims.quasi:
        said, ruler = said_of.get(name), rulers[name]
        claim = f"loss of {name}"
        if said is None:
            yield Finding(claim, False, f"The certificate says nothing of column {name!r}.")
            continue
        weight = float(claims.weights.get(name, 1.0))
        if said.weight != weight:
            yield Finding(claim, False, "The column's weight is not that of the plan.")
            continue
        why = _why_not(ruler, claims)
        if ruler is None or why:
            losses.append(ColumnLoss(name, weight, said.denominator, None))
            yield Finding(claim, None, why)
            continue
        if not close(ruler.denominator, said.denominator):
            yield Finding(
                claim, False, "The column's denominator is not that of the original and its hierarchy."
            )
        cells = read_column(faces, published_names(ruler, claims.cells), ruler, classes.sizes)
        unfit += cells.unfit
        found = loss_of_column(cells, ruler, withheld=certificate.withheld)
        losses.append(found)
        yield Finding(
            claim,
            cells.unfit == 0 and said.loss is not None and close(said.loss, found.loss),
            f"The certificate says {_percent(said.loss)}; the release loses {_percent(found.loss)}"
            + (
                f", and {cells.unfit} of {classes.total} cells do not fit the column."
                if cells.unfit
                else "."
            ),
        )
    total, percent = total_of(losses, records=classes.total + certificate.withheld)
    if total is None or percent is None:
        yield Finding("loss", None, "The total loss cannot be recomputed without every column's.")
        return
    agree = certificate.loss is not None and close(certificate.loss, total)
    yield Finding(
        "loss", agree, f"The certificate says {_short(certificate.loss)}; the release loses {total:.9g}."
    )
    agree = certificate.loss_percent is not None and close(certificate.loss_percent, percent)
    yield Finding(
        "loss_percent",
        agree,
        f"The certificate says {_short(certificate.loss_percent)}; the release loses {percent:.9g}.",
    )
    if certificate.objective == "loss":
        yield Finding(
            "value",
            close(certificate.value, total),
            f"The certificate says {certificate.value:.9g}; the release loses {total:.9g}.",
        )


def _why_not(ruler: Ruler | None, claims: Claims) -> str:
    """Why a column's loss cannot be recomputed; empty where it can."""
    if claims.style not in MEASURED:
        return f"Not recomputable: the style {claims.style!r} publishes values that stand for a group."
    if ruler is None:
        return "Not recomputable: the column is of a kind this check does not know."
    if ruler.published in {RANGES, PLACES} and claims.cells == "middle":
        return "Not recomputable: a published middle does not say how wide its range was."
    if ruler.published == NODES and ruler.nodes is None:
        return "Not recomputable without the column's hierarchy, the very one that was used."
    return ""


def _value_findings(
    certificate: Certificate, classes: Classes, table: pl.DataFrame, claims: Claims
) -> Iterator[Finding]:
    value, bound = certificate.value, certificate.bound
    shown = centres.value_from(table, certificate.objective) if claims.style == "centres" else None
    if certificate.objective == "largest":
        largest = int(classes.sizes.max(initial=0))
        # groups that look alike are one class, so a class may be larger than the largest group
        holds = None if value < largest else value == largest
        yield Finding("value", holds, f"The certificate says {value:g}; the largest class has {largest}.")
    elif shown is not None:
        # radii are published rounded up to six digits after the point
        same = value <= shown + TOLERANCE <= value + 2e-6 * max(1.0, classes.total) + TOLERANCE
        detail = f"The certificate says {value:.9g}; the published radii give {shown:.9g}."
        yield Finding("value", same, detail)
    elif certificate.objective != "loss":
        yield Finding(
            "value", None, f"Not recomputable from the release: the objective {certificate.objective!r}."
        )
    expected = ratio_of(value, bound)
    said = certificate.ratio
    same = said == expected if said is None or expected is None else close(said, expected)
    below = bound is None or bound <= value * (1 + TOLERANCE) + TOLERANCE
    detail = "The ratio is value / bound." if same else "The ratio is not value / bound."
    if not below:
        detail = "The bound is above the value, which no bound can be."
    yield Finding("ratio", same and below, detail)


def _percent(share: float | None) -> str:
    return "nothing" if share is None else f"{100 * share:.6g} %"


def _short(number: float | None) -> str:
    return "nothing" if number is None else f"{number:.9g}"
