"""What a certificate's plan claims, read so that a release can be held against it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from shoal.check import centres
from shoal.check.kanonymity import Classes, classes_of, records_of
from shoal.check.loss import published_names
from shoal.check.ruler import NODES, RANGES, SETS, STARS, Ruler, number_of, place_ruler, ruler_of
from shoal.errors import DataError, PlanError
from shoal.model.cell import SUPPRESSED, parse_box, parse_range
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.figures import Ranges
from shoal.model.hierarchy import Hierarchy
from shoal.model.plain import has_text
from shoal.model.plan import RADIUS, SIZE
from shoal.model.rule import Rule
from shoal.model.verdict import ColumnLoss
from shoal.model.whom import Whom

__all__ = [
    "MEASURED",
    "TOLERANCE",
    "Claims",
    "classes_as_said",
    "close",
    "published_columns",
    "ranges_in",
    "rulers_of",
]

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
    pseudonym: str | None

    @classmethod
    def of(cls, certificate: Certificate) -> Claims:
        """Read the plan inside a certificate."""
        plan = certificate.plan
        try:
            whom, rules = Whom.read(unit=plan.unit, count=plan.count), map(Rule.parse, plan.rules)
            return cls(
                quasi=plan.quasi,
                others=(*plan.sensitive, *plan.keep),
                count=whom.count,
                kinds={name: kind.partition("(")[0] for name, kind in plan.kinds.items()},
                parts={name: _inside(kind) for name, kind in plan.kinds.items()},
                weights=plan.weights,
                trees=plan.hierarchies,
                loss=plan.loss,
                cells=plan.cells,
                style=plan.style,
                k=plan.k,
                rules=tuple(rules),
                unit=whom.unit,
                pseudonym=plan.pseudonym,
            )
        except PlanError:
            raise DataError(
                "The certificate's plan counts or rules as no plan of Shoal's does; it cannot be verified."
            ) from None

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are published beside the quasi-identifiers."""
        more = (self.pseudonym, self.count)
        return (*self.others, *(name for name in more if name is not None))

    @property
    def tells_ranges(self) -> bool:
        """Whether cells of numbers, dates and places say from where to where they reach."""
        return self.style == "generalize" and self.cells != "middle"


def classes_as_said(table: pl.DataFrame, claims: Claims) -> Classes:
    """The classes of a release in the style that its plan names."""
    if claims.style == "centres":
        return centres.lines_of(table)
    quasi = [name for name in table.columns if name not in claims.beside]
    return classes_of(table, quasi, records_of(table, claims.count))


def published_columns(claims: Claims, rulers: Mapping[str, Ruler | None]) -> list[str]:
    """The columns that a release of this plan has."""
    if claims.style == "centres":
        return [*claims.quasi, SIZE, RADIUS, *claims.others]
    names: list[str] = []
    for name in claims.quasi:
        ruler = rulers[name]
        names += published_names(ruler, claims.cells, claims.style) if ruler is not None else (name,)
    return [*names, *claims.beside]


def ranges_in(table: pl.DataFrame, claims: Claims) -> Ranges:
    """The least and greatest published value of every number, date and place column, from its cells alone.

    Empty where cells do not tell; cells that cannot be read and columns that are not there are left aside.
    """
    ranges: dict[str, tuple[tuple[float, float] | None, ...]] = {}
    if not claims.tells_ranges:
        return ranges
    for name in claims.quasi:
        kind, parts = claims.kinds.get(name, ""), claims.parts.get(name, ())
        if kind not in {"number", "date", "place"}:
            continue
        sides = parts if kind == "place" else (name,)
        if claims.cells == "bounds":
            names = [f"{side}_{end}" for side in sides for end in ("low", "high")]
        else:
            names = [name]
        if any(one not in table.columns or not has_text(table.schema[one]) for one in names):
            continue
        lines = table.select(pl.col(one).cast(pl.String) for one in names).unique().rows()
        pairs: list[list[tuple[str, str]]] = []
        for line in lines:
            if any(cell is None or cell == SUPPRESSED for cell in line):
                continue
            if claims.cells == "bounds":
                pairs.append([(line[at], line[at + 1]) for at in range(0, len(line), 2)])
            else:
                pairs.append(parse_box(line[0]) if kind == "place" else [parse_range(line[0])])
        ranges[name] = tuple(
            _ends([pair[at] for pair in pairs if len(pair) == len(sides)], kind) for at in range(len(sides))
        )
    return ranges


def _ends(pairs: list[tuple[str, str]], kind: str) -> tuple[float, float] | None:
    lows = [number_of(low, kind) for low, _ in pairs]
    highs = [number_of(high, kind) for _, high in pairs]
    least = [low for low in lows if low is not None]
    greatest = [high for high in highs if high is not None]
    return (min(least), max(greatest)) if least and greatest else None


def rulers_of(
    certificate: Certificate,
    claims: Claims,
    hierarchies: Mapping[str, Hierarchy],
    coded: Coded | None,
    ranges: Ranges,
) -> dict[str, Ruler | None]:
    """A ruler per quasi-identifier; None where the certificate has none such.

    Numbers, dates and places are divided by the range of what is published, all is weighted by the plan,
    whatever the certificate says.
    """
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
            column = replace(
                said, weight=claims.weights.get(name, 1.0), denominator=said.denominator or 0.0
            )
            if claims.kinds.get(name) in {"number", "date", "place"} and claims.style != "suppress":
                ends = ranges.get(name, ())
                extent = sum(0.0 if pair is None else pair[1] - pair[0] for pair in ends)
                column = replace(column, denominator=extent)
            rulers[name] = _ruler_as_said(column, claims, hierarchies.get(name))
    return rulers


def _ruler_as_said(said: ColumnLoss, claims: Claims, tree: Hierarchy | None) -> Ruler | None:
    kind = claims.kinds.get(said.name)
    denominator = said.denominator or 0.0
    if kind == "place" and claims.style != "suppress":
        parts = claims.parts[said.name]
        return place_ruler(said.name, said.weight, denominator, parts) if len(parts) == 2 else None
    published = PUBLISHED.get(kind or "")
    if kind == "region" and len(claims.quasi) == 1:
        published = SETS
    if published is None:
        return None
    if claims.style == "suppress":
        published = STARS
    elif published == NODES and claims.loss == "sets":
        published = SETS
    return Ruler(
        name=said.name,
        weight=said.weight,
        denominator=denominator,
        published=published,
        kind=kind or "",
        by_levels=claims.loss == "levels",
        nodes=tree.nodes() if published == NODES and tree is not None else None,
    )


def _inside(kind: str) -> tuple[str, ...]:
    """What stands in the brackets of a kind."""
    return tuple(part.strip() for part in kind.partition("(")[2].rstrip(")").split(",") if part.strip())


def close(one: float, other: float | None) -> bool:
    """Whether two figures are the same but for rounding."""
    return other is not None and math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3)
