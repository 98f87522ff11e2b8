"""The loops of k-member.

Joining only gets dearer while a group grows, so a row's distance to the seed stays a lower bound of
what it costs. One scan per group finds all those distances; the group then grows among the rows whose
bound lies below a ceiling, which is raised only where none of them is cheap enough.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import SET, span

__all__ = ["grow_groups", "place_leftovers"]

BUCKETS = 1024
SLACK = 1e-9  # far above what rounding can take from a sum of spans, far below what tells rows apart


@inner
def _seed_distances(form, size, offset, data, most, missing, seed, start, out):
    """For k-member's groups: write each code's distance to the seed's code, axis by axis, from `start`."""
    for axis in range(form.size):
        mine = seed[axis]
        at = start[axis]
        if form[axis] == SET:
            step = data[offset[axis]]
            for code in range(size[axis]):
                out[at + code] = step
            out[at + mine] = 0.0
        elif form[axis] == 0:
            base = offset[axis]
            for code in range(size[axis]):
                out[at + code] = abs(data[base + code] - data[base + mine])
            if missing[axis] >= 0:
                if mine == missing[axis]:
                    for code in range(size[axis]):
                        out[at + code] = most[axis]
                out[at + missing[axis]] = most[axis]
            out[at + mine] = 0.0
        else:  # a run's span is its largest gap: walk away from the seed and keep the largest
            gap = offset[axis]
            far = 0.0
            out[at + mine] = 0.0
            for code in range(mine + 1, size[axis]):
                far = max(far, data[gap + code - 1])
                out[at + code] = far
            far = 0.0
            for code in range(mine - 1, -1, -1):
                far = max(far, data[gap + code])
                out[at + code] = far


@inner
def _scan(codes, free, alive, start, table, scale, known, buckets):
    """k-member's scan for a group: distances to the seed in `known`, free records by these in `buckets`."""
    axes = codes.shape[1]
    for b in range(buckets.size):
        buckets[b] = 0
    for i in range(alive):
        cost = 0.0
        for axis in range(axes):
            cost += table[start[axis] + codes[i, axis]]
        known[i] = cost
        buckets[int(cost * scale)] += free[i]


@inner
def _collect(known, free, alive, ceiling, bound, near):
    """List the free rows whose distance to a k-member seed is at most `ceiling`; return how many."""
    many = 0
    for i in range(alive):
        if known[i] <= ceiling and free[i] > 0:
            near[many] = i
            bound[many] = known[i]
            many += 1
    return many


@inner
def _cheapest(codes, free, metric, low, high, held, members, start, near, bound, many):
    """k-member's next row: the listed free one that costs least to add, the first; cost to bound[many]."""
    best = -1
    least = np.inf
    for c in range(many):
        i = near[c]
        # a bound at least as high cannot win: of equals the first row does
        if free[i] == 0 or bound[c] >= least + SLACK:
            continue
        cost = 0.0
        for axis in range(low.size):
            code = codes[i, axis]
            if metric.form[axis] == SET:
                more = held[axis] - members[start[axis] + code]
                cost += metric.data[metric.offset[axis]] * more
            else:
                cost += span(metric, axis, min(low[axis], code), max(high[axis], code))
        bound[c] = cost
        if cost < least:
            least = cost
            best = i
    bound[many] = least
    return best


@inner
def _compact(codes, place, free, known, alive):
    """Move the rows that k-member has not taken to the front, in order; return how many there are."""
    axes = codes.shape[1]
    left = 0
    for i in range(alive):
        if free[i] > 0:
            if left < i:
                for axis in range(axes):
                    codes[left, axis] = codes[i, axis]
                place[left] = place[i]
                free[left] = free[i]
                known[left] = known[i]
            left += 1
    return left


@entry
def grow_groups(codes, place, free, metric, k, first, known, pieces, state, limit):
    """k-member: grow up to `limit` groups of k records greedily from far seeds; ties to the first row.

    `codes`, `place` and `free` (records) of the rows are moved and used up. `known` holds each row's
    distance to the last seed. Pieces (place, group, records) are written to the lines of `pieces`.
    `state` holds rows alive, records left, pieces, groups: call again while records left >= k.
    """
    axes = codes.shape[1]
    alive, left, written, groups = state[0], state[1], state[2], state[3]
    start = np.zeros(axes + 1, dtype=np.int64)
    whole = 0.0
    for axis in range(axes):
        start[axis + 1] = start[axis] + metric.size[axis]
        whole += metric.most[axis]
    scale = (BUCKETS - 1) / (whole * (1.0 + SLACK)) if whole > 0.0 else 0.0
    table = np.empty(start[axes])
    members = np.zeros(start[axes], dtype=np.int64)
    held = np.zeros(axes, dtype=np.int64)
    buckets = np.zeros(BUCKETS, dtype=np.int64)
    near = np.empty(alive, dtype=np.int64)
    bound = np.empty(alive + 1)
    low = np.empty(axes, dtype=np.int32)
    high = np.empty(axes, dtype=np.int32)
    seed = np.empty(axes, dtype=np.int32)
    taken = np.empty(k, dtype=np.int64)
    gone = 0
    for i in range(alive):
        gone += free[i] == 0
    done = 0
    while left >= k and done < limit:
        if 8 * gone > alive:
            alive = _compact(codes, place, free, known, alive)
            gone = 0
        nearest = first
        if groups > 0:  # the row farthest from the last seed
            far = -1.0
            for i in range(alive):
                if known[i] > far and free[i] > 0:
                    far = known[i]
                    nearest = i
        for axis in range(axes):
            low[axis] = codes[nearest, axis]
            high[axis] = low[axis]
            seed[axis] = low[axis]
            held[axis] = 0
        _seed_distances(
            metric.form,
            metric.size,
            metric.offset,
            metric.data,
            metric.most,
            metric.missing,
            seed,
            start,
            table,
        )
        _scan(codes, free, alive, start, table, scale, known, buckets)
        need = k
        wanted = 4 * k + 32
        bucket = -1
        reached = 0
        many = 0
        ceiling = -1.0
        joined = 0
        while True:
            part = min(need, free[nearest])
            pieces[written, 0] = place[nearest]
            pieces[written, 1] = groups
            pieces[written, 2] = part
            written += 1
            taken[joined] = nearest
            joined += 1
            free[nearest] -= part
            gone += free[nearest] == 0
            need -= part
            for axis in range(axes):
                code = codes[nearest, axis]
                low[axis] = min(low[axis], code)
                high[axis] = max(high[axis], code)
                held[axis] += 1 - members[start[axis] + code]
                members[start[axis] + code] = 1
            if need == 0:
                break
            nearest = _cheapest(codes, free, metric, low, high, held, members, start, near, bound, many)
            while bound[many] > ceiling:  # a row beyond the ceiling might be cheaper: look farther
                while reached < wanted and bucket < BUCKETS - 1:
                    bucket += 1
                    reached += buckets[bucket]
                wanted *= 4
                ceiling = (bucket + 1) / scale if scale > 0.0 and bucket < BUCKETS - 1 else np.inf
                many = _collect(known, free, alive, ceiling + SLACK, bound, near)
                nearest = _cheapest(codes, free, metric, low, high, held, members, start, near, bound, many)
        for t in range(joined):
            for axis in range(axes):
                members[start[axis] + codes[taken[t], axis]] = 0
        left -= k
        groups += 1
        done += 1
    state[0] = alive
    state[1] = left
    state[2] = written
    state[3] = groups


@entry
def place_leftovers(codes, metric, pieces, written, groups, rows, records, full, quota):
    """k-member at its end: for each leftover row the group where it adds least, -1 if withheld.

    `pieces[:written]` lie group by group. `full` is what a withheld record loses, `quota` how many may
    be withheld. Rows are placed in order, each into the groups the earlier ones left.
    """
    axes = codes.shape[1]
    begin = np.zeros(groups + 1, dtype=np.int64)
    size = np.zeros(groups, dtype=np.int64)
    low = np.empty((groups, axes), dtype=np.int32)
    high = np.empty((groups, axes), dtype=np.int32)
    for p in range(written):
        g = pieces[p, 1]
        if size[g] == 0:
            for axis in range(axes):
                low[g, axis] = codes[pieces[p, 0], axis]
                high[g, axis] = low[g, axis]
        size[g] += pieces[p, 2]
        begin[g + 1] = p + 1
        for axis in range(axes):
            low[g, axis] = min(low[g, axis], codes[pieces[p, 0], axis])
            high[g, axis] = max(high[g, axis], codes[pieces[p, 0], axis])
    widest = 1
    for axis in range(axes):
        widest = max(widest, metric.size[axis])
    seen = np.zeros(widest, dtype=np.int64)
    stamp = 0
    target = np.full(rows.size, -1, dtype=np.int64)
    for t in range(rows.size):
        row = rows[t]
        least = np.inf
        for g in range(groups):
            before = 0.0
            after = 0.0
            for axis in range(axes):
                code = codes[row, axis]
                if metric.form[axis] != SET:
                    before += span(metric, axis, low[g, axis], high[g, axis])
                    after += span(metric, axis, min(low[g, axis], code), max(high[g, axis], code))
                    continue
                stamp += 1
                members = 0
                for p in range(begin[g], begin[g + 1]):
                    other = codes[pieces[p, 0], axis]
                    members += seen[other] != stamp
                    seen[other] = stamp
                for earlier in range(t):
                    if target[earlier] == g:
                        other = codes[rows[earlier], axis]
                        members += seen[other] != stamp
                        seen[other] = stamp
                step = metric.data[metric.offset[axis]]
                before += step * (members - 1)
                after += step * (members - 1 + (seen[code] != stamp))
            cost = (size[g] + records[t]) * after - size[g] * before
            if cost < least:  # strict: the first group wins a tie
                least = cost
                target[t] = g
        if records[t] <= quota and full * records[t] < least:
            target[t] = -1
            quota -= records[t]
            continue
        g = target[t]
        size[g] += records[t]
        for axis in range(axes):
            low[g, axis] = min(low[g, axis], codes[row, axis])
            high[g, axis] = max(high[g, axis], codes[row, axis])
    return target
