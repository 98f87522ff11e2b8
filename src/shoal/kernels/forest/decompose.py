"""The trees of a forest cut and packed into groups of k records or a few more.

Rows are those of an `Index` by spans, in its order. A row's copies hang on it by edges of
length 0. Arrays are handed over one by one: tuples of arrays cost seconds of compiling.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.spans import span

__all__ = ["decompose", "sizes_below"]

WINDOW = 512
"""Subtrees a growing bin may choose from: hubs with more are packed in linear time."""


@inner
def sizes_below(parent, count):
    """The records of each row's subtree in the forest, before it is decomposed."""
    n = parent.size
    waiting = np.zeros(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    below = count.copy()
    for row in range(n):
        if parent[row] >= 0:
            waiting[parent[row]] += 1
    done = 0
    for row in range(n):
        if waiting[row] == 0:
            order[done] = row
            done += 1
    at = 0
    while at < done:
        row = order[at]
        at += 1
        up = parent[row]
        if up >= 0:
            below[up] += below[row]
            waiting[up] -= 1
            if waiting[up] == 0:
                order[done] = up
                done += 1
    return below


@inner
def _cut_edges(dearest, parent, below, k):
    """Decompose a forest: remove edges that leave k records on both sides, in the given order."""
    for row in dearest:
        if parent[row] < 0 or below[row] < k:
            continue
        root = row
        while parent[root] >= 0:
            root = parent[root]
        if below[root] - below[row] < k:
            continue
        up = parent[row]
        while up >= 0:
            below[up] -= below[row]
            up = parent[up]
        parent[row] = -1


@inner
def _joined_cost(metric, low, high, one, other):
    """The spans of the boxes of two subtrees as one; a label axis counts as a pair."""
    total = 0.0
    for axis in range(low.shape[1]):
        total += span(
            metric, axis, min(low[one, axis], low[other, axis]), max(high[one, axis], high[other, axis])
        )
    return total


@inner
def _swallow(low, high, one, other):
    """Widen box `one` of a tree's subtrees to hold box `other`."""
    for axis in range(low.shape[1]):
        low[one, axis] = min(low[one, axis], low[other, axis])
        high[one, axis] = max(high[one, axis], high[other, axis])


@inner
def _fill_bins(metric, k, many, size, low, high, bin_of, last, bin_size):
    """Pack a tree's subtrees 0..many-1 into bins of k or more, in place: returns the number of full bins.

    A bin begins with the first free item and takes the one that widens it least. Its box grows in
    the slot of its first item. Items that are left over get bin -1.
    """
    after = np.arange(1, many + 1)  # the free items, each with the next one
    first = 0
    left = 0
    for item in range(many):
        left += size[item]
        bin_of[item] = -1
    bins = 0
    while left >= k:
        begin = first
        first = after[first]
        bin_of[begin] = bins
        last[bins] = begin
        bin_size[bins] = size[begin]
        while bin_size[bins] < k:
            best = np.inf
            chosen = first
            chosen_before = -1
            before = -1
            item = first
            looked = 0
            while item < many and looked < WINDOW:
                cost = _joined_cost(metric, low, high, begin, item)
                if cost < best:
                    best = cost
                    chosen = item
                    chosen_before = before
                before = item
                item = after[item]
                looked += 1
            if chosen_before < 0:
                first = after[chosen]
            else:
                after[chosen_before] = after[chosen]
            _swallow(low, high, begin, chosen)
            bin_of[chosen] = bins
            last[bins] = chosen
            bin_size[bins] += size[chosen]
        left -= bin_size[bins]
        bins += 1
    return bins


@leaf
def _write(pieces, written, place, group, records):
    """One more line of the groups that a forest decomposes into; how many there are."""
    pieces[written, 0] = place
    pieces[written, 1] = group
    pieces[written, 2] = records
    return written + 1


@inner
def _list_tree(root, child, sibling, stack, members):
    """Write all rows of a tree of the forest to `members`; how many they are."""
    many = 0
    stack[0] = root
    top = 1
    while top > 0:
        top -= 1
        members[many] = stack[top]
        under = child[stack[top]]
        many += 1
        while under >= 0:
            stack[top] = under
            top += 1
            under = sibling[under]
    return many


@inner
def _find_hub(root, k, child, sibling, below):
    """The hub of a tree, all of whose subtrees are lighter than k: towards the heavy side of every edge."""
    hub = root
    under = child[hub]
    while under >= 0:
        if below[under] >= k:
            hub = under
            under = child[hub]
        else:
            under = sibling[under]
    return hub


@inner
def _list_subtrees(hub, root, child, sibling, parent, below, head, size):
    """Head and records of the subtrees of a hub: one per child, and the side of its parent; how many."""
    items = 0
    under = child[hub]
    while under >= 0:
        head[items] = under
        size[items] = below[under]
        items += 1
        under = sibling[under]
    if hub != root:
        head[items] = parent[hub]
        size[items] = below[root] - below[hub]
        items += 1
    return items


@inner
def _box_subtrees(codes, hub, items, head, parent, child, sibling, item_of, stack, members, low, high):
    """Before a tree decomposes: rows of a hub's subtrees, whose they are, boxes, the hub's last; rows."""
    axes = codes.shape[1]
    for axis in range(axes):
        low[items, axis] = codes[hub, axis]
        high[items, axis] = codes[hub, axis]
    item_of[hub] = items
    many = 0
    for item in range(items):
        stack[0] = head[item]
        item_of[head[item]] = item
        top = 1
        for axis in range(axes):
            low[item, axis] = codes[head[item], axis]
            high[item, axis] = codes[head[item], axis]
        while top > 0:
            top -= 1
            row = stack[top]
            members[many] = row
            many += 1
            for axis in range(axes):
                low[item, axis] = min(low[item, axis], codes[row, axis])
                high[item, axis] = max(high[item, axis], codes[row, axis])
            up = parent[row]
            if up >= 0 and item_of[up] < 0:
                item_of[up] = item
                stack[top] = up
                top += 1
            under = child[row]
            while under >= 0:
                if item_of[under] < 0:
                    item_of[under] = item
                    stack[top] = under
                    top += 1
                under = sibling[under]
    return many


@inner
def _cheapest_bin(metric, more, most, items, bins, bin_of, bin_size, low, high):
    """The bin of subtrees with room that takes the hub and items without a bin at the least cost.

    -1 if none has room. A box grows in the slot of its bin's first item, that of the hub in the last.
    """
    for item in range(items):
        if bin_of[item] < 0:
            _swallow(low, high, items, item)
    best = np.inf
    target = -1
    seen = 0
    for item in range(items):
        if bin_of[item] != seen or seen >= bins:
            continue
        if bin_size[seen] + more <= most:
            cost = (bin_size[seen] + more) * _joined_cost(metric, low, high, item, items)
            cost -= bin_size[seen] * _joined_cost(metric, low, high, item, item)
            if cost < best:
                best = cost
                target = seen
        seen += 1
    return target


@entry
def decompose(codes, place, count, metric, k, most, parent, dearest):
    """Decompose a forest into groups of at least k records: lines of (row, group, records), and how many.

    Edges that leave k records on both sides go, in the order `dearest`. In a component of 2k records or
    more every subtree of some row u is then lighter than k; subtrees and the copies of u are packed
    into bins of k..`most` records (copies of u alone may be more). Needs components of at least k
    records and most >= max(2k - 1, 3k - 5). Destroys `parent`.
    """
    n, axes = codes.shape
    below = sizes_below(parent, count)
    _cut_edges(dearest, parent, below, k)
    pieces = np.empty((2 * n, 3), dtype=np.int64)
    written = 0
    groups = 0
    # children of each row, as lists through `sibling`
    child = np.full(n, -1, dtype=np.int64)
    sibling = np.full(n, -1, dtype=np.int64)
    for row in dearest[::-1]:  # far subtrees first: they are the ones that need company
        if parent[row] >= 0:
            sibling[row] = child[parent[row]]
            child[parent[row]] = row
    item_of = np.full(n, -1, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    members = np.empty(n, dtype=np.int64)
    size = np.empty(n, dtype=np.int64)
    head = np.empty(n, dtype=np.int64)
    bin_of = np.empty(n, dtype=np.int64)
    last = np.empty(n, dtype=np.int64)
    bin_size = np.empty(n, dtype=np.int64)
    for root in range(n):
        if parent[root] >= 0:
            continue
        total = below[root]
        if total < 2 * k:
            many = _list_tree(root, child, sibling, stack, members)
            for at in range(many):
                row = members[at]
                written = _write(pieces, written, place[row], groups, count[row])
            groups += 1
            continue
        hub = _find_hub(root, k, child, sibling, below)
        items = _list_subtrees(hub, root, child, sibling, parent, below, head, size)
        low = np.empty((items + 1, axes), dtype=np.int32)
        high = np.empty((items + 1, axes), dtype=np.int32)
        many = _box_subtrees(
            codes, hub, items, head, parent, child, sibling, item_of, stack, members, low, high
        )
        bins = _fill_bins(metric, k, items, size, low, high, bin_of, last, bin_size)
        rest = total - count[hub]
        for b in range(bins):
            rest -= bin_size[b]
        copies = count[hub]
        target = bins  # the bin of what is left over
        apart = 0  # copies of the hub that make a group of their own
        moved_bin = -1  # the bin whose last item, or all before it, goes to the target
        if rest == 0 and copies >= k:
            apart = copies
        elif rest + copies >= k:
            if copies - (k - rest) >= k:
                apart = copies - (k - rest)
        else:
            target = _cheapest_bin(metric, rest + copies, most, items, bins, bin_of, bin_size, low, high)
            if target < 0:  # every bin is two parts of k - 2 or k - 1; some part of k - 1 takes one copy
                moved_bin = 0
                target = bins
        for item in range(items):
            if bin_of[item] < 0:
                bin_of[item] = target
        hub_bin = target
        if moved_bin >= 0:
            # one copy of the hub lifts the part of k - 1 records to k; the other part joins the rest
            if size[last[moved_bin]] == k - 1:
                for item in range(items):
                    if bin_of[item] == moved_bin and item != last[moved_bin]:
                        bin_of[item] = target
            else:
                bin_of[last[moved_bin]] = target
            written = _write(pieces, written, place[hub], groups + moved_bin, 1)
            copies -= 1
        if apart < copies:
            written = _write(pieces, written, place[hub], groups + hub_bin, copies - apart)
        for at in range(many):
            row = members[at]
            written = _write(pieces, written, place[row], groups + bin_of[item_of[row]], count[row])
        if target == bins and not (rest == 0 and apart == count[hub]):
            bins += 1
        if apart > 0:
            written = _write(pieces, written, place[hub], groups + bins, apart)
            bins += 1
        groups += bins
    return pieces[:written].copy(), groups
