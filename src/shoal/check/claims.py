"""What a certificate's plan claims, read so that a release can be held against it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.check import centres
from shoal.check.kanonymity import Classes, classes_of, records_of
from shoal.check.loss import published_names
from shoal.check.ruler import NODES, RANGES, SETS, STARS, Ruler, place_ruler, ruler_of
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import RADIUS, SIZE
from shoal.model.rule import Rule
from shoal.model.verdict import ColumnLoss

__all__ = ["MEASURED", "TOLERANCE", "Claims", "classes_as_said", "close", "published_columns", "rulers_of"]

TOLERANCE = 1e-6
PUBLISHED = {
    "number": RANGES,
    "date": RANGES,
    "tree": NODES,
    "region": NODES,
    "label": SETS,
    "place": STARS,
}
MEASURED = ("generalize", "suppress")


"""Styles whose cells say what they cover."""


@dataclass(frozen=True, slots=True)
class Claims:
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
    def of(cls, certificate: Certificate) -> Claims:
        """Read the plan inside a certificate."""
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


def classes_as_said(table: pl.DataFrame, claims: Claims) -> Classes:
    """The classes of a release in the style that its plan names."""
    if claims.style == "centres":
        return centres.lines_of(table)
    not_quasi = {*claims.others, claims.count}
    quasi = [name for name in table.columns if name not in not_quasi]
    return classes_of(table, quasi, records_of(table, claims.count))


def published_columns(claims: Claims, rulers: Mapping[str, Ruler | None]) -> list[str]:
    """The columns that a release of this plan has."""
    if claims.style == "centres":
        return [*claims.quasi, SIZE, RADIUS, *claims.others]
    names: list[str] = []
    for name in claims.quasi:
        ruler = rulers[name]
        names += published_names(ruler, claims.cells, claims.style) if ruler is not None else (name,)
    return [*names, *claims.others, *((claims.count,) if claims.count is not None else ())]


def rulers_of(
    certificate: Certificate,
    claims: Claims,
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


def _ruler_as_said(said: ColumnLoss, claims: Claims, tree: Hierarchy | None) -> Ruler | None:
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


def _inside(kind: str) -> tuple[str, ...]:
    """What stands in the brackets of a kind."""
    return tuple(part.strip() for part in kind.partition("(")[2].rstrip(")").split(",") if part.strip())


def close(one: float, other: float | None) -> bool:
    """Whether two figures are the same but for rounding."""
    return other is not None and math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3)
