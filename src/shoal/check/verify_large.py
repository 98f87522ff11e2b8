"""Recomputes what a certificate claims from a release that does not fit into memory, as it passes by.

A release of Shoal stands in the order of its published cells, so one pass counts every class; one that does
not fails. The cells of every column are read with the rulers of the certificate's plan, as `verify_release`
reads those of a table in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from shoal.check.claims import Claims, rulers_of
from shoal.check.measured import Members, check_losses, check_value, members_in, why_not
from shoal.check.passing import Lines, ValuesThere, changes, rises, whole_classes
from shoal.check.ranges import ends_of
from shoal.check.ruler import SETS, Ruler
from shoal.check.tally import ClassTally
from shoal.check.verify import check_classes, check_columns, check_papers, check_rules
from shoal.model.cell import SUPPRESSED
from shoal.model.certificate import Certificate
from shoal.model.figures import Figures, Ranges
from shoal.model.hierarchy import Hierarchy
from shoal.model.plain import check_text
from shoal.model.rule import Rule
from shoal.model.verdict import ColumnLoss, Finding, Ruling

__all__ = ["verify_large"]


def verify_large(
    lines: Lines,
    names: Sequence[str],
    certificate: Certificate,
    *,
    digest: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    exact: Figures | None = None,
) -> list[Finding]:
    """Hold a release with the columns `names` against its certificate; `digest` is that of its files.

    Needs a release of generalized cells as text: what works part by part makes no other.
    """
    claims = Claims.of(certificate)
    trees = hierarchies or {}
    findings = [*check_papers(certificate, claims, digest)]
    quasi = [name for name in names if name not in claims.beside]
    texts = _as_texts(lines, quasi)
    rulers = rulers_of(certificate, claims, trees, None, _ranges(texts, quasi, claims))
    columns, is_whole = check_columns(names, claims, rulers)
    findings.append(columns)
    if not is_whole:
        return findings
    seen = _Passing(texts, quasi, claims, rulers, trees)
    findings.append(Finding("order", seen.in_order, _ORDER if seen.in_order else _DISORDER))
    tally = seen.tally
    published = tally.total
    findings += check_classes(certificate, claims, tally.sizes)
    findings += check_rules(certificate, claims, trees, seen.ruling)
    findings += check_losses(
        seen.losses(certificate.withheld),
        certificate,
        claims,
        rulers,
        trees,
        published=published,
        members=seen.members,
        has_original=False,
    )
    findings += check_value(
        certificate, largest=max(tally.sizes, default=0), published=published, exact=exact
    )
    return findings


_ORDER = "The lines stand in the order of their published cells."
_DISORDER = (
    "The lines do not stand in the order of their published cells, as those of every release do: a class "
    "may stand in two places."
)


def _as_texts(lines: Lines, quasi: Sequence[str]) -> Lines:
    """The same with the quasi-identifiers as texts, however a file had them."""

    def texts(names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for part in lines(names):
            shown = [name for name in names if name in quasi]
            for name in shown:
                check_text(part[name])
            yield part.with_columns(pl.col(shown).cast(pl.String))

    return texts


def _ranges(lines: Lines, quasi: Sequence[str], claims: Claims) -> Ranges:
    """The least and greatest published value of every number and date column; see `ranges_in`."""
    wanted = [name for name in quasi if claims.kinds.get(name) in {"number", "date"}]
    ends: dict[str, tuple[float, float]] = {}
    for part in lines(wanted) if wanted else ():
        for name in wanted:
            cells = part.select(name).unique().drop_nulls()
            low, high = ends_of(cells, claims.kinds[name])
            known = ~(np.isnan(low) | np.isnan(high))
            if known.any():
                least, greatest = ends.get(name, (np.inf, -np.inf))
                ends[name] = min(least, float(low[known].min())), max(greatest, float(high[known].max()))
    return {name: (ends.get(name),) for name in wanted}


class _Passing:
    """What is counted and measured while a release passes by."""

    def __init__(
        self,
        lines: Lines,
        quasi: Sequence[str],
        claims: Claims,
        rulers: Mapping[str, Ruler | None],
        trees: Mapping[str, Hierarchy],
    ) -> None:
        known = {rule.column for rule in claims.rules} & {*claims.others}
        rules = [
            rule
            for rule in claims.rules
            if rule.column in known and (rule.distance != "hierarchy" or rule.column in trees)
        ]
        ruled = [name for name in claims.others if name in {rule.column for rule in rules}]
        spreads = {name: ValuesThere.of(lines, name, claims.count) for name in ruled}
        measured = {
            name: ruler
            for name, ruler in rulers.items()
            if ruler is not None and not why_not(ruler, claims) and name in quasi
        }
        self.rulers = measured
        self.tally = ClassTally(measured, rules, spreads, trees)
        self.in_order = True
        self._members: dict[str, set[str | None]] = {
            name: set() for name, ruler in rulers.items() if ruler is not None and ruler.published == SETS
        }
        self._starred = dict.fromkeys(self._members, False)
        last: pl.DataFrame | None = None
        for part in whole_classes(lines, quasi, ruled, claims.count):
            shown = part.select(quasi)
            heads = shown[np.flatnonzero(changes(shown))]
            self.in_order &= rises(heads if last is None else pl.concat([last, heads]))
            last = heads[-1:]
            self.tally.add(part, quasi)
            for name, members in self._members.items():
                cells = heads[name].unique().to_list()
                members.update(members_in(cells))
                self._starred[name] |= SUPPRESSED in cells

    def ruling(self, rule: Rule) -> Ruling | str:
        """A rule in its worst class."""
        return self.tally.rulings.get(rule.text, Ruling(rule.text, 0.0, False))

    def members(self, name: str) -> Members:
        """What the sets of a column show."""
        return Members(len(self._members.get(name, ())), self._starred.get(name, False))

    def losses(self, withheld: int) -> dict[str, tuple[ColumnLoss, int]]:
        """The loss of every column whose cells tell it, and how many of its records do not fit."""
        return {name: self.tally.loss_of(ruler, withheld=withheld) for name, ruler in self.rulers.items()}
