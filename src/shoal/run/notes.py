"""What else there is to know of a release, in sentences without any cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from shoal.model.pseudonym import links

if TYPE_CHECKING:
    from shoal.model.whom import Repeats
    from shoal.run.release import Release

__all__ = ["notes_of"]


def notes_of(release: Release) -> Iterator[str]:
    """What was guessed, left out, dropped or doubted, and what a class may give away."""
    plan = release.plan
    for name, graph in plan.graphs.items():
        if graph.loops or graph.repeats:
            yield (
                f"The graph of {name} has {graph.loops:,} edges from a region to itself and "
                f"{graph.repeats:,} that stand twice; they were left out."
            )
    if release.guessed:
        kinds = ", ".join(f"{name} {kind}" for name, kind in release.guessed.items())
        yield f"Kinds were guessed: {kinds}. Declare them where that is wrong."
    yield from release.doubts
    if plan.dropped:
        yield f"Identifiers were dropped: {', '.join(plan.dropped)}."
    if plan.pseudonym is not None:
        yield links(plan.pseudonym)
    if plan.style == "centres" and plan.centre == "row":
        yield (
            "Centres are real rows: each line shows the exact quasi-identifiers of one of its records. "
            "Leave out the option centre=row to publish middles, which are nobody's."
        )
    if release.forgotten:
        yield f"{release.forgotten:,} persons were forgotten. What was listed of them stays, as one of k."
    if release.left_out:
        yield f"Left out, having no role: {', '.join(release.left_out)}."
    yield from _repeats(release, release.repeats)
    for column in release.verdict.sensitive:
        if column.distinct == 1 and column.closeness_equal > 0:
            yield (
                f"In some class everybody has one value of {column.name}, so it is no secret there. The "
                f'rule "{column.name}: 2-diverse" prevents that.'
            )
    squares = release.certificate.more.get("sse")
    if plan.style == "means" and isinstance(squares, int | float):
        yield f"The means stand {squares:.4g} from the original, as a sum of squares (SSE)."


def _repeats(release: Release, repeats: Iterable[Repeats]) -> Iterator[str]:
    for one in repeats:
        how = f"{one.values:,} of its values stand in {one.rows:,} rows, one in up to {one.most:,}"
        missing = f" and {one.missing:,} are missing" if one.missing else ""
        if one.column in release.left_out:
            yield (
                f"Column {one.column} looks as if it told persons apart and repeats: {how}. k counts rows, "
                f"not persons; the unit {one.column} counts persons."
            )
            continue
        end = "k counts rows, as was asked for."
        if not release.plan.whom.means_rows:
            end = f"Every class still holds {release.plan.k:,} different ones."
        yield f"Identifier {one.column} repeats: {how}{missing}. {end}"
