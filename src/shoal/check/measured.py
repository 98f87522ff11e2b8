"""A certificate's figures, recomputed from the release: losses, value and ratio.

Figures are public in three digits, what was lost rounded up. A figure holds where it is the recomputed one
so rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import polars as pl

from shoal.check.claims import MEASURED, TOLERANCE, Claims, close
from shoal.check.kanonymity import Classes
from shoal.check.loss import loss_of_column, published_names, read_column, total_of
from shoal.check.ruler import NODES, PLACES, RANGES, STARS, Ruler
from shoal.model.cell import SUPPRESSED, parse_set
from shoal.model.certificate import Certificate
from shoal.model.facts import TOTAL_LOSS
from shoal.model.figures import (
    Figures,
    is_rounded_up,
    ratio_of,
    round_down,
    round_up,
    shown_bound,
    shown_ratio,
)
from shoal.model.hierarchy import Hierarchy
from shoal.model.verdict import GIVE, ColumnLoss, Finding, mean_apart

__all__ = [
    "Members",
    "check_exact",
    "check_losses",
    "check_receipt",
    "check_value",
    "measure_columns",
    "members_in",
]

GIVE_ORIGINAL = GIVE["original"]
APART = "pairs told apart"


def measure_columns(
    table: pl.DataFrame,
    claims: Claims,
    rulers: Mapping[str, Ruler | None],
    classes: Classes,
    *,
    withheld: int,
) -> dict[str, tuple[ColumnLoss, int]]:
    """The loss of every column whose cells tell it, and how many of its records do not fit."""
    lines = table[classes.row]
    found = {}
    for name in claims.quasi:
        ruler = rulers[name]
        if ruler is not None and not why_not(ruler, claims):
            cells = read_column(lines, published_names(ruler, claims.cells), ruler, classes.sizes)
            found[name] = loss_of_column(cells, ruler, withheld=withheld), cells.unfit
    return found


class Members(NamedTuple):
    """What the sets of a published column show: how many different members, and whether any is a star."""

    many: int
    starred: bool

    @classmethod
    def of(cls, cells: pl.Series) -> Members:
        """From a column's cells."""
        texts = cells.cast(pl.String).unique().to_list()
        return cls(len(members_in(texts)), SUPPRESSED in texts)


def members_in(texts: Iterable[str | None]) -> set[str | None]:
    """The different members of sets."""
    return {member for text in texts if text != SUPPRESSED for member in parse_set(text)}


def check_losses(
    found: Mapping[str, tuple[ColumnLoss, int]],
    certificate: Certificate,
    claims: Claims,
    rulers: Mapping[str, Ruler | None],
    trees: Mapping[str, Hierarchy],
    *,
    published: int,
    members: Callable[[str], Members],
    has_original: bool,
) -> Iterator[Finding]:
    """The loss of every column, of all together, and the value where that is the loss.

    `found` is what was measured of the release, whose records are `published`.
    """
    said_of = {column.name: column for column in certificate.columns}
    strange = [column.name for column in certificate.columns if column.name not in claims.quasi]
    if strange or len(said_of) != len(certificate.columns):
        yield Finding(
            "columns lost", False, "The certificate measures columns that its plan does not name."
        )
    sure = True
    for name in claims.quasi:
        known = Evidence(
            members, claims, rulers[name], trees.get(name), has_original, certificate.withheld == 0
        )
        finding = _column(name, said_of.get(name), known, found.get(name))
        sure &= finding.holds is not None
        yield finding
    losses = [found[name][0] for name in claims.quasi if name in found]
    total, percent = total_of(losses, records=published + certificate.withheld)
    said = {"loss": (certificate.loss, total), "loss_percent": (certificate.loss_percent, percent)}
    if certificate.objective in TOTAL_LOSS:
        said["value"] = (certificate.value, total)
    for claim, (figure, measure) in said.items():
        if len(losses) < len(claims.quasi) or measure is None:
            if claims.style == "centres" and claim != "value":  # which says nothing of what groups cover
                detail = "Centres say nothing of the loss, and no certificate of them does."
                yield Finding(claim, figure is None, detail)
                continue
            holds = None if figure is not None or claims.style == "centres" else False
            yield Finding(claim, holds, "Not recomputable without the loss of every column.")
            continue
        agree = is_rounded_up(figure, measure)
        aside = "" if sure else " It needs what the columns need."
        detail = f"The certificate says {_short(figure)}; the release gives {round_up(measure):g}.{aside}"
        yield Finding(claim, (True if sure else None) if agree else False, detail)
    yield from _apart(certificate, claims, found)


def _apart(
    certificate: Certificate, claims: Claims, found: Mapping[str, tuple[ColumnLoss, int]]
) -> Iterator[Finding]:
    """Which pairs of records the cells tell apart, column by column and on average."""
    if certificate.claims_apart:
        said = {column.name: column.told_apart for column in certificate.columns}
        known = {name: one.told_apart for name, (one, _) in found.items()}
        wrong = [name for name, share in known.items() if not _is_rounded_down(said.get(name), share)]
        unknown = [name for name in claims.quasi if name not in known and said.get(name) is not None]
        told = {name: share for name, share in said.items() if share is not None}
        mean = mean_apart([one for one, _ in found.values()]) if len(known) == len(claims.quasi) else None
        if not unknown and not _is_rounded_down(certificate.told_apart_percent, mean):
            wrong.append("all columns")
        if wrong or (told and claims.style not in MEASURED):
            which = ", ".join(wrong or told)
            detail = f"The published cells do not tell so many pairs of records apart: {which}."
            yield Finding(APART, False, detail)
        elif unknown:
            detail = f"Not recomputable without the loss of {', '.join(unknown)}: it needs what they need."
            yield Finding(APART, None, detail)
        elif told:
            yield Finding(APART, True, "The published cells tell so many pairs of records apart.")


def _is_rounded_down(said: float | None, exact: float | None) -> bool:
    """Whether `said` is `exact` rounded down, however a mean was added up."""
    if said is None or exact is None:
        return said is exact
    return round_down(exact * (1 - 1e-12)) <= said <= round_down(exact * (1 + 1e-12))


class Evidence(NamedTuple):
    """What is there to hold a column's figures against."""

    members: Callable[[str], Members]
    claims: Claims
    ruler: Ruler | None
    tree: Hierarchy | None
    has_original: bool
    is_whole: bool

    @property
    def is_line(self) -> bool:
        """Whether the ruler measures from least to greatest."""
        return self.ruler is not None and self.ruler.published in {RANGES, PLACES}


def _column(
    name: str, said: ColumnLoss | None, known: Evidence, found: tuple[ColumnLoss, int] | None
) -> Finding:
    """One finding for a column's weight, denominator and loss."""
    claim, claims, ruler = f"loss of {name}", known.claims, known.ruler
    if said is None:
        return Finding(claim, False, f"The certificate says nothing of column {name!r}.")
    if said.weight != claims.weights.get(name, 1.0):
        return Finding(claim, False, "The column's weight is not that of the plan.")
    if known.is_line and (said.denominator is None) == claims.tells_ranges:
        return Finding(claim, False, "What a column is divided by is said exactly where its cells tell it.")
    if found is None or ruler is None:
        if said.loss is not None and claims.style not in MEASURED:
            return Finding(
                claim, False, "The certificate says a loss that cells of this style do not tell."
            )
        return Finding(claim, None, why_not(ruler, claims))
    loss, unfit = found
    fits, is_sure = _denominator(said, known, ruler)
    if not fits:
        where = "the published cells" if known.is_line else "the column's values and its hierarchy"
        return Finding(claim, False, f"The column's denominator is not that of {where}.")
    agree = unfit == 0 and said.loss is not None and is_rounded_up(said.loss, loss.loss or 0.0)
    gives = _percent(round_up(loss.loss or 0.0))
    detail = f"The certificate says {_percent(said.loss)}; the release loses {gives}"
    detail += f", and {unfit} cells do not fit the column." if unfit else "."
    if agree and not is_sure:
        detail = (
            f"The loss agrees if the denominator does, which the release does not tell. {GIVE_ORIGINAL}"
        )
    return Finding(claim, (True if is_sure else None) if agree else False, detail)


def _denominator(said: ColumnLoss, known: Evidence, ruler: Ruler) -> tuple[bool, bool]:
    """Whether a denominator fits what is known of the column's values, and whether that is sure."""
    denominator = said.denominator
    if denominator is None:
        return False, True
    if known.is_line or known.has_original:
        return close(denominator, ruler.denominator), True
    if ruler.published == STARS:
        return denominator == 1.0, True
    tree = known.tree
    if tree is not None:  # missing cells are one more leaf
        if known.claims.loss == "levels" and ruler.published == NODES:
            return denominator in {float(tree.height), float(max(tree.height, 1))}, True
        return denominator in {len(tree.leaves) - 1.0, float(len(tree.leaves))}, True
    members = known.members(said.name)
    shown = float(max(0, members.many - 1))
    if members.starred:  # one value alone is never suppressed
        return denominator >= max(shown, 1.0), False
    # every value of a label stands in some set, unless its rows are withheld or stand for no record
    if known.is_whole and known.claims.count is None and known.claims.kinds.get(said.name) == "label":
        return denominator == shown, True
    return denominator >= shown, False


def why_not(ruler: Ruler | None, claims: Claims) -> str:
    """Why a column's loss cannot be recomputed; empty where it can."""
    if claims.style not in MEASURED:
        return f"Not recomputable: the style {claims.style!r} publishes values that stand for a group."
    if ruler is None:
        return "Not recomputable: the column is of a kind this check does not know."
    if ruler.published in {RANGES, PLACES} and claims.cells == "middle":
        return "Not recomputable: a published middle does not say how wide its range was."
    if ruler.published == NODES and ruler.nodes is None:
        if "(" in claims.trees.get(ruler.name, ""):
            return f"Not recomputable: a built hierarchy has the values of the table. {GIVE_ORIGINAL}"
        return f"Not recomputable without the column's hierarchy. {GIVE['hierarchies']}"
    return ""


def check_value(
    certificate: Certificate,
    *,
    largest: int,
    published: int,
    shown: float | None = None,
    exact: Figures | None = None,
) -> Iterator[Finding]:
    """The value where it is not the loss, and the ratio; `exact` are the receipt's figures.

    `largest` is the largest class, `shown` the value that published radii give, where they do.
    """
    value = certificate.value
    if certificate.objective == "largest":
        # groups that look alike are one class, so a class may be larger than the largest group
        holds = None if value < round_up(largest) else value == round_up(largest)
        yield Finding("value", holds, f"The certificate says {value:g}; the largest class has {largest}.")
    elif shown is not None:
        # radii are published rounded up to six digits after the point
        low = shown - 2e-6 * max(1.0, published)
        same = round_up(max(0.0, low)) <= value <= round_up(shown + TOLERANCE)
        detail = f"The certificate says {value:g}; the published radii give {round_up(shown):g}."
        yield Finding("value", same, detail)
    elif certificate.objective not in TOTAL_LOSS:
        detail = "It needs the groups, which no file holds."
        yield Finding("value", None, f"Not recomputable: the objective {certificate.objective!r}. {detail}")
    yield _ratio(certificate, exact)


def _ratio(certificate: Certificate, exact: Figures | None) -> Finding:
    value, bound, said = certificate.value, certificate.bound, certificate.ratio
    if value < 0 or (bound is not None and bound < 0):
        return Finding("ratio", False, "Value and bound are at least 0.")
    if bound is not None and bound > value:
        return Finding("ratio", False, "The bound is above the value, which no bound can be.")
    expected = ratio_of(value, bound)
    expected = expected if expected is None else round_up(expected, 4)
    if said == expected:
        return Finding("ratio", True, "The ratio is value / bound, rounded up.")
    # the best possible: what rounds up to the value may be what rounds down to the bound
    touches = bound is not None and round_up(bound * (1 + TOLERANCE)) >= value
    if said == 1.0 and touches and exact is not None and shown_ratio(exact.value, exact.bound) == 1.0:
        return Finding("ratio", True, "By the receipt value and bound are one number: the best possible.")
    if said == 1.0 and touches:
        return Finding(
            "ratio", None, f"Value and bound may be one number, which is the best possible. {GIVE_ORIGINAL}"
        )
    return Finding("ratio", False, "The ratio is not value / bound.")


def check_receipt(certificate: Certificate, exact: Figures) -> Finding:
    """Whether every public figure is the receipt's exact one, rounded."""
    wrong = [
        name
        for name, said, rounded in (
            ("value", certificate.value, round_up(exact.value)),
            ("bound", certificate.bound, exact.bound and shown_bound(exact.value, exact.bound)),
            ("ratio", certificate.ratio, shown_ratio(exact.value, exact.bound)),
            ("bound_name", certificate.bound_name, exact.bound_name),
            ("loss", certificate.loss, _up(exact.loss)),
            ("loss_percent", certificate.loss_percent, _up(exact.loss_percent)),
            *((name, certificate.more.get(name), round_up(figure)) for name, figure in exact.more.items()),
        )
        if said != rounded
    ]
    said_of = {column.name: column for column in certificate.columns}
    for column in exact.columns:
        said = said_of.get(column.name)
        same = said is not None and said.loss == _up(column.loss) and said.weight == column.weight
        if not same or (said is not None and said.denominator not in {None, column.denominator}):
            wrong.append(f"loss of {column.name}")
    if exact.persons is not None and exact.persons < certificate.k:
        wrong.append("persons")
    detail = "Every public figure is the receipt's, rounded."
    if wrong:
        detail = (
            f"The receipt's exact figures, rounded, are not those of the certificate: {', '.join(wrong)}."
        )
    return Finding("figures", not wrong, detail)


def check_exact(
    exact: Figures, found: Mapping[str, tuple[ColumnLoss, int]], *, records: int, is_loss: bool, style: str
) -> Finding:
    """The receipt's exact losses, held against the release and its original."""
    wrong = [
        column.name
        for column in exact.columns
        if column.name in found and not _same(column.loss, found[column.name][0].loss)
    ]
    measured = [one for one, _ in found.values()]
    if len(measured) == len(exact.columns):
        total, percent = total_of(measured, records=records)
        figures = [("loss", exact.loss, total), ("loss_percent", exact.loss_percent, percent)]
        figures += [("value", exact.value, total)] if is_loss else []
        wrong += [name for name, said, measure in figures if not _same(said, measure)]
    elif not measured:
        return Finding(
            "exact losses", None, f"Not recomputable: the cells of style {style!r} do not tell them."
        )
    detail = "The receipt's exact losses are those of the release."
    if wrong:
        detail = f"The receipt's exact figures are not those of the release: {', '.join(wrong)}."
    elif len(measured) < len(exact.columns):
        return Finding("exact losses", None, "Not every column's cells tell what they lose.")
    return Finding("exact losses", not wrong, detail)


def _same(said: float | None, found: float | None) -> bool:
    return said is found if said is None or found is None else close(said, found)


def _up(figure: float | None) -> float | None:
    return None if figure is None else round_up(figure)


def _percent(share: float | None) -> str:
    return "nothing" if share is None else f"{100 * share:.6g} %"


def _short(number: float | None) -> str:
    return "nothing" if number is None else f"{number:g}"
