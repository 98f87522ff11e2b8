"""The cheapest way to put k records around one: a search that takes the farthest of them first.

For a record i: the least of k c(T) - sum of u over T without i, where T is i and k - 1 records of a list
and c(T) what their box costs. Of T's records one is the farthest from the box so far, t; all others come
before it in the order of what they cost joined to that box. So T pays at least what the box costs with t,
and gains at most the largest u before t. Where that is not above what is known, t joins the box, those
before it are measured anew, and so on. Wherever the search is cut off, what was at least to pay is taken: a
valid lower bound at any depth and for any number of looks (docs/proofs/own-box.md, Lemma 2).

Columns are seen from i: a row's place on a line or tree is how far it is from i's, with a sign on lines,
so that a box is a run around 0; the run of a tree is as wide as its farther end. Labels are bits: two that
share a bit cost less, never more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.basics.sort import sort_by
from shoal.kernels.compile.decorators import inner
from shoal.kernels.distance.single import DOWN
from shoal.kernels.distance.spans import LINE, SET, span

__all__ = ["SAME", "Desk", "desk_for", "greedy", "join", "join_all", "least", "see", "take"]

SAME = 1.0 + 1e-6


class Desk(NamedTuple):
    """Scratch of one thread.

    Of the list: `line` (axis, place) and `lines` (place, axis) seen from the record, `label` and `labels`,
    `share`, `count` and `cost`. Of the search, by depth: `item`, `price`, `left`, `bound`, and the box.
    """

    line: Any
    lines: Any
    label: Any
    labels: Any
    share: Any
    count: Any
    cost: Any
    item: Any
    price: Any
    left: Any
    bound: Any
    low: Any
    high: Any
    bits: Any
    path: Any
    top: Any
    often: Any
    free: Any
    sums: Any
    most: Any
    step: Any
    found: Any
    state: Any


def desk_for(metric: Any, k: int, most: int) -> Desk:
    """Scratch of a farthest-first search over lists of `most` rows."""
    used = metric.most > 0.0
    sets = int(np.sum(used & (metric.form == SET)))
    lines = int(np.sum(used)) - sets
    size = most + 2
    depth = k + 2
    return Desk(
        line=np.empty((lines, size), dtype=np.float32),
        lines=np.empty((size, lines), dtype=np.float32),
        label=np.empty((sets, size), dtype=np.int64),
        labels=np.empty((size, sets), dtype=np.int64),
        share=np.zeros(size),
        count=np.empty(size, dtype=np.int64),
        cost=np.empty(size, dtype=np.float32),
        item=np.empty((depth, size), dtype=np.int32),
        price=np.empty((depth, size), dtype=np.float32),
        left=np.empty((depth, size), dtype=np.int64),
        bound=np.empty((depth, size)),
        low=np.empty((depth, lines), dtype=np.float32),
        high=np.empty((depth, lines), dtype=np.float32),
        bits=np.empty((depth, sets), dtype=np.int64),
        path=np.empty(depth, dtype=np.int64),
        top=np.empty(depth),
        often=np.empty(depth, dtype=np.int64),
        free=np.empty(size, dtype=np.int64),
        sums=np.empty(size, dtype=np.float32),
        most=metric.most[used & (metric.form != SET)].astype(np.float32),
        step=metric.data[metric.offset[used & (metric.form == SET)]].astype(np.float32),
        found=np.empty(depth, dtype=np.int64),
        state=np.empty((depth, 4)),
    )


@inner
def see(desk, codes, metric, row, who, many):
    """From a row, see the first `many` of a farthest-first search: fills lines, labels, costs, in order."""
    a = 0
    s = 0
    for axis in range(codes.shape[1]):
        if metric.most[axis] <= 0.0:
            continue
        mine = codes[row, axis]
        if metric.form[axis] == SET:
            for x in range(many):
                bit = np.int64(1) << (np.int64(codes[who[x], axis]) & 63)
                desk.label[s, x] = bit
                desk.labels[x, s] = bit
            desk.bits[0, s] = np.int64(1) << (np.int64(mine) & 63)
            s += 1
            continue
        is_line = metric.form[axis] == LINE
        for x in range(many):
            its = codes[who[x], axis]
            if its > mine:
                far = span(metric, axis, mine, its)
            elif its < mine:
                far = span(metric, axis, its, mine)
                if is_line:
                    far = -far
            else:
                far = 0.0
            desk.line[a, x] = far
            desk.lines[x, a] = far
        desk.low[0, a] = np.float32(0.0)
        desk.high[0, a] = np.float32(0.0)
        a += 1
    join_all(desk, np.int64(0), many, np.float32(0.0))
    for x in range(many):
        desk.cost[x] = desk.sums[x]


@inner
def join_all(desk, depth, many, inside):
    """Farthest first: what the box of a depth costs with each of the first rows; `inside`: labels alone."""
    sums = desk.sums
    for x in range(many):
        sums[x] = inside
    for a in range(desk.line.shape[0]):
        low = desk.low[depth, a]
        high = desk.high[depth, a]
        most = desk.most[a]
        line = desk.line[a]
        for x in range(many):
            value = line[x]
            wide = (value if value > high else high) - (value if value < low else low)
            sums[x] += wide if wide < most else most
    for s in range(desk.label.shape[0]):
        step = desk.step[s]
        bits = desk.bits[depth, s]
        label = desk.label[s]
        for x in range(many):
            sums[x] += step if bits & label[x] == 0 else np.float32(0.0)


@inner
def join(desk, depth, x, inside, limit):
    """Farthest first: what the box of a depth costs with one row of the list; stops at `limit`."""
    total = inside
    for a in range(desk.lines.shape[1]):
        value = desk.lines[x, a]
        low = desk.low[depth, a]
        high = desk.high[depth, a]
        wide = (value if value > high else high) - (value if value < low else low)
        total += wide if wide < desk.most[a] else desk.most[a]
        if total >= limit:
            return total
    for s in range(desk.labels.shape[1]):
        if not desk.bits[depth, s] & desk.labels[x, s]:
            total += desk.step[s]
    return total


@inner
def take(desk, depth, x):
    """Farthest-first search, one row deeper: the next box is this one and a row; its labels' cost."""
    for a in range(desk.lines.shape[1]):
        value = desk.lines[x, a]
        low = desk.low[depth, a]
        high = desk.high[depth, a]
        desk.low[depth + 1, a] = value if value < low else low
        desk.high[depth + 1, a] = value if value > high else high
    inside = np.float32(0.0)
    for s in range(desk.labels.shape[1]):
        bits = desk.bits[depth, s] | desk.labels[x, s]
        desk.bits[depth + 1, s] = bits
        more = np.float32(0.0)
        while bits & (bits - 1):
            bits &= bits - 1
            more += np.float32(1.0)
        inside += more * desk.step[s]  # rounded once, however many labels there are
    return inside


@inner
def greedy(desk, many, need):
    """Before a farthest-first search: a box takes what adds least until it holds `need` more; or infinity.

    `desk.found` gets their places.
    """
    for x in range(many):
        desk.left[0, x] = desk.count[x]
    for a in range(desk.lines.shape[1]):
        desk.low[1, a] = np.float32(0.0)
        desk.high[1, a] = np.float32(0.0)
    for s in range(desk.labels.shape[1]):
        desk.bits[1, s] = desk.bits[0, s]
    inside = np.float32(0.0)
    total = np.float32(0.0)
    depth = np.int64(1)
    at = 0
    while need > 0:
        join_all(desk, depth, many, inside)
        best = np.float32(np.inf)
        its = -1
        for x in range(many):
            if desk.left[0, x] > 0 and desk.sums[x] < best:
                best = desk.sums[x]
                its = x
        if its < 0:
            return np.float32(np.inf)
        total = best
        for _ in range(min(need, desk.left[0, its])):
            desk.found[at] = its
            at += 1
        need -= desk.left[0, its]
        desk.left[0, its] = 0
        inside = take(desk, depth, its)
        for a in range(desk.lines.shape[1]):
            desk.low[1, a] = desk.low[2, a]
            desk.high[1, a] = desk.high[2, a]
        for s in range(desk.labels.shape[1]):
            desk.bits[1, s] = desk.bits[2, s]
    return total


@inner
def _push(top, often, kept, held, most, share, records, total):
    """Farthest first: put records among the `most` with the largest shares; entries, records, their sum."""
    if records <= 0 or most <= 0:
        return kept, held, total
    at = kept
    while at > 0 and top[at - 1] < share:
        at -= 1
    before = 0
    for entry in range(at):
        before += often[entry]
    space = most - before
    if space <= 0:
        return kept, held, total
    records = min(records, space)
    total += share * records
    held += records
    if at > 0 and top[at - 1] == share:
        often[at - 1] += records
    else:
        for entry in range(kept, at, -1):
            top[entry] = top[entry - 1]
            often[entry] = often[entry - 1]
        top[at] = share
        often[at] = records
        kept += 1
    while held > most:
        drop = min(held - most, often[kept - 1])
        often[kept - 1] -= drop
        held -= drop
        total -= drop * top[kept - 1]
        if often[kept - 1] == 0:
            kept -= 1
    return kept, held, total


@inner
def _bound_all(desk, k, depth, many, need, base):
    """Farthest first: for each row of a depth, what every set pays at least whose farthest row is this."""
    top, often = desk.top, desk.often
    kept = 0
    held = 0
    total = 0.0
    records = 0
    for x in range(many):
        share = desk.share[desk.item[depth, x]]
        copies = desk.left[depth, x]
        records += copies
        kept, held, total = _push(top, often, kept, held, need - 1, share, copies - 1, total)
        if records >= need:
            desk.bound[depth, x] = k * DOWN * desk.price[depth, x] - base - share - total
        else:
            desk.bound[depth, x] = np.inf
        kept, held, total = _push(top, often, kept, held, need - 1, share, np.int64(1), total)


@inner
def least(desk, k, many, deepest, looks, best):
    """Farthest first: min(best, least k c(T) - sum of shares over T without the record), or a bound below.

    Needs the list seen, in the order of its costs, with counts and shares. Returns the number, the looks
    that are left, and whether `desk.found` holds the places of k - 1 records of a set that pays just so.
    """
    exact = False
    sizes = desk.state
    for x in range(many):
        desk.item[0, x] = x
        desk.price[0, x] = desk.cost[x]
        desk.left[0, x] = desk.count[x]
    _bound_all(desk, k, np.int64(0), many, k - 1, 0.0)
    sizes[0, 0] = many
    sizes[0, 1] = 0  # the next to be the farthest
    sizes[0, 2] = 0.0  # the shares of the path
    sizes[0, 3] = 0.0  # what the box costs
    depth = np.int64(0)
    while depth >= 0:
        t = int(sizes[depth, 1])
        if t >= sizes[depth, 0]:
            depth -= 1
            continue
        sizes[depth, 1] = t + 1
        bound = desk.bound[depth, t]
        if bound >= best:
            continue
        need = k - 1 - depth
        price = desk.price[depth, t]
        if need == 1 or price <= sizes[depth, 3] * SAME:
            best = bound
            exact = True
            _remember(desk, depth, t, need)
            continue
        if depth + 1 >= deepest or looks <= 0:
            best = bound
            exact = False
            continue
        its = desk.item[depth, t]
        inside = take(desk, depth, its)
        # dearer sets of this farthest row cannot pay: their shares are known
        limit = np.float32(price + (best - bound) / (k * DOWN) * SAME)
        found = 0
        records = 0
        last = t + 1 if desk.left[depth, t] > 1 else t
        looks -= last
        if depth == 0:
            join_all(desk, np.int64(1), last, inside)
        for x in range(last):
            other = desk.item[depth, x]
            cost = desk.sums[x] if depth == 0 else join(desk, depth + 1, other, inside, limit)
            if cost < limit:
                copies = desk.left[depth, x] - (1 if x == t else 0)
                desk.price[depth + 1, found] = cost
                desk.item[depth + 1, found] = other
                records += copies
                found += 1
        if records < need - 1:
            continue
        sort_by(desk.price[depth + 1], desk.item[depth + 1], found)
        for x in range(found):
            other = desk.item[depth + 1, x]
            desk.left[depth + 1, x] = _left(desk, depth, other, its)
        desk.path[depth] = its
        depth += 1
        sizes[depth, 0] = found
        sizes[depth, 1] = 0
        sizes[depth, 2] = sizes[depth - 1, 2] + desk.share[its]
        sizes[depth, 3] = price
        _bound_all(desk, k, depth, found, need - 1, sizes[depth, 2])
    return best, looks, exact


@inner
def _left(desk, depth, other, its):
    """In a farthest-first search: a row's records that are not in the box of the next depth."""
    taken = 1 if other == its else 0
    for above in range(depth):
        if desk.path[above] == other:
            taken += 1
    return desk.count[other] - taken


@inner
def _remember(desk, depth, t, need):
    """The set where a farthest-first search ends: path, farthest row, the largest shares before it."""
    found = desk.found
    for above in range(depth):
        found[above] = desk.path[above]
    found[depth] = desk.item[depth, t]
    for x in range(t + 1):
        desk.free[x] = desk.left[depth, x]
    desk.free[t] -= 1
    at = depth + 1
    while at < depth + need:  # the largest, one row after the other, with all its copies
        best = -np.inf
        its = np.int64(-1)
        for x in range(t + 1):
            share = desk.share[desk.item[depth, x]]
            if desk.free[x] > 0 and share > best:
                best = share
                its = np.int64(x)
        for _ in range(min(desk.free[its], depth + need - at)):
            found[at] = desk.item[depth, its]
            at += 1
        desk.free[its] = 0
