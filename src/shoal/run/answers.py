"""The three questions with their answers, and what was done to each column, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shoal.model.cell import SUPPRESSED
from shoal.model.certificate import Certificate
from shoal.model.exposure import Linkage
from shoal.model.pseudonym import links
from shoal.model.report import NO, OPEN, YES, Chances, Mixed, Question, Treated, as_percent
from shoal.model.whom import Whom

if TYPE_CHECKING:
    import polars as pl

__all__ = ["questions_of", "treated_columns"]

GENERALIZED = {
    "number": "generalization to ranges",
    "date": "generalization to ranges of dates",
    "tree": "generalization along a hierarchy",
    "label": "generalization to sets of values",
    "place": "generalization to rectangles",
    "region": "generalization to sets of regions",
}
STYLES = {
    "suppress": "local suppression: cells that differ within a class are starred",
    "means": "microaggregation: the mean of the class",
    "centres": "microaggregation: the centre of the class",
}
ASIDES = {
    "bounds": ", as a low and a high column",
    "middle": ", of which the middle is published (rounding)",
    "id": ", as an id with a lookup table",
}


def questions_of(
    certificate: Certificate,
    *,
    holds: bool,
    before: Chances | None,
    now: Chances | None,
    mixed: Sequence[Mixed],
    alone_with_kept: int,
    linkage: Linkage | None,
    untried: str,
    doubt: str,
) -> tuple[Question, ...]:
    """Singling out, linkability and inference; where a claim does not hold, no answer is a plain no."""
    plan = certificate.plan
    return (
        Question(
            "Singling out",
            "Can a record be singled out by what others may know of the person?",
            tuple(_singled(plan.keep, before, now, alone_with_kept, doubt)),
            _is_singled(holds, now, alone_with_kept, doubt),
        ),
        Question(
            "Linkability",
            "Can records of one person be linked, here or with other data?",
            tuple(_linked(linkage, untried, plan.pseudonym)),
            YES if plan.pseudonym is not None or (linkage is not None and linkage.one_record) else OPEN,
        ),
        Question(
            "Inference",
            "Can something sensitive be learned of a person?",
            tuple(_inferred(certificate, mixed, linkage)),
            _is_inferred(certificate, holds, now, mixed),
        ),
    )


def _singled(
    kept: Sequence[str], before: Chances | None, now: Chances | None, alone_with_kept: int, doubt: str
) -> Iterator[str]:
    if before is not None:
        yield (
            f"Before, {before.alone:,} of {before.total:,} {before.counted} stood alone: nobody else had "
            "the same values."
        )
    if now is None:
        yield "Now: not measured. The release lacks columns that it should have, or holds no record."
        return
    alone = f"{now.alone:,} stand alone" if now.alone else "nobody stands alone"
    chance = f"{'at most ' if now.at_most else ''}{as_percent(now.highest)}"
    yield (
        f"Now {alone}. The smallest class holds {now.smallest:,} records that look alike; the highest "
        f"chance of finding the right one is {chance}."
    )
    if now.at_most:
        yield "That each class holds k persons is the certificate's word: no release tells its persons."
    if kept:
        yield (
            f"Whoever knows the columns published as they are ({', '.join(kept)}) besides finds "
            f"{alone_with_kept:,} records alone."
        )
    if doubt:
        yield doubt


def _is_singled(holds: bool, now: Chances | None, alone_with_kept: int, doubt: str) -> str:
    if now is not None and now.alone:
        return YES
    return NO if holds and now is not None and not alone_with_kept and not doubt else OPEN


def _linked(linkage: Linkage | None, untried: str, pseudonym: str | None) -> Iterator[str]:
    if pseudonym is not None:
        yield (
            f"{links(pseudonym)} Whoever has the key and the identifiers knows whose each row is: to them "
            "the release is pseudonymous, not anonymous, until the key is destroyed."
        )
    if linkage is not None:
        what = "person" if linkage.by_person else "record"
        yield (
            "Linkage trial: an attacker who holds the original's quasi-identifiers pins "
            f"{linkage.one_record:,} of {linkage.persons:,} rows to one {what} and {linkage.one_class:,} "
            f"to one class; everybody who is found has at least {linkage.fewest:,} candidates, "
            f"{linkage.median:g} in the middle."
        )
    else:
        yield f"Linkage trial: not measured. {untried}"
    yield (
        "k-anonymity hides which record of a class is the person's. It does not hide that somebody is "
        "in the table, and does not protect where a second release of the same persons is published."
    )


def _inferred(certificate: Certificate, mixed: Sequence[Mixed], linkage: Linkage | None) -> Iterator[str]:
    for one in mixed:
        sure = f"certain for {one.certain:,} records" if one.certain else "certain for nobody"
        yield (
            f"{one.name}: {sure}. The least varied class has {one.distinct:,} different "
            f"value{'s' * (one.distinct != 1)}; the commonest is at most {as_percent(one.largest_share)} "
            "of a class."
        )
    certain = [one for one in linkage.homogeneous if one.persons] if linkage is not None else []
    for found in certain:
        yield f"In the trial {found.column} is certain for {found.persons:,} rows of the original."
    for ruling in certificate.rules:
        if ruling.measured is not None:
            yield f"Rule {ruling.rule}: by the certificate the worst class has {ruling.measured:.4g}."
    if certificate.plan.keep:
        yield f"Not measured: {', '.join(certificate.plan.keep)}, kept and not called sensitive."
    if not certificate.plan.sensitive and not certificate.plan.keep:
        yield "No column is published beside the quasi-identifiers."


def _is_inferred(certificate: Certificate, holds: bool, now: Chances | None, mixed: Sequence[Mixed]) -> str:
    if any(one.certain for one in mixed):
        return YES
    has_others = certificate.plan.sensitive or certificate.plan.keep
    return OPEN if has_others or not holds or now is None else NO


def treated_columns(
    certificate: Certificate, table: pl.DataFrame, original: Sequence[str] | None
) -> tuple[Treated, ...]:
    """Every column that the plan names, and those of the original that it leaves out."""
    plan = certificate.plan
    whom = Whom.read(unit=plan.unit, count=plan.count)
    losses = {column.name: column.loss for column in certificate.columns}
    rows = [
        Treated(name, "identifier", "removed (masking of direct identifiers)")
        for name in plan.identifier
        if name != plan.pseudonym
    ]
    if plan.pseudonym is not None:
        what = "replaced by keyed pseudonyms (HMAC-SHA-256)"
        rows.append(Treated(plan.pseudonym, "pseudonym", what))
    if whom.unit is not None and whom.unit not in {*plan.identifier, plan.pseudonym}:
        rows.append(Treated(whom.unit, "unit", "removed; it said whom k counts"))
    for name in plan.quasi:
        kind = plan.kinds.get(name, "").partition("(")[0]
        what = STYLES.get(plan.style, GENERALIZED.get(kind, "generalization"))
        if plan.style == "generalize" and _has_aside(kind, plan.cells):
            what += ASIDES.get(plan.cells, "")
        rows.append(Treated(name, "quasi-identifier", what, losses.get(name), _starred(table, name)))
    counts = plan.style == "centres"
    as_it_is = "published as counts of its values" if counts else "published as it is"
    rows += [Treated(name, "sensitive", as_it_is) for name in plan.sensitive]
    rows += [Treated(name, "keep", as_it_is) for name in plan.keep]
    if whom.count is not None:
        rows.append(Treated(whom.count, "count", "published: how many records a line stands for"))
    named = {row.name for row in rows}
    parts = {part.strip() for kind in plan.kinds.values() for part in _inside(kind)}
    left = [name for name in original or () if name not in named | parts]
    return (*rows, *(Treated(name, "no role", "left out (attribute suppression)") for name in left))


def _has_aside(kind: str, cells: str) -> bool:
    return kind in ({"label", "tree", "region"} if cells == "id" else {"number", "date", "place"})


def _inside(kind: str) -> list[str]:
    return kind.partition("(")[2].rstrip(")").split(",") if kind.startswith("place(") else []


def _starred(table: pl.DataFrame, name: str) -> int | None:
    """How many cells show nothing; None where the column is published in other columns."""
    import polars as pl

    if name not in table.columns:
        return None
    series = table[name]
    return int((series == SUPPRESSED).sum()) if series.dtype == pl.String else 0
