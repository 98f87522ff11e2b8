"""How many of those who were there as long lie in a box; whether a row may be shown in it.

A row is always one of the k in its own box, also where it has moved or returned since its first cell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.threads import over_rows

__all__ = ["FEW", "Present", "all_hold", "begin_of", "lie_within", "may_show", "need_of"]

FEW = 64
"""Rows in a cut that are listed once, so that they need not be looked for in the tree again and again."""


class Present(NamedTuple):
    """Rows, what was shown of them, and a tree of their points (`kernels/neighbours/box_tree`).

    Rows stand in the order of the tree, and those of one point by their `stay`.

    By row: `points`, the codes `low`..`high` that all cells shown of it hold in common, and `out_low`..
    `out_high`, those of the least box that holds these and can be shown. `since` is the release that its
    first such cell is of, `is_free` whether there is none. By node of the tree: `start`, `end`, `child`,
    `node_low`, `node_high`, the rows below it (`many`), and the least and greatest of their `stay`, the
    release since which a row has been there, without a break, at its point. By place of the tree: the
    point's `codes`, and its rows first[p] .. first[p + 1]. Rows with one cut have one number, `own`, and
    `within` has the `few` rows that lie in it and have been there as long, where these are at most FEW;
    else `few` is -1.
    """

    points: Any
    low: Any
    high: Any
    out_low: Any
    out_high: Any
    since: Any
    is_free: Any
    stay: Any
    start: Any
    end: Any
    child: Any
    node_low: Any
    node_high: Any
    many: Any
    least: Any
    most: Any
    codes: Any
    first: Any
    own: Any
    within: Any
    few: Any


@entry
def begin_of(start, end, child, stay, first):
    """Per node the least and greatest `stay` of its rows."""
    least = np.empty(start.size, np.int32)
    most = np.empty(start.size, np.int32)
    for node in range(start.size - 1, -1, -1):  # children come after their parents
        if child[node] >= 0:
            one = child[node]
            least[node] = min(least[one], least[one + 1])
            most[node] = max(most[one], most[one + 1])
            continue
        least[node] = most[node] = stay[first[start[node]]]
        for row in range(first[start[node]], first[end[node]]):
            least[node] = min(least[node], stay[row])
            most[node] = max(most[node], stay[row])
    return least, most


@leaf
def _lies_in(codes, at, low, high):
    for axis in range(low.size):
        if codes[at, axis] < low[axis] or codes[at, axis] > high[axis]:
            return False
    return True


@inner
def _count(present, low, high, since, most, out, stack):
    """Count the rows of a box that were there in release `since` and ever after, up to `most` of them.

    Those for which there is room are written.
    """
    found = 0
    depth = 1
    stack[0] = 0
    while depth:
        depth -= 1
        node = stack[depth]
        if present.least[node] > since:
            continue
        outside = False
        inside = True
        for axis in range(low.size):
            if present.node_low[node, axis] > high[axis] or present.node_high[node, axis] < low[axis]:
                outside = True
                break
            if present.node_low[node, axis] < low[axis] or present.node_high[node, axis] > high[axis]:
                inside = False
        if outside:
            continue
        if inside and present.most[node] <= since:
            if found + present.many[node] >= most:
                return most
            if out.size == 0:
                found += present.many[node]
                continue
        if present.child[node] >= 0:
            stack[depth] = present.child[node]
            stack[depth + 1] = present.child[node] + 1
            depth += 2
            continue
        for at in range(present.start[node], present.end[node]):
            if not inside and not _lies_in(present.codes, at, low, high):
                continue
            for row in range(present.first[at], present.first[at + 1]):
                if present.stay[row] > since:
                    break  # they are by their stay
                if found < out.size:
                    out[found] = row
                found += 1
                if found >= most:
                    return most
    return found


@leaf
def need_of(present, i, k):
    """How many of those who were there as long must be in the box of row i: k, or k with itself."""
    return k - 1 if present.stay[i] > present.since[i] else k


@inner
def may_show(present, i, low, high, k, stack, cut_low, cut_high):
    """Whether row i may be shown in a box: that is no finer than what was shown of it, or holds k now."""
    if present.is_free[i]:
        return True  # any box of a class holds k
    finer = False
    for axis in range(low.size):
        if low[axis] > present.out_low[i, axis] or high[axis] < present.out_high[i, axis]:
            finer = True
            break
    if not finer:
        return True
    number = present.own[i]
    few = present.few[number]
    need = need_of(present, i, k)
    if few >= 0:
        found = 0
        for at in range(few):
            if found + few - at < need:
                return False
            if _lies_in(present.points, present.within[number, at], low, high):
                found += 1
                if found >= need:
                    return True
        return found >= need
    for axis in range(low.size):
        cut_low[axis] = max(low[axis], present.low[i, axis])
        cut_high[axis] = min(high[axis], present.high[i, axis])
    return _count(present, cut_low, cut_high, present.since[i], need, stack[:0], stack) >= need


def lie_within(
    present: Present, ones: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For the cut of each of `ones` the rows that lie in it and have been there as long, and how many.

    Where they are more than `most`, it is -1.
    """
    within, few = np.empty((ones.size, most), np.int32), np.empty(ones.size, np.int32)
    over_rows(ones.size, lambda first, last: _lie_within(present, ones, within, few, first, last))
    return within, few


@entry
def _lie_within(present, ones, within, few, first, last):
    stack = np.empty(present.start.size + 2, np.int64)
    most = within.shape[1] + 1
    for number in range(first, last):
        i = ones[number]
        found = _count(
            present, present.low[i], present.high[i], present.since[i], most, within[number], stack
        )
        few[number] = -1 if found == most else found


def all_hold(
    present: Present, rows: NDArray[np.int64], low: NDArray[np.int32], high: NDArray[np.int32], k: int
) -> NDArray[np.bool_]:
    """For the box of each of some rows whether it holds k, itself and those who were there as long."""
    out = np.empty(rows.size, np.bool_)
    over_rows(rows.size, lambda first, last: _all_hold(present, rows, low, high, k, out, first, last))
    return out


@entry
def _all_hold(present, rows, low, high, k, out, first, last):
    stack = np.empty(present.start.size + 2, np.int64)
    for at in range(first, last):
        i = rows[at]
        need = need_of(present, i, k)
        out[at] = _count(present, low[at], high[at], present.since[i], need, stack[:0], stack) >= need
