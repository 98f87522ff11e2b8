"""Cutting rows into smaller and smaller boxes.

A part is a run `start..end` of records that are moved together (codes, place and count), so that a
node reads memory in order. Nothing is allocated per node: all scratch arrays belong to one `Desk`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.spans import LINE, SET, TREE, span

__all__ = ["cut_apart"]


class Desk(NamedTuple):
    """Scratch space of one cutting.

    `held` and `part` have one slot per code of the widest axis: records with that code, and the part
    the code goes to. `used` lists the codes of a node, `order` its rows by part, `ends` where parts end.
    `seen` has a stamp per code of every SET axis from `set_start`. `spare` takes moved records.
    """

    held: Any
    part: Any
    used: Any
    weight: Any
    order: Any
    ends: Any
    seen: Any
    set_start: Any
    stamp: Any
    spare: Any
    spare_place: Any
    spare_count: Any


@njit(cache=True)
def _run_loss(codes, count, metric, order, start, end, desk):
    """Loss of the rows order[start:end] as one group."""
    axes = codes.shape[1]
    records = 0
    for i in range(start, end):
        records += count[order[i]]
    total = 0.0
    for axis in range(axes):
        if metric.form[axis] == SET:
            desk.stamp[0] += 1
            stamp = desk.stamp[0]
            base = desk.set_start[axis]
            members = 0
            for i in range(start, end):
                slot = base + codes[order[i], axis]
                if desk.seen[slot] != stamp:
                    desk.seen[slot] = stamp
                    members += 1
            total += metric.data[metric.offset[axis]] * (members - 1)
            continue
        low = codes[order[start], axis]
        high = low
        for i in range(start + 1, end):
            code = codes[order[i], axis]
            low = min(low, code)
            high = max(high, code)
        total += span(metric, axis, low, high)
    return records * total


@njit(cache=True)
def _list_codes(codes, count, axis, start, end, desk):
    """Fill `held` and the sorted `used` for one axis of a node; return how many codes it uses."""
    many = 0
    low = codes[start, axis]
    high = low
    for i in range(start, end):
        code = codes[i, axis]
        if desk.held[code] == 0:
            desk.used[many] = code
            many += 1
            low = min(low, code)
            high = max(high, code)
        desk.held[code] += count[i]
    if high - low < 16 * many:  # a scan is cheaper than a sort
        many = 0
        for code in range(low, high + 1):
            if desk.held[code] > 0:
                desk.used[many] = code
                many += 1
    else:
        desk.used[:many].sort()
    return many


@njit(cache=True)
def _two_parts(desk, many, first_right):
    for u in range(many):
        desk.part[desk.used[u]] = 1 if u >= first_right else 0


@njit(cache=True)
def _cut_line(desk, many, missing, records, k, absent):
    """Parts of a LINE axis: at the weighted median, or the missing cells apart; 0 where neither fits."""
    has_missing = desk.used[many - 1] == missing
    if absent:
        if not has_missing:
            return 0
        apart = desk.held[missing]
        if apart < k or records - apart < k:
            return 0
        _two_parts(desk, many, many - 1)
        return 2
    best = -1
    least = records + 1
    left = 0
    for u in range(many - 1):
        left += desk.held[desk.used[u]]
        off = abs(2 * left - records)
        if left >= k and records - left >= k and off < least:  # strict: the lower cut wins a tie
            least = off
            best = u + 1
    if best < 0:
        return 0
    _two_parts(desk, many, best)
    return 2


@njit(cache=True)
def _cut_tree(metric, axis, desk, many, k):
    """Parts of a TREE axis: one for each child of the common ancestor that holds k records.

    Smaller children stand together; where they are fewer than k records they join the smallest part.
    """
    whole = span(metric, axis, desk.used[0], desk.used[many - 1])
    parts = 0
    rest = 0
    smallest = -1
    u = 0
    while u < many:
        # a child ends where two neighbouring codes meet only in the common ancestor
        held = desk.held[desk.used[u]]
        stop = u + 1
        while stop < many and span(metric, axis, desk.used[stop - 1], desk.used[stop]) < whole:
            held += desk.held[desk.used[stop]]
            stop += 1
        if held >= k:
            for v in range(u, stop):
                desk.part[desk.used[v]] = parts
            desk.weight[parts] = held
            if smallest < 0 or held < desk.weight[smallest]:
                smallest = parts
            parts += 1
        else:
            for v in range(u, stop):
                desk.part[desk.used[v]] = -1
            rest += held
        u = stop
    into = parts
    if rest >= k:
        parts += 1
    else:
        into = smallest
    if parts < 2:
        return 0
    for u in range(many):
        if desk.part[desk.used[u]] < 0:
            desk.part[desk.used[u]] = into
    return parts


@njit(cache=True)
def _cut_set(desk, many, records, k):
    """Parts of a SET axis: the commonest members against the others, at the cheapest place.

    For any number of members on the smaller side, its loss is least with the commonest there.
    """
    width = desk.held.size
    for u in range(many):  # one number to sort by: commonest first, then by code
        code = desk.used[u]
        desk.used[u] = code - desk.held[code] * width
    desk.used[:many].sort()
    for u in range(many):
        desk.used[u] %= width
    best = -1
    least = np.inf
    left = 0
    for u in range(many - 1):
        left += desk.held[desk.used[u]]
        right = records - left
        loss = float(left) * u + float(right) * (many - u - 2)
        if left >= k and right >= k and loss < least:
            least = loss
            best = u + 1
    if best < 0:
        return 0
    _two_parts(desk, many, best)
    return 2


@njit(cache=True)
def _order_by_part(codes, axis, start, end, parts, desk):
    """Write the rows of a node to `order` part by part, keeping their order inside a part."""
    for p in range(parts + 1):
        desk.ends[p] = 0
    for i in range(start, end):
        desk.ends[desk.part[codes[i, axis]] + 1] += 1
    for p in range(parts):
        desk.ends[p + 1] += desk.ends[p]
    # ends[p] is where part p begins, and moves to where it ends
    for i in range(start, end):
        p = desk.part[codes[i, axis]]
        desk.order[desk.ends[p]] = i
        desk.ends[p] += 1


@njit(cache=True)
def _find_parts(codes, count, metric, axis, start, end, records, k, absent, desk):
    """Say in `part` how one axis would cut a node; return the number of parts, 0 where it cannot."""
    many = _list_codes(codes, count, axis, start, end, desk)
    form = metric.form[axis]
    if many < 2:
        parts = 0
    elif form == LINE:
        parts = _cut_line(desk, many, metric.missing[axis], records, k, absent)
    elif form == TREE:
        parts = 0 if absent else _cut_tree(metric, axis, desk, many, k)
    else:
        parts = 0 if absent else _cut_set(desk, many, records, k)
    for u in range(many):
        desk.held[desk.used[u]] = 0
    return parts


@njit(cache=True)
def _move(codes, place, count, start, end, desk):
    """Bring the records of a node into the order of `order`."""
    axes = codes.shape[1]
    for i in range(end - start):
        at = desk.order[i]
        for axis in range(axes):
            desk.spare[i, axis] = codes[at, axis]
        desk.spare_place[i] = place[at]
        desk.spare_count[i] = count[at]
    for i in range(end - start):
        for axis in range(axes):
            codes[start + i, axis] = desk.spare[i, axis]
        place[start + i] = desk.spare_place[i]
        count[start + i] = desk.spare_count[i]


@njit(cache=True)
def cut_apart(all_codes, all_count, metric, k):
    """Label distinct rows by cutting while every part keeps k records; -1 where a row has no records.

    Each node takes the cut that lowers its loss most; ties go to the first axis. Copies of a row stay
    together. Needs at least k records.
    """
    rows, axes = all_codes.shape
    n = 0
    for i in range(rows):
        n += all_count[i] > 0
    codes = np.empty((n, axes), dtype=np.int32)
    place = np.empty(n, dtype=np.int32)
    count = np.empty(n, dtype=np.int64)
    at = 0
    for i in range(rows):
        if all_count[i] > 0:
            for axis in range(axes):
                codes[at, axis] = all_codes[i, axis]
            place[at] = i
            count[at] = all_count[i]
            at += 1
    widest = 1
    set_start = np.zeros(axes, dtype=np.int64)
    set_codes = 0
    for axis in range(axes):
        widest = max(widest, metric.size[axis])
        if metric.form[axis] == SET:
            set_start[axis] = set_codes
            set_codes += metric.size[axis]
    desk = Desk(
        held=np.zeros(widest, dtype=np.int64),
        part=np.zeros(widest, dtype=np.int32),
        used=np.empty(widest, dtype=np.int64),
        weight=np.empty(widest, dtype=np.int64),
        order=np.empty(n, dtype=np.int64),
        ends=np.empty(widest + 2, dtype=np.int64),
        seen=np.zeros(set_codes, dtype=np.int64),
        set_start=set_start,
        stamp=np.zeros(1, dtype=np.int64),
        spare=np.empty((n, axes), dtype=np.int32),
        spare_place=np.empty(n, dtype=np.int32),
        spare_count=np.empty(n, dtype=np.int64),
    )
    for i in range(n):
        desk.order[i] = i
    label = np.empty(rows, dtype=np.int32)
    for i in range(rows):
        label[i] = -1
    # parts on the stack are disjoint runs of at least one row, so n places hold them all
    stack = np.empty((n + 1, 2), dtype=np.int64)
    losses = np.empty(n + 1)
    stack[0, 0] = 0
    stack[0, 1] = n
    losses[0] = _run_loss(codes, count, metric, desk.order, 0, n, desk)
    top = 1
    groups = 0
    while top > 0:
        top -= 1
        start = stack[top, 0]
        end = stack[top, 1]
        loss = losses[top]
        records = 0
        for i in range(start, end):
            records += count[i]
        best_axis = -1
        best_absent = False
        if records >= 2 * k and loss > 0.0:
            best = loss
            for option in range(2 * axes):
                axis, absent = option // 2, option % 2 == 1
                if metric.most[axis] == 0.0 or (absent and metric.missing[axis] < 0):
                    continue
                parts = _find_parts(codes, count, metric, axis, start, end, records, k, absent, desk)
                if parts == 0:
                    continue
                _order_by_part(codes, axis, start, end, parts, desk)
                after = 0.0
                begin = 0
                for p in range(parts):
                    after += _run_loss(codes, count, metric, desk.order, begin, desk.ends[p], desk)
                    begin = desk.ends[p]
                if after < best:  # strict: the first axis wins a tie
                    best = after
                    best_axis = axis
                    best_absent = absent
        if best_axis < 0:
            for i in range(start, end):
                label[place[i]] = groups
            groups += 1
            continue
        parts = _find_parts(codes, count, metric, best_axis, start, end, records, k, best_absent, desk)
        _order_by_part(codes, best_axis, start, end, parts, desk)
        begin = 0
        for p in range(parts):
            stack[top, 0] = start + begin
            stack[top, 1] = start + desk.ends[p]
            losses[top] = _run_loss(codes, count, metric, desk.order, begin, desk.ends[p], desk)
            begin = desk.ends[p]
            top += 1
        _move(codes, place, count, start, end, desk)
    return label
