"""Whether the state to be kept says of everybody what was published, and forgets nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.model.coded import Coded
from shoal.model.register import RegisterState, measured
from shoal.model.standing import Ground, Sides, ground_of

__all__ = ["Told", "content_of", "equal_sides", "judge_kept"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What all cells tell of the rows of a table: their cut low..high, in the codes of `ground`.

    `finer` is where it is finer than before, by row and column. `since`, `stay` and `point` are as in a
    state; `school` is where each row is listed.
    """

    ground: Ground
    low: Codes
    high: Codes
    finer: NDArray[np.bool_]
    since: Codes
    stay: Codes
    point: NDArray[np.uint8]
    school: Rows


def judge_kept(
    told: Told, coded: Coded, at_former: Rows, at_now: Rows, former: RegisterState, state: RegisterState
) -> Iterator[str]:
    """Everything that speaks against a state: what it says of those who are there, and of the others."""
    if _differ(told, coded, at_former, at_now, former, state):
        yield "The state does not say what all cells tell of a person."
    for name in ("since", "stay", "point", "school"):
        if (getattr(state, name)[at_now] != getattr(told, name)).any():
            yield f"The state says otherwise than the release, in: {name}."
    kinds = measured(coded.columns)
    if dict(state.kinds) != kinds or any(
        former.kinds.get(name, kind) != kind for name, kind in kinds.items()
    ):
        yield "A column is measured otherwise than before, or than the state says."
    known = at_former >= 0
    if (former.person[at_former[known]] != state.person[at_now[known]]).any():
        yield "The state names a person otherwise than before."
    if state.number != former.number + 1:
        yield "The state numbers its release otherwise."
    yield from _judge_absent(at_former, at_now, former, state)
    left = known & (former.lines("school", at_former, -1) >= 0)
    left &= former.lines("school", at_former, -1) != told.school
    expected = {(former.person[p].tobytes(), int(s)) for p, s in former.past.tolist()}
    expected |= {
        (state.person[at_now[row]].tobytes(), int(former.school[at_former[row]]))
        for row in np.flatnonzero(left).tolist()
    }
    if expected != {(state.person[p].tobytes(), int(s)) for p, s in state.past.tolist()}:
        yield "The state forgets a school that a person has left, or invents one."


def _judge_absent(
    at_former: Rows, at_now: Rows, former: RegisterState, state: RegisterState
) -> Iterator[str]:
    """Whoever is not in this release stands in the state as before."""
    before, after = np.ones(len(former.person), bool), np.ones(len(state.person), bool)
    before[at_former[at_former >= 0]] = False
    after[at_now] = False
    one, other = np.flatnonzero(before), np.flatnonzero(after)
    same = one.size == other.size and (former.person[one] == state.person[other]).all()
    if not same:
        yield "The state forgets somebody who left, or invents somebody."
        return
    for name in ("school", "since"):
        same &= bool((getattr(former, name)[one] == getattr(state, name)[other]).all())
    for place in range(former.cut.shape[1]):
        same &= equal_sides(content_of(former, one, place), content_of(state, other, place))
    if not same or state.stay[other].any() or state.point[other].any():
        yield "The state says of somebody who left what was not shown."


def _differ(
    told: Told, coded: Coded, at_former: Rows, at_now: Rows, former: RegisterState, state: RegisterState
) -> bool:
    """Whether the state has another cut for somebody: the former side, or just what is told now."""
    ground = told.ground
    kept = ground_of(coded, state.cut[at_now], state.sides, state.key)
    if kept.is_free.any():
        return True
    for place, column in enumerate(ground.columns):
        new = told.finer[:, place] | ground.is_free
        old = np.flatnonzero(~new)
        if not equal_sides(
            content_of(former, at_former[old], place), content_of(state, at_now[old], place)
        ):
            return True
        rows = np.flatnonzero(new)
        low, high = told.low[rows, place], told.high[rows, place]
        if column.numbers:
            values, missing = np.append(column.numbers[0], np.nan), column.axes[0].missing
            ends = np.stack([values[low], values[high]], axis=1)
            ends[(high == missing) & (low != missing)] = -np.inf, np.inf
            if not equal_sides(ends, content_of(state, at_now[rows], place)):
                return True
            continue
        its = (kept.low, kept.out_low, kept.high, kept.out_high)
        for one, end in zip(its, (low, low, high, high), strict=True):
            if (one[rows, place] != end).any():
                return True
    return False


def content_of(state: RegisterState, lines: Rows, place: int) -> Sides:
    """What some lines of a state cover on one column; everybody of them was shown something."""
    sides: Sides = state.sides[place]
    return np.asarray(sides[state.cut[lines, place]])


def equal_sides(one: Sides, other: Sides) -> bool:
    """Whether sides cover the same, line by line; missing is the same as missing."""
    if not len(one) and not len(other):
        return True
    if one.shape != other.shape:
        return False
    return bool(((one == other) | (np.isnan(one) & np.isnan(other))).all())
