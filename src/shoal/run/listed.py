"""What the lists of a register claim, recomputed from the published files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.check.series import judge_lists, rule_lists
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.files import Files, register_beside
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.report import Mixed
from shoal.model.rule import Rule
from shoal.model.series import SCHOOL
from shoal.model.verdict import Finding
from shoal.read.state import read_lists

if TYPE_CHECKING:
    import polars as pl

__all__ = ["list_findings", "lists_of", "mixed_beside", "of_rows"]


def of_rows(certificate: Certificate) -> Certificate:
    """What a certificate claims of the table alone: rules and values of a register are in its lists."""
    if certificate.series is None or certificate.series.register is None:
        return certificate
    plan = certificate.plan
    units = tuple(one for one in certificate.rules if one.rule not in {_text(rule) for rule in plan.rules})
    rows = replace(plan, sensitive=(), keep=(SCHOOL,), rules=(), hierarchies=plan.hierarchies)
    return replace(certificate, plan=rows, rules=units)


def _text(rule: str) -> str:
    try:
        return Rule.parse(rule).text
    except PlanError:
        return rule


def list_findings(
    table: pl.DataFrame,
    release: Any,
    certificate: Certificate,
    before: Sequence[Any],
    hierarchies: Mapping[str, Hierarchy | Builder],
) -> Iterator[Finding]:
    """The lists beside a release: the very ones, k and rules in each, unchanged since they were listed."""
    series = certificate.series
    if series is None or series.register is None:
        return
    if not isinstance(release, str | os.PathLike):
        yield Finding("lists", None, "Not a file: the lists beside it were not compared. Give the file.")
        return
    content = lists_of(release)
    same = hashlib.sha256(content).hexdigest() == series.register.lists
    detail = f"The lists {'are' if same else 'are not'} those that were certified (SHA-256)."
    yield Finding("lists", same, detail)
    lists = read_lists(content)
    if SCHOOL not in table.columns:
        yield Finding("schools", False, "The table has no schools.")
        return
    faults = [*judge_lists(table, lists, None, certificate.plan, series.number)]
    for path in before:
        former = read_lists(lists_of(path))
        faults += [
            one
            for one in judge_lists(table, lists, former, certificate.plan, series.number)
            if one not in faults
        ]
    detail = "Every list holds k entries and stands as it was listed."
    yield Finding("schools", not faults, " ".join(faults) or detail)
    if [*certificate.plan.sensitive, *certificate.plan.keep] != lists.columns[1:-1]:
        return
    trees = {name: tree for name, tree in hierarchies.items() if isinstance(tree, Hierarchy)}
    for text in certificate.plan.rules:
        rule = Rule.parse(text)
        if rule.distance == "hierarchy" and rule.column not in trees:
            yield Finding(f"rule {rule.text}", None, "Not recomputable without the column's hierarchy.")
            continue
        (ruling,) = rule_lists(lists, [rule], None, trees)
        detail = "It holds in every list." if ruling.holds else f"It fails in {ruling.failing} lists."
        yield Finding(f"rule {rule.text}", ruling.holds, detail)


def mixed_beside(release: Any, certificate: Certificate) -> tuple[Mixed, ...]:
    """How well sensitive values are mixed in the lists beside a release of a register."""
    import polars as pl

    if of_rows(certificate) is certificate or not isinstance(release, str | os.PathLike):
        return ()
    lists = read_lists(lists_of(release))
    found = []
    for name in certificate.plan.sensitive:
        if name not in lists.columns or not lists.height:
            continue
        each = lists.group_by(SCHOOL, name).len().group_by(SCHOOL)
        worst = each.agg(many=pl.len(), largest=pl.col("len").max(), size=pl.col("len").sum())
        share = float((worst["largest"] / worst["size"]).to_numpy().max())
        certain = int(worst.filter(pl.col("many") == 1)["size"].sum())
        found.append(Mixed(name, int(worst["many"].to_numpy().min()), share, certain))
    return tuple(found)


def lists_of(release: str | os.PathLike[str]) -> bytes:
    """The file of lists beside a release."""
    path = register_beside(Files.beside(Path(release))).lists
    assert path is not None, "a register has lists"
    try:
        return path.read_bytes()
    except OSError:
        raise DataError(
            f"The lists {str(path)!r} cannot be read. They lie beside their release, as they were written."
        ) from None
