"""A forest of nearest neighbours with at least k records a tree.

Rows are those of an `Index` by spans, in its order. Arrays are handed over one by one:
tuples of arrays cost seconds of compiling. What becomes of the trees: `kernels/forest/decompose.py`.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.basics.union_find import find
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.lookup import box_apart, codes_apart, look, push_nearer_first

__all__ = ["join_trees", "nearest_outside"]


@entry
def nearest_outside(tree, metric, starts, part, rows, near, far):
    """Where a forest may grow: for each of `rows` the nearest row of another part, the first of equals."""
    table = np.empty(starts[-1] + 1)
    stack = np.empty(tree.start.size + 2, dtype=np.int64)
    bounds = np.empty(tree.start.size + 2)
    for at in range(rows.size):
        query = tree.codes[rows[at]]
        mine = part[rows[at]]
        look(metric, query, starts, table)
        best = np.inf
        nearest = -1
        stack[0] = 0
        bounds[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if bounds[top] >= best:  # ties go to the row met first: the tree's order is that of the codes
                continue
            if tree.child[node] >= 0:
                child = tree.child[node]
                left = box_apart(metric, tree.low, tree.high, child, query, starts, table)
                right = box_apart(metric, tree.low, tree.high, child + 1, query, starts, table)
                push_nearer_first(child, left, right, stack, bounds, top)
                top += 2
                continue
            for row in range(tree.start[node], tree.end[node]):
                if part[row] == mine:
                    continue
                distance = codes_apart(metric, tree.codes, row, query, starts, table)
                if distance < best:
                    best = distance
                    nearest = row
        near[at] = nearest
        far[at] = best


@entry
def join_trees(order, rows, near, far, above, held, k, parent, length):
    """Grow the forest: give rows[order] their edges, shortest first, unless their component has k by now.

    An edge within a component is left out: its row asks again next time. `above` names components,
    `held` counts their records under that name.
    """
    for at in order:
        row = rows[at]
        mine = find(above, row)
        other = find(above, near[at])
        if mine == other or held[mine] >= k:
            continue
        parent[row] = near[at]
        length[row] = far[at]
        above[mine] = other
        held[other] += held[mine]
    for row in range(above.size):
        above[row] = find(above, row)
