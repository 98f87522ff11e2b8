"""Cutting rows into smaller and smaller boxes.

A node is a run `start..end` of records that are moved together (codes, place and count), so that it
reads memory in order. Nothing is allocated per node. Scratch arrays have one slot per code of the
widest axis: `held` (records with that code), `part` (where the code goes), `used` (the node's codes).
Arrays are handed over one by one: tuples of arrays cost seconds of compiling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.sort import sort_values
from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.spans import LINE, SET, TREE, span

__all__ = [
    "cut_apart",
    "find_parts",
    "list_codes",
    "move_records",
    "order_by_part",
    "run_loss",
    "two_parts",
]


@inner
def run_loss(codes, count, metric, order, start, end, seen, seen_start, stamp):
    """Loss of the rows order[start:end] as one group: what Mondrian compares its cuts by."""
    axes = codes.shape[1]
    records = 0
    for i in range(start, end):
        records += count[order[i]]
    total = 0.0
    for axis in range(axes):
        if metric.form[axis] == SET:
            base = seen_start[axis]
            members = 0
            for i in range(start, end):
                slot = base + codes[order[i], axis]
                if seen[slot] != stamp:
                    seen[slot] = stamp
                    members += 1
            total += metric.data[metric.offset[axis]] * (members - 1)
            continue
        low = codes[order[start], axis]
        high = low
        for i in range(start + 1, end):
            code = codes[order[i], axis]
            if code < low:
                low = code
            elif code > high:
                high = code
        total += span(metric, axis, low, high)
    return records * total


@inner
def _list_widths(codes, metric, start, end, seen, seen_start, stamp, width):
    """How wide a node of Mondrian's cuts is on every axis."""
    for axis in range(codes.shape[1]):
        width[axis] = 0.0
        if metric.most[axis] == 0.0:
            continue
        if metric.form[axis] == SET:
            members = 0
            for i in range(start, end):
                slot = seen_start[axis] + codes[i, axis]
                if seen[slot] != stamp + axis:
                    seen[slot] = stamp + axis
                    members += 1
            width[axis] = metric.data[metric.offset[axis]] * (members - 1)
            continue
        low = codes[start, axis]
        high = low
        for i in range(start + 1, end):
            code = codes[i, axis]
            if code < low:
                low = code
            elif code > high:
                high = code
        width[axis] = span(metric, axis, low, high)


@inner
def list_codes(codes, count, axis, start, end, held, used):
    """Before a Mondrian cut: fill `held` and the sorted `used` for one axis of a node; how many codes."""
    many = np.int64(0)
    low = codes[start, axis]
    high = low
    for i in range(start, end):
        code = codes[i, axis]
        if held[code] == 0:
            used[many] = code
            many += 1
            if code < low:
                low = code
            elif code > high:
                high = code
        held[code] += count[i]
    if high - low < 16 * many:  # a scan is cheaper than a sort
        many = np.int64(0)
        for code in range(low, high + 1):
            if held[code] > 0:
                used[many] = code
                many += 1
    else:
        sort_values(used, many)
    return many


@leaf
def two_parts(used, part, many, first_right):
    """A Mondrian cut in two: send the codes used[:first_right] to part 0 and the others to part 1."""
    for u in range(many):
        part[used[u]] = 1 if u >= first_right else 0


@inner
def _cut_line(held, used, part, many, missing, records, k, absent):
    """A Mondrian cut of a LINE axis: at the weighted median, or missing cells apart; 0 if neither fits."""
    has_missing = used[many - 1] == missing
    if absent:
        if not has_missing:
            return np.int64(0)
        apart = held[missing]
        if apart < k or records - apart < k:
            return np.int64(0)
        two_parts(used, part, many, many - 1)
        return np.int64(2)
    best = np.int64(-1)
    least = records + 1
    left = 0
    for u in range(many - 1):
        left += held[used[u]]
        off = abs(2 * left - records)
        if left >= k and records - left >= k and off < least:  # strict: the lower cut wins a tie
            least = off
            best = u + 1
    if best < 0:
        return np.int64(0)
    two_parts(used, part, many, best)
    return np.int64(2)


@inner
def _cut_tree(metric, axis, held, used, part, weight, many, k):
    """A Mondrian cut of a TREE axis: a part for each child of the common ancestor that holds k records.

    Smaller children stand together; where they are fewer than k records they join the smallest part.
    """
    whole = span(metric, axis, used[0], used[many - 1])
    parts = np.int64(0)
    rest = 0
    smallest = -1
    u = 0
    while u < many:
        # a child ends where two neighbouring codes meet only in the common ancestor
        mass = held[used[u]]
        stop = u + 1
        while stop < many and span(metric, axis, used[stop - 1], used[stop]) < whole:
            mass += held[used[stop]]
            stop += 1
        if mass >= k:
            for v in range(u, stop):
                part[used[v]] = parts
            weight[parts] = mass
            if smallest < 0 or mass < weight[smallest]:
                smallest = parts
            parts += 1
        else:
            for v in range(u, stop):
                part[used[v]] = -1
            rest += mass
        u = stop
    into = parts
    if rest >= k:
        parts += 1
    else:
        into = smallest
    if parts < 2:
        return np.int64(0)
    for u in range(many):
        if part[used[u]] < 0:
            part[used[u]] = into
    return parts


@inner
def _cut_set(held, used, part, many, records, k):
    """A Mondrian cut of a SET axis: the commonest members against the others, at the cheapest place.

    For any number of members on the smaller side, its loss is least with the commonest there.
    """
    width = held.size
    for u in range(many):  # one number to sort by: commonest first, then by code
        code = used[u]
        used[u] = code - held[code] * width
    sort_values(used, many)
    for u in range(many):
        used[u] %= width
    best = np.int64(-1)
    least = np.inf
    left = 0
    for u in range(many - 1):
        left += held[used[u]]
        right = records - left
        loss = float(left) * u + float(right) * (many - u - 2)
        if left >= k and right >= k and loss < least:
            least = loss
            best = u + 1
    if best < 0:
        return np.int64(0)
    two_parts(used, part, many, best)
    return np.int64(2)


@inner
def order_by_part(codes, axis, start, end, parts, part, ends, order):
    """Write a node's rows to `order`, part by part of a Mondrian cut, keeping their order inside a part."""
    for p in range(parts + 1):
        ends[p] = 0
    for i in range(start, end):
        ends[part[codes[i, axis]] + 1] += 1
    for p in range(parts):
        ends[p + 1] += ends[p]
    # ends[p] is where part p begins, and moves to where it ends
    for i in range(start, end):
        p = part[codes[i, axis]]
        order[ends[p]] = i
        ends[p] += 1


@inner
def find_parts(codes, count, metric, axis, start, end, records, k, absent, held, used, part, weight):
    """Say in `part` how a Mondrian cut on one axis parts a node; the number of parts, 0 where it cannot."""
    many = list_codes(codes, count, axis, start, end, held, used)
    form = metric.form[axis]
    parts = np.int64(0)
    if many >= 2:
        if form == LINE:
            parts = _cut_line(held, used, part, many, metric.missing[axis], records, k, absent)
        elif form == TREE:
            parts = _cut_tree(metric, axis, held, used, part, weight, many, k)
        else:
            parts = _cut_set(held, used, part, many, records, k)
    for u in range(many):
        held[used[u]] = 0
    return parts


@inner
def move_records(codes, place, count, start, many, order, spare, spare_place, spare_count):
    """Bring the records of a node into the order of `order`, once a Mondrian cut is chosen."""
    axes = codes.shape[1]
    for i in range(many):
        at = order[i]
        for axis in range(axes):
            spare[i, axis] = codes[at, axis]
        spare_place[i] = place[at]
        spare_count[i] = count[at]
    for i in range(many):
        for axis in range(axes):
            codes[start + i, axis] = spare[i, axis]
        place[start + i] = spare_place[i]
        count[start + i] = spare_count[i]


def cut_apart(
    all_codes: NDArray[np.int32], all_count: NDArray[np.int64], metric, k: int, widest: int = 0
) -> NDArray[np.int32]:
    """Mondrian: label distinct rows by cutting while every part keeps k; -1 where a row has no records.

    Each node takes the cut that lowers its loss most; ties go to the first axis. Copies of a row stay
    together. Needs at least k records. Nodes of more than `widest` records, if that is not 0, take the
    widest axis that can be cut and look at no other.
    """
    place = np.flatnonzero(all_count > 0).astype(np.int32)
    codes, count = all_codes[place], all_count[place]
    label = np.full(all_count.size, -1, dtype=np.int32)
    set_size = np.where(metric.form == SET, metric.size, 0)
    scratch = np.zeros((4, int(metric.size.max(initial=1))), dtype=np.int64)
    n = place.size
    _cut(
        codes,
        place,
        count,
        metric,
        k,
        widest or np.iinfo(np.int64).max,
        label,
        scratch[0],
        scratch[1],
        scratch[2],
        scratch[3],
        np.zeros(scratch.shape[1] + 2, dtype=np.int64),
        np.zeros(int(set_size.sum()), dtype=np.int64),
        np.cumsum(set_size) - set_size,
        np.arange(n),
        np.empty_like(codes),
        np.empty_like(place),
        np.empty_like(count),
        # nodes on the stack are disjoint runs of at least one row, so n places hold them all
        np.empty((n + 1, 2), dtype=np.int64),
        np.empty(n + 1),
    )
    return label


@entry
def _cut(
    codes,
    place,
    count,
    metric,
    k,
    widest,
    label,
    held,
    part,
    used,
    weight,
    ends,
    seen,
    seen_start,
    order,
    spare,
    spare_place,
    spare_count,
    stack,
    losses,
):
    """Mondrian's loop: cut each node where that loses least, large ones on the widest axis."""
    n, axes = codes.shape
    width = np.empty(axes)
    # not plain numbers: every constant would be a compiled form of its own
    zero, stamp = np.int64(0), np.int64(1)
    stack[0, 0] = 0
    stack[0, 1] = n
    losses[0] = run_loss(codes, count, metric, order, zero, n, seen, seen_start, stamp)
    top = 1
    groups = 0
    while top > 0:
        top -= 1
        start = stack[top, 0]
        end = stack[top, 1]
        best = losses[top]
        records = np.int64(0)
        for i in range(start, end):
            records += count[i]
        best_option = np.int64(-1)
        if records > widest and best > 0.0:
            _list_widths(codes, metric, start, end, seen, seen_start, stamp + 1, width)
            stamp += axes
            while True:
                axis = np.argmax(width)
                if width[axis] <= 0.0:
                    break
                width[axis] = 0.0
                parts = find_parts(
                    codes, count, metric, axis, start, end, records, k, False, held, used, part, weight
                )
                if parts > 0:
                    best_option = np.int64(2 * axis)
                    break
        if records >= 2 * k and best > 0.0:
            # one more round than options: the last one makes the best cut
            for turn in range(2 * axes + 1):
                chosen = turn == 2 * axes
                option = best_option if chosen else turn
                if option < 0:
                    break
                if records > widest and best_option >= 0 and not chosen:
                    continue
                axis = option // 2
                absent = option % 2 == 1  # part missing from present
                if metric.most[axis] == 0.0 or (
                    absent and (metric.form[axis] != LINE or metric.missing[axis] < 0)
                ):
                    continue
                parts = find_parts(
                    codes, count, metric, axis, start, end, records, k, absent, held, used, part, weight
                )
                if parts == 0:
                    continue
                order_by_part(codes, axis, start, end, parts, part, ends, order)
                after = 0.0
                begin = zero
                for p in range(parts):
                    stamp += 1
                    loss = run_loss(codes, count, metric, order, begin, ends[p], seen, seen_start, stamp)
                    after += loss
                    if chosen:
                        stack[top, 0] = start + begin
                        stack[top, 1] = start + ends[p]
                        losses[top] = loss
                        top += 1
                    begin = ends[p]
                if chosen:
                    move_records(
                        codes, place, count, start, end - start, order, spare, spare_place, spare_count
                    )
                elif after < best:  # strict: the first axis wins a tie
                    best = after
                    best_option = option
        if best_option < 0:
            for i in range(start, end):
                label[place[i]] = groups
            groups += 1
