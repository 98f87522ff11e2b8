"""Whether a state belongs to a release, and follows the one before: what the two tell without a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kept import content_of, equal_sides
from shoal.check.series import schools_of
from shoal.model.certificate import Certificate
from shoal.model.register import NOBODY, RegisterState
from shoal.model.series import SCHOOL, SINCE

__all__ = ["NO_STATE", "belongs", "judge_files", "judge_listed", "judge_step"]

Rows = NDArray[np.int64]
NO_STATE = "The certificate is of no register: no state belongs to it."
NOT_SHOWN = "The state says of somebody that nothing was shown of him."


def belongs(state: RegisterState, certificate: Certificate) -> str:
    """What speaks against a state being that of a release; "" where nothing does."""
    place = certificate.series
    if place is None or place.register is None:
        return NO_STATE
    if state.number != place.number:
        return f"The state is of release {state.number}; this is release {place.number}."
    if state.release != certificate.release or state.certificate != certificate.digest:
        return "The state is of another release, or of another series."
    if tuple(state.kinds) != certificate.plan.quasi:
        return "The state is of other columns."
    return ""


def judge_files(state: RegisterState, table: pl.DataFrame, lists: pl.DataFrame) -> Iterator[str]:
    """A line for everybody who is there, each in his school, and nobody in a list who is no entry of it."""
    yield from judge_listed(state, table.height, lists)
    here = np.sort(state.school[state.stay > 0])
    if here.size == table.height and not np.array_equal(here, np.sort(schools_of(table))):
        yield "The state has persons in other schools than the table."


def judge_listed(state: RegisterState, lines: int, lists: pl.DataFrame) -> Iterator[str]:
    """The same without the table, of which only the number of lines is known."""
    here = int((state.stay > 0).sum())
    if here != lines:
        yield f"The state knows {here:,} persons who are there; the table has {lines:,}."
    sizes = lists.group_by(SCHOOL).len().sort(SCHOOL)
    names, entries = (sizes[name].to_numpy().astype(np.int64) for name in (SCHOOL, "len"))
    listed = np.concatenate([state.school[state.school != NOBODY], state.past[:, 1]])
    schools, members = np.unique(listed, return_counts=True)
    at = np.minimum(np.searchsorted(names, schools), max(names.size - 1, 0))
    known = names[at] == schools if names.size else np.zeros(schools.size, bool)
    if not known.all() or (members[known] > entries[at[known]]).any():
        yield "The state has a school without a list, or with more persons than its list has entries."
    if (state.cut < 0).any() or (state.since < 1).any():
        yield NOT_SHOWN


def judge_step(former: RegisterState, state: RegisterState, lists: pl.DataFrame) -> Iterator[str]:
    """Everything that speaks against a state being the one after another, in words and counts."""
    if (former.key, former.series) != (state.key, state.series):
        yield "The states are of two series."
        return
    if state.number != former.number + 1:
        yield "The states do not follow one another."
        return
    if any((one.cut < 0).any() for one in (former, state)):
        yield NOT_SHOWN
        return
    now, at = state.number, state.find(former.person)
    one, other = np.flatnonzero(at >= 0), at[at >= 0]
    is_new = np.ones(len(state.person), bool)
    is_new[other] = False
    if ((state.stay != now) | (state.since != now))[is_new].any():
        yield "Somebody who is new was there before."
    stay, was = state.stay[other], former.stay[one]
    gone, moved = stay == 0, state.since[other] == now
    begins = moved | (was == 0) | (state.point[other] != former.point[one]).any(axis=1)
    if (~gone & (stay != np.where(begins, now, was))).any():
        yield "The state says otherwise since when somebody has been there without a move."
    if (~moved & (state.since[other] != former.since[one])).any() or (gone & moved).any():
        yield "The state says otherwise since when somebody's cells count."
    yield from _judge_schools(former, state, one, other, lists)
    yield from _judge_sides(former, state, one, other, gone, moved)


def _judge_schools(
    former: RegisterState, state: RegisterState, one: Rows, other: Rows, lists: pl.DataFrame
) -> Iterator[str]:
    """A school is left for a new list only, by one who is there, and is never forgotten."""
    before, after = former.school[one], state.school[other]
    left = (before != NOBODY) & (before != after)
    entered = (after != NOBODY) & (before != after)
    new = lists.filter(pl.col(SINCE) == state.number)[SCHOOL].unique().to_numpy()
    if (left & (after == NOBODY)).any() or (entered & (state.stay[other] == 0)).any():
        yield "Somebody has lost his school, or got one without being there."
    if not np.isin(after[entered], new).all():
        yield "Somebody has entered a school that was listed before."
    line = {int(p): at for p, at in zip(one, other, strict=True)}
    expected = {(line[p], s) for p, s in former.past.tolist() if p in line}
    expected |= {(int(other[at]), int(before[at])) for at in np.flatnonzero(left)}
    if expected != {(int(p), int(s)) for p, s in state.past.tolist()}:
        yield "The state forgets a school that a person has left, or invents one."


def _judge_sides(
    former: RegisterState,
    state: RegisterState,
    one: Rows,
    other: Rows,
    gone: NDArray[np.bool_],
    moved: NDArray[np.bool_],
) -> Iterator[str]:
    """What was shown of those who are gone stays; what is known of the others never gets coarser."""
    absent, coarser = bool(state.point[other[gone]].any()), False
    for place in range(former.cut.shape[1]):
        was, now = content_of(former, one, place), content_of(state, other, place)
        absent |= not equal_sides(was[gone], now[gone])
        if was.dtype != np.float64:
            continue  # which node holds which needs the tree
        had, has = was[~gone & ~moved], now[~gone & ~moved]
        everything, missing = np.isinf(had[:, 0]), np.isnan(had[:, 0])
        within = (has[:, 0] >= had[:, 0]) & (has[:, 1] <= had[:, 1])
        coarser |= bool((~everything & ~np.where(missing, np.isnan(has[:, 0]), within)).any())
    if absent:
        yield "The state says of somebody who left what was not shown."
    if coarser:
        yield "The state knows less of what was shown of somebody than the one before."
