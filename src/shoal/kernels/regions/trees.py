"""Graphs of regions: components, spanning trees of low degree, and cutting a tree into groups.

A graph is `start` and `neighbour`: the regions next to v are neighbour[start[v] : start[v + 1]]. An arc
is a place in `neighbour`; a tree is a flag per arc, set on both arcs of an edge.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.basics.union_find import find
from shoal.kernels.compile.decorators import entry, inner

__all__ = ["components", "cut_tree", "deep_tree", "degrees", "exchange", "improvement", "twins"]


@entry
def components(start, neighbour):
    """The component of each region of a map, where a spanning tree can be, numbered by first region."""
    n = start.size - 1
    part = np.full(n, -1, dtype=np.int32)
    stack = np.empty(n, dtype=np.int32)
    parts = 0
    for first in range(n):
        if part[first] >= 0:
            continue
        part[first] = parts
        stack[0] = first
        held = 1
        while held > 0:
            held -= 1
            v = stack[held]
            for arc in range(start[v], start[v + 1]):
                u = neighbour[arc]
                if part[u] < 0:
                    part[u] = parts
                    stack[held] = u
                    held += 1
        parts += 1
    return part


@entry
def twins(start, neighbour):
    """The arc back for each arc of a map of regions. Needs the neighbours of each in rising order."""
    twin = np.empty(neighbour.size, dtype=np.int64)
    at = start[:-1].copy()
    for v in range(start.size - 1):  # arcs into u come in rising order of their tail, as u's own arcs do
        for arc in range(start[v], start[v + 1]):
            u = neighbour[arc]
            twin[arc] = at[u]
            at[u] += 1
    return twin


@entry
def deep_tree(start, neighbour, twin):
    """Spanning trees of regions by depth-first search, the neighbour with the fewest free ones first.

    Such trees are long paths with few branches: low in degree from the start.
    """
    n = start.size - 1
    flag = np.zeros(neighbour.size, dtype=np.bool_)
    seen = np.zeros(n, dtype=np.bool_)
    free = start[1:] - start[:-1]
    stack = np.empty(n, dtype=np.int32)
    for first in range(n):
        if seen[first]:
            continue
        stack[0] = first
        held = 1
        seen[first] = True
        for arc in range(start[first], start[first + 1]):
            free[neighbour[arc]] -= 1
        while held > 0:
            v = stack[held - 1]
            best = -1
            for arc in range(start[v], start[v + 1]):
                u = neighbour[arc]
                if not seen[u] and (best < 0 or free[u] < free[neighbour[best]]):
                    best = arc
            if best < 0:
                held -= 1
                continue
            u = neighbour[best]
            flag[best] = True
            flag[twin[best]] = True
            seen[u] = True
            for arc in range(start[u], start[u + 1]):
                free[neighbour[arc]] -= 1
            stack[held] = u
            held += 1
    return flag


@inner
def _hang(start, neighbour, flag):
    """A spanning tree of regions, hung: arcs to parents (-1 at roots), depths, an order, parents first."""
    n = start.size - 1
    up = np.full(n, -1, dtype=np.int64)
    depth = np.zeros(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.bool_)
    order = np.empty(n, dtype=np.int32)
    many = 0
    for first in range(n):
        if seen[first]:
            continue
        seen[first] = True
        at = many
        order[many] = first
        many += 1
        while at < many:
            v = order[at]
            at += 1
            for arc in range(start[v], start[v + 1]):
                u = neighbour[arc]
                if flag[arc] and not seen[u]:
                    seen[u] = True
                    depth[u] = depth[v] + 1
                    order[many] = u
                    many += 1
                    for back in range(start[u], start[u + 1]):
                        if neighbour[back] == v:
                            up[u] = back
    return up, depth, order


@entry
def degrees(start, neighbour, flag):
    """The degree of each region in its spanning tree."""
    degree = np.zeros(start.size - 1, dtype=np.int64)
    for v in range(start.size - 1):
        for arc in range(start[v], start[v + 1]):
            degree[v] += flag[arc]
    return degree


@entry
def improvement(start, neighbour, flag, most):
    """An exchange in a spanning tree for fewer regions of greatest degree, as Fuerer and Raghavachari do.

    Returns (arc, region, fix): adding the arc's edge and dropping one at the region lowers the region's
    degree; `fix[v]` is the arc by which a region v of degree most - 1 must first be lowered, -1 where
    none is needed. arc = -1 where no such way exists: then no spanning tree has a degree below most -
    1.
    """
    n = start.size - 1
    up, depth, _ = _hang(start, neighbour, flag)
    degree = degrees(start, neighbour, flag)
    fix = np.full(n, -1, dtype=np.int64)
    good = degree < most - 1
    root = np.arange(n)
    for v in range(n):
        if up[v] >= 0 and good[v] and good[neighbour[up[v]]]:
            root[find(root, v)] = find(root, neighbour[up[v]])
    changed = True
    while changed:
        changed = False
        for u in range(n):
            if not good[u]:
                continue
            for arc in range(start[u], start[u + 1]):
                w = neighbour[arc]
                if flag[arc] or w < u or not good[w] or find(root, u) == find(root, w):
                    continue
                a, b = u, w
                heaviest = -1
                while a != b:  # walk up to the common ancestor
                    if depth[a] < depth[b]:
                        a, b = b, a
                    if degree[a] == most:
                        heaviest = a
                    a = neighbour[up[a]]
                if degree[a] == most:
                    heaviest = a
                if heaviest >= 0:
                    return arc, heaviest, fix
                a, b = u, w
                while True:
                    if depth[a] < depth[b]:
                        a, b = b, a
                    if not good[a]:
                        good[a] = True
                        fix[a] = arc
                    root[find(root, a)] = find(root, u)
                    if a == b:
                        break
                    a = neighbour[up[a]]
                root[find(root, w)] = find(root, u)
                changed = True
    return -1, -1, fix


@entry
def exchange(start, neighbour, twin, flag, arc, region):
    """Exchange edges of a spanning tree: add the arc's, drop one at `region` on its cycle; else False."""
    v = neighbour[twin[arc]]
    w = neighbour[arc]
    n = start.size - 1
    came = np.full(n, -2, dtype=np.int64)
    stack = np.empty(n, dtype=np.int32)
    stack[0] = v
    held = 1
    came[v] = -1
    while held > 0:
        held -= 1
        x = stack[held]
        for step in range(start[x], start[x + 1]):
            if flag[step] and came[neighbour[step]] == -2:
                came[neighbour[step]] = step
                stack[held] = neighbour[step]
                held += 1
    x = w
    while x != v:
        step = came[x]
        before = neighbour[twin[step]]
        if region in (x, before):
            flag[step] = False
            flag[twin[step]] = False
            flag[arc] = True
            flag[twin[arc]] = True
            return True
        x = before
    return False


@entry
def cut_tree(start, neighbour, flag, weight, k):
    """Cut each spanning tree bottom-up as soon as a subtree holds k; the rest joins a group next to it.

    Returns the group of each region, -1 in components lighter than k.
    """
    n = start.size - 1
    up, _, order = _hang(start, neighbour, flag)
    held = weight.copy()
    group = np.full(n, -1, dtype=np.int32)
    groups = 0
    for at in range(n - 1, -1, -1):
        v = order[at]
        if held[v] >= k:
            group[v] = groups
            groups += 1
        elif up[v] >= 0:
            held[neighbour[up[v]]] += held[v]
    level = np.zeros(groups, dtype=np.int64)
    for v in order:  # parents first: a region that was not cut off belongs where its parent does
        if group[v] < 0 and up[v] >= 0:
            group[v] = group[neighbour[up[v]]]
        if group[v] >= 0:
            level[group[v]] += weight[v]
    # regions left at a root: all of them join one group next to them
    left = np.empty(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.bool_)
    for first in order:
        if group[first] >= 0 or up[first] >= 0:
            continue
        left[0] = first
        seen[first] = True
        at, many = 0, 1
        lightest = -1
        while at < many:
            v = left[at]
            at += 1
            for arc in range(start[v], start[v + 1]):
                u = neighbour[arc]
                if group[u] >= 0:
                    if lightest < 0 or level[group[u]] < level[lightest]:
                        lightest = group[u]
                elif not seen[u]:
                    seen[u] = True
                    left[many] = u
                    many += 1
        if lightest >= 0:
            for at in range(many):
                group[left[at]] = lightest
                level[lightest] += weight[left[at]]
    return group
