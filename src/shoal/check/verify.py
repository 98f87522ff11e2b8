"""Recomputes what a certificate claims, from the release and, where it is given, from the original."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check import centres
from shoal.check.kanonymity import Classes, classes_of, records_of
from shoal.check.linkage import edges_of, nodes_of, shared_codes, unmatched
from shoal.check.loss import Cells, by_axis, loss_of_column, published_names, read_column, total_of
from shoal.check.ruler import NODES, PLACES, RANGES, SETS, STARS, Ruler, place_ruler, ruler_of
from shoal.check.rules import rule_on
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate, ratio_of
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import RADIUS, SIZE
from shoal.model.rule import Rule
from shoal.model.verdict import ColumnLoss, Finding

__all__ = ["verify_original", "verify_release"]

_TOLERANCE = 1e-6
PUBLISHED = {
    "number": RANGES,
    "date": RANGES,
    "tree": NODES,
    "region": NODES,
    "label": SETS,
    "place": STARS,
}
_MEASURED = ("generalize", "suppress")


@dataclass(frozen=True, slots=True)
class _Claims:
    """The part of a certificate's plan that a release can be held against."""

    quasi: tuple[str, ...]
    others: tuple[str, ...]
    count: str | None
    kinds: Mapping[str, str]
    parts: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]
    trees: Mapping[str, str]
    loss: str
    cells: str
    style: str
    k: int
    rules: tuple[Rule, ...]
    unit: str | None

    @classmethod
    def of(cls, certificate: Certificate) -> _Claims:
        plan: Mapping[str, Any] = certificate.plan
        try:
            return cls(
                quasi=tuple(plan["quasi"]),
                others=(*plan["sensitive"], *plan["keep"]),
                count=plan["count"],
                kinds={name: str(kind).partition("(")[0] for name, kind in plan["kinds"].items()},
                parts={name: _inside(str(kind)) for name, kind in plan["kinds"].items()},
                weights=dict(plan["weights"]),
                trees=dict(plan["hierarchies"]),
                loss=plan["loss"],
                cells=plan["cells"],
                style=plan["style"],
                k=plan["k"],
                rules=tuple(Rule.parse(text) for text in plan.get("rules", ())),
                unit=plan.get("unit"),
            )
        except (KeyError, TypeError, AttributeError, PlanError):
            raise DataError("The certificate's plan is not complete; it cannot be verified.") from None


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
    claims = _Claims.of(certificate)
    findings = [_fingerprint(certificate, digest), _agrees(certificate)]
    rulers = _rulers(certificate, claims, hierarchies or {}, coded)
    wanted = _published_columns(claims, rulers)
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
    classes = _classes(table, claims)
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


def _classes(table: pl.DataFrame, claims: _Claims) -> Classes:
    if claims.style == "centres":
        return centres.lines_of(table)
    not_quasi = {*claims.others, claims.count}
    quasi = [name for name in table.columns if name not in not_quasi]
    return classes_of(table, quasi, records_of(table, claims.count))


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


def _published_columns(claims: _Claims, rulers: Mapping[str, Ruler | None]) -> list[str]:
    if claims.style == "centres":
        return [*claims.quasi, SIZE, RADIUS, *claims.others]
    names: list[str] = []
    for name in claims.quasi:
        ruler = rulers[name]
        names += published_names(ruler, claims.cells, claims.style) if ruler is not None else (name,)
    return [*names, *claims.others, *((claims.count,) if claims.count is not None else ())]


def _rulers(
    certificate: Certificate,
    claims: _Claims,
    hierarchies: Mapping[str, Hierarchy],
    coded: Coded | None,
) -> dict[str, Ruler | None]:
    """A ruler per quasi-identifier with the certificate's weight and denominator; None without one."""
    known = {column.name: column for column in certificate.columns}
    columns = {column.name: column for column in coded.columns} if coded is not None else {}
    rulers: dict[str, Ruler | None] = {}
    for name in claims.quasi:
        said = known.get(name)
        if said is None:
            rulers[name] = None
        elif name in columns:
            rulers[name] = ruler_of(columns[name], loss=claims.loss)
        else:
            rulers[name] = _ruler_as_said(said, claims, hierarchies.get(name))
    return rulers


def _ruler_as_said(said: ColumnLoss, claims: _Claims, tree: Hierarchy | None) -> Ruler | None:
    kind = claims.kinds.get(said.name)
    if kind == "place" and claims.style != "suppress":
        return place_ruler(said.name, said.weight, said.denominator, claims.parts[said.name])
    published = PUBLISHED.get(kind or "")
    if kind == "region" and len(claims.quasi) == 1:
        published = SETS
    if published is None:
        return None
    if claims.style == "suppress":
        published = STARS
    elif published == NODES and claims.loss == "sets":
        published = SETS
    nodes = None
    used = kind == "region" or (tree is not None and tree.fingerprint == claims.trees.get(said.name))
    if published == NODES and tree is not None and used:
        nodes = tree.nodes()
    return Ruler(
        name=said.name,
        weight=said.weight,
        denominator=said.denominator,
        published=published,
        kind=kind or "",
        by_levels=claims.loss == "levels",
        nodes=nodes,
    )


def _class_findings(certificate: Certificate, claims: _Claims, classes: Classes) -> Iterator[Finding]:
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
        _close(certificate.mean_class, mean),
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
    claims: _Claims,
    classes: Classes,
    trees: Mapping[str, Hierarchy],
) -> Iterator[Finding]:
    """Every rule of the plan, measured again; persons cannot be counted, since nobody publishes them."""
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
            same = _close(said[rule.text], found.measured)
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
    claims: _Claims,
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
        if not _close(ruler.denominator, said.denominator):
            yield Finding(
                claim, False, "The column's denominator is not that of the original and its hierarchy."
            )
        cells = read_column(faces, published_names(ruler, claims.cells), ruler, classes.sizes)
        unfit += cells.unfit
        found = loss_of_column(cells, ruler, withheld=certificate.withheld)
        losses.append(found)
        yield Finding(
            claim,
            cells.unfit == 0 and said.loss is not None and _close(said.loss, found.loss),
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
    agree = certificate.loss is not None and _close(certificate.loss, total)
    yield Finding("loss", agree, f"The certificate says {certificate.loss}; the release loses {total:.9g}.")
    agree = certificate.loss_percent is not None and _close(certificate.loss_percent, percent)
    yield Finding(
        "loss_percent",
        agree,
        f"The certificate says {certificate.loss_percent}; the release loses {percent:.9g}.",
    )
    if certificate.objective == "loss":
        yield Finding(
            "value",
            _close(certificate.value, total),
            f"The certificate says {certificate.value:.9g}; the release loses {total:.9g}.",
        )


def _why_not(ruler: Ruler | None, claims: _Claims) -> str:
    """Why a column's loss cannot be recomputed; empty where it can."""
    if claims.style not in _MEASURED:
        return f"Not recomputable: the style {claims.style!r} publishes values that stand for a group."
    if ruler is None:
        return "Not recomputable: the column is of a kind this check does not know."
    if ruler.published in {RANGES, PLACES} and claims.cells == "middle":
        return "Not recomputable: a published middle does not say how wide its range was."
    if ruler.published == NODES and ruler.nodes is None:
        return "Not recomputable without the column's hierarchy, the very one that was used."
    return ""


def _value_findings(
    certificate: Certificate, classes: Classes, table: pl.DataFrame, claims: _Claims
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
        same = value <= shown + _TOLERANCE <= value + 2e-6 * max(1.0, classes.total) + _TOLERANCE
        detail = f"The certificate says {value:.9g}; the published radii give {shown:.9g}."
        yield Finding("value", same, detail)
    elif certificate.objective != "loss":
        yield Finding(
            "value", None, f"Not recomputable from the release: the objective {certificate.objective!r}."
        )
    expected = ratio_of(value, bound)
    said = certificate.ratio
    same = said == expected if said is None or expected is None else _close(said, expected)
    below = bound is None or bound <= value * (1 + _TOLERANCE) + _TOLERANCE
    detail = "The ratio is value / bound." if same else "The ratio is not value / bound."
    if not below:
        detail = "The bound is above the value, which no bound can be."
    yield Finding("ratio", same and below, detail)


def verify_original(
    table: pl.DataFrame, certificate: Certificate, original: pl.DataFrame, coded: Coded
) -> list[Finding]:
    """Hold a release against the table it was made from: no row lost, invented or changed."""
    claims = _Claims.of(certificate)
    rulers = {column.name: ruler_of(column, loss=claims.loss) for column in coded.columns}
    findings = [
        Finding(
            "original records",
            coded.total == certificate.records,
            f"The certificate says {certificate.records}; the original has {coded.total}.",
        )
    ]
    wanted = _published_columns(claims, rulers)
    if any(name not in table.columns for name in wanted):
        return [*findings, Finding("rows", False, "The release lacks columns, so no row can be matched.")]
    if claims.style == "centres":
        return [*findings, *_centre_findings(table, claims, original, coded, rulers)]
    if claims.style not in _MEASURED or None in rulers.values():
        detail = "Not recomputable: the published cells do not say which values they cover."
        return [*findings, Finding("rows", None, detail)]
    return [*findings, *_row_findings(table, claims, original, coded, rulers)]


def _centre_findings(
    table: pl.DataFrame,
    claims: _Claims,
    original: pl.DataFrame,
    coded: Coded,
    rulers: Mapping[str, Ruler | None],
) -> Iterator[Finding]:
    """Centres are rows, and no value is more often in the groups than in the original."""
    classes = centres.lines_of(table)
    records = coded.records if coded.records is not None else records_of(original, None)
    yield centres.find_centres(table, classes, coded, [rulers[name] for name in claims.quasi])
    for name in claims.others:
        values, its, _ = centres.unfold(table[name], classes)
        before = original.select(pl.col(name).cast(pl.String))
        yield from _kept_findings(before, values.to_frame(), replace(claims, others=(name,)), records, its)
    yield Finding("rows", None, "Not recomputable: a centre does not say which rows stand behind it.")


def _row_findings(
    table: pl.DataFrame,
    claims: _Claims,
    original: pl.DataFrame,
    coded: Coded,
    rulers: Mapping[str, Ruler | None],
) -> Iterator[Finding]:
    not_quasi = {*claims.others, claims.count}
    quasi = [name for name in table.columns if name not in not_quasi]
    classes = classes_of(table, quasi, records_of(table, claims.count))
    faces = table[classes.row]
    cells: list[Cells | None] = []
    unjudged = []
    for name in claims.quasi:
        ruler = rulers[name]
        if ruler is None or (ruler.published in {RANGES, PLACES} and claims.cells == "middle"):
            cells += [None] * (len(ruler.sides) or 1) if ruler is not None else [None]
            unjudged.append(name)
        else:
            read = read_column(faces, published_names(ruler, claims.cells), ruler, classes.sizes)
            cells += by_axis(read, ruler)
    others = list(claims.others)
    before, after = shared_codes(original, table, others)
    records = coded.records if coded.records is not None else records_of(original, None)
    given = nodes_of(coded.row.astype(np.int64), before, records, coded.distinct)
    taken = nodes_of(classes.label, after, classes.records, classes.sizes.size)
    sizes = [axis.size for column in coded.columns for axis in column.axes]
    edges = edges_of(coded.codes, sizes, cells, classes, given, taken)
    lacking = unmatched(given, taken, edges)
    yield from _kept_findings(original, table, claims, records, classes)
    if lacking is None:
        yield Finding("rows", None, "Not recomputable: more than 2^31 records.")
        return
    aside = f" Middles were not compared: {', '.join(unjudged)}." if unjudged else ""
    yield Finding(
        "rows",
        lacking == 0,
        f"All {classes.total} published records fit rows of the original, none twice.{aside}"
        if lacking == 0
        else f"{lacking} of {classes.total} published records fit no row of the original that is left: "
        f"their cells do not cover it, or another value was changed.{aside}",
    )


def _kept_findings(
    original: pl.DataFrame,
    table: pl.DataFrame,
    claims: _Claims,
    records: NDArray[np.int64],
    classes: Classes,
) -> Iterator[Finding]:
    """Per sensitive and kept column: no value more often than in the original."""
    for name in claims.others:
        before, after = shared_codes(original, table, [name])
        size = int(max(before.max(initial=0), after.max(initial=0))) + 1
        had = np.bincount(before, weights=records, minlength=size)
        has = np.bincount(after, weights=classes.records, minlength=size)
        surplus = int(np.maximum(has - had, 0.0).sum())
        detail = f"Column {name!r} holds no value more often than the original does."
        if surplus:
            detail = f"Column {name!r} holds values {surplus} times more often than the original does."
        yield Finding(f"values of {name}", surplus == 0, detail)


def _inside(kind: str) -> tuple[str, ...]:
    """What stands in the brackets of a kind."""
    return tuple(part.strip() for part in kind.partition("(")[2].rstrip(")").split(",") if part.strip())


def _close(one: float, other: float | None) -> bool:
    return other is not None and math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE * 1e-3)


def _percent(share: float | None) -> str:
    return "nothing" if share is None else f"{100 * share:.6g} %"
