"""One level for each column: what a choice costs, and the cheapest of all choices.

`lattice` is that of `model/levels.py`. A class below k, or one that breaks a rule, is lost: its records are
withheld. The search fixes the levels of one column after the other. With some columns fixed and the others
left at their top, a class below k stays below k whatever the others become, and so does one that breaks a
lasting rule: its records are withheld in every choice that goes on from here; the rest pay at least for the
fixed columns. Other rules count where nothing may be withheld, since a part of such a class breaks them,
and where all columns are fixed (docs/proofs/levels.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.rules.violation import (
    MINE,
    Tallies,
    clear,
    make_tallies,
    note,
    sort_present,
    violation,
)

__all__ = ["Cheapest", "cheapest_levels", "cost_of", "kept_at"]

SLICE = 50_000_000
"""Rows looked at between two reports."""
TIE = 1.0 - 1e-12
"""Sums of floats differ by less from one order to another."""


class Cheapest(NamedTuple):
    """A level per column, what it costs, and what no choice can beat: the same where the search ended.

    `looks` are the choices, whole or in part, that were looked at.
    """

    level: NDArray[np.int64]
    cost: float
    bound: float
    looks: int


@inner
def _slot(key, table, owner, mask):
    """The place of a class's key in a table of open addresses, or the free one where it belongs."""
    at = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    at = np.int64(at & np.uint64(mask))
    while owner[at] >= 0 and table[at] != key:
        at = (at + 1) & mask
    return at


@inner
def _number(key, many, label):
    """Classes on some levels: give equal keys equal labels 0, 1, .. by first sight; how many there are."""
    room = 16
    while room < 2 * many:
        room *= 2
    table = np.empty(room, dtype=np.int64)
    owner = np.full(room, -1, dtype=np.int32)
    found = 0
    for i in range(many):
        at = _slot(key[i], table, owner, room - 1)
        if owner[at] < 0:
            owner[at] = found
            table[at] = key[i]
            found += 1
        label[i] = owner[at]
    return found


@inner
def _classes_at(lattice, level):
    """The class of each row where every column stands on its level, by first sight; how many there are."""
    rows = lattice.held.size
    key = np.zeros(rows, dtype=np.int64)
    label = np.zeros(rows, dtype=np.int32)
    room = 1
    for axis in range(level.size):
        nodes = lattice.nodes[axis, level[axis]]
        if room > 2**62 // nodes:
            room = _number(key, rows, label)
            key[:] = label
        room *= nodes
        at = lattice.offset[axis] + level[axis] * lattice.size[axis]
        for i in range(rows):
            key[i] = key[i] * nodes + lattice.node[at + lattice.codes[i, axis]]
    return label, _number(key, rows, label)


@inner
def _lose_unruly(lattice, rules, tallies, row, held, label, many, size, found, k):
    """Set the size of each of the `found` classes on these levels that breaks a rule to 0."""
    start = np.zeros(found + 1, dtype=np.int64)
    for i in range(many):
        start[label[i] + 1] += 1
    for its in range(found):
        start[its + 1] += start[its]
    place = start.copy()
    order = np.empty(many, dtype=np.int64)
    for i in range(many):
        order[place[label[i]]] = i
        place[label[i]] += 1
    for its in range(found):
        if size[its] < k:
            continue
        for j in range(start[its], start[its + 1]):
            i = order[j]
            note(rules, tallies, lattice.value, row[i], held[i], MINE)
        sort_present(rules, tallies)
        if violation(rules, tallies, MINE, size[its]) > 0.0:
            size[its] = 0
        clear(rules, tallies)


@entry
def kept_at(lattice, tallies, level, k):
    """The class of each row on these levels, and whether each row may be published."""
    label, many = _classes_at(lattice, level)
    size = np.zeros(many, dtype=np.int64)
    for i in range(label.size):
        size[label[i]] += lattice.held[i]
    if lattice.rules.limit.size:
        row = np.arange(label.size).astype(np.int32)
        _lose_unruly(lattice, lattice.rules, tallies, row, lattice.held, label, label.size, size, many, k)
    kept = np.empty(label.size, dtype=np.bool_)
    for i in range(label.size):
        kept[i] = size[label[i]] >= k
    return label, kept


@entry
def cost_of(lattice, tallies, level, k, quota):
    """What a choice of levels costs, inf where it withholds more than the quota."""
    label, kept = kept_at(lattice, tallies, level, k)
    withheld = 0
    cost = 0.0
    for i in range(label.size):
        if not kept[i]:
            withheld += lattice.held[i]
        else:
            cost += lattice.held[i] * _row_cost(lattice, level, i)
    return np.inf if withheld > quota else cost + withheld * lattice.full


@inner
def _row_cost(lattice, level, row):
    """What a row gives up on a choice of levels."""
    total = 0.0
    for axis in range(level.size):
        at = lattice.offset[axis] + level[axis] * lattice.size[axis]
        total += lattice.cost[at + lattice.codes[row, axis]]
    return total


@inner
def _raise(lattice, row, held, many, axis, low, high):
    """What these rows pay more where a column rises from one level to another."""
    one = lattice.offset[axis] + low * lattice.size[axis]
    other = lattice.offset[axis] + high * lattice.size[axis]
    total = 0.0
    for i in range(many):
        code = lattice.codes[row[i], axis]
        total += held[i] * (lattice.cost[other + code] - lattice.cost[one + code])
    return total


class _Search(NamedTuple):
    """Where a search stands: line j is the node in which j columns are fixed.

    `row`, `held`, `label`: its rows that are not withheld, their records and classes, `many` of each. Rows
    that no choice from there tells apart are one. `floor` holds the level of every fixed column, and for
    the others the least that is not ruled out; `pay` is what every choice from there costs at least,
    `withheld` the records that all of them withhold, `next` the level to try.
    `now` has the depth, the looks and the rows looked at; `best` the cheapest choice so far and `cost` its
    cost, then the least that an unfinished search has left.
    """

    row: NDArray[np.int32]
    held: NDArray[np.int64]
    label: NDArray[np.int32]
    many: NDArray[np.int64]
    floor: NDArray[np.int64]
    pay: NDArray[np.float64]
    withheld: NDArray[np.int64]
    next: NDArray[np.int64]
    now: NDArray[np.int64]
    best: NDArray[np.int64]
    cost: NDArray[np.float64]
    key: NDArray[np.int64]
    new: NDArray[np.int32]
    size: NDArray[np.int64]
    tallies: Tallies


@inner
def _look(lattice, search, depth, axis, level, k, quota):
    """Look at a node of the search for levels, one more column on a level: what is withheld, paid at least.

    Rules that a part of a lost class may obey count in the last column, or where nothing may be withheld.
    Leaves the classes in `search.new` and their records in `search.size`, 0 where a rule is broken. Above
    the quota inf is paid.
    """
    row, held, label = search.row[depth], search.held[depth], search.label[depth]
    many = search.many[depth]
    floor = search.floor[depth]
    search.now[1] += 1
    search.now[2] += many
    nodes = lattice.nodes[axis, level]
    at = lattice.offset[axis] + level * lattice.size[axis]
    withheld = search.withheld[depth]
    pay = search.pay[depth]
    rules = lattice.rules if quota == 0 or depth == lattice.levels.size - 1 else lattice.lasting
    same = nodes == 1 and (quota == 0 or rules.limit.size == lattice.lasting.limit.size)
    if same:
        search.new[:many] = label[:many]
    else:
        for i in range(many):
            search.key[i] = label[i] * nodes + lattice.node[at + lattice.codes[row[i], axis]]
        found = _number(search.key, many, search.new)
        search.size[:found] = 0
        for i in range(many):
            search.size[search.new[i]] += held[i]
        if rules.limit.size:
            _lose_unruly(lattice, rules, search.tallies, row, held, search.new, many, search.size, found, k)
        for i in range(many):
            if search.size[search.new[i]] < k:
                withheld += held[i]
        if withheld > quota:
            return withheld, np.inf
    under = lattice.offset[axis] + floor[axis] * lattice.size[axis]
    for i in range(many):
        if not same and search.size[search.new[i]] < k:
            pay += held[i] * (lattice.full - _row_cost(lattice, floor, row[i]))
        else:
            code = lattice.codes[row[i], axis]
            pay += held[i] * (lattice.cost[at + code] - lattice.cost[under + code])
    return withheld, pay


@inner
def _go_down(lattice, search, depth, level, withheld, pay, k):
    """The search for levels goes on: make the node below, from the classes of the last look at it."""
    row, many = search.row[depth], search.many[depth]
    nodes = lattice.nodes[depth, level]
    kept = 0
    for i in range(many):
        if nodes == 1 or search.size[search.new[i]] >= k:
            search.row[depth + 1, kept] = row[i]
            search.held[depth + 1, kept] = search.held[depth, i]
            search.label[depth + 1, kept] = search.new[i]
            kept += 1
    search.many[depth + 1] = kept
    search.floor[depth + 1] = search.floor[depth]
    search.floor[depth + 1, depth] = level
    search.withheld[depth + 1] = withheld
    search.pay[depth + 1] = pay
    search.next[depth + 1] = lattice.levels[depth + 1] - 1


@inner
def _merge(lattice, search, depth):
    """To search levels: make rows one of one class, alike to rules and on the other columns' floors."""
    row, held, label = search.row[depth], search.held[depth], search.label[depth]
    many = search.many[depth]
    room = 1
    for i in range(many):
        search.key[i] = label[i]
        if label[i] >= room:
            room = label[i] + 1
    if lattice.marks > 1:
        room *= lattice.marks
        for i in range(many):
            search.key[i] = search.key[i] * lattice.marks + lattice.mark[row[i]]
    for axis in range(depth, lattice.levels.size):
        level = search.floor[depth, axis]
        nodes = lattice.nodes[axis, level]
        if nodes == 1:
            continue
        if room > 2**62 // nodes:
            room = _number(search.key, many, search.new)
            for i in range(many):
                search.key[i] = search.new[i]
        room *= nodes
        at = lattice.offset[axis] + level * lattice.size[axis]
        for i in range(many):
            search.key[i] = search.key[i] * nodes + lattice.node[at + lattice.codes[row[i], axis]]
    found = _number(search.key, many, search.new)
    if found == many:
        return
    seen = 0
    for i in range(many):
        its = search.new[i]
        if its == seen:  # labels come by first sight, so the first of each is the next
            row[seen], held[seen], label[seen] = row[i], held[i], label[i]
            seen += 1
        else:
            held[its] += held[i]
    search.many[depth] = found


@inner
def _rule_out(lattice, search, depth, first, k, quota):
    """Raise the floors of levels of the columns from `first` on; whether any choice may be left."""
    _merge(lattice, search, depth)
    risen = False
    for axis in range(first, lattice.levels.size):
        while True:
            floor = search.floor[depth, axis]
            if lattice.nodes[axis, floor] == 1:
                break
            _, pay = _look(lattice, search, depth, axis, floor, k, quota)
            if pay < search.cost[0] * TIE:
                break
            search.pay[depth] += _raise(
                lattice, search.row[depth], search.held[depth], search.many[depth], axis, floor, floor + 1
            )
            search.floor[depth, axis] = floor + 1
            risen = True
    if risen:
        _merge(lattice, search, depth)
    return search.pay[depth] < search.cost[0] * TIE


@entry
def _search_on(lattice, search, k, quota, work):
    """Search the lattice of levels until so many rows were looked at; whether all is done."""
    last = lattice.levels.size - 1
    lasts = quota == 0 or lattice.rules.limit.size == lattice.lasting.limit.size
    until = search.now[2] + work
    if search.now[1] == 0 and not _rule_out(lattice, search, 0, 1, k, quota):
        search.now[0] = -1
    while search.now[0] >= 0:
        if search.now[2] > until:
            return False
        depth = search.now[0]
        level = search.next[depth]
        if level < search.floor[depth, depth] or search.pay[depth] >= search.cost[0] * TIE:
            search.now[0] -= 1
            continue
        search.next[depth] -= 1
        withheld, pay = _look(lattice, search, depth, depth, level, k, quota)
        if withheld > quota:
            if depth < last or lasts:  # and so does every level below
                search.next[depth] = -1
        elif pay < search.cost[0] * TIE:
            if depth == last:
                search.cost[0] = pay
                search.best[:] = search.floor[depth]
                search.best[depth] = level
            else:
                _go_down(lattice, search, depth, level, withheld, pay, k)
                if _rule_out(lattice, search, depth + 1, depth + 2, k, quota):
                    search.now[0] += 1
    return True


@entry
def _least_left(lattice, search, k, quota):
    """What the choices of levels that were not looked at cost at least."""
    least = search.cost[0]
    last = lattice.levels.size - 1
    lasts = quota == 0 or lattice.rules.limit.size == lattice.lasting.limit.size
    for depth in range(search.now[0], -1, -1):  # a node is made in the line below, which is done with
        for level in range(search.next[depth], search.floor[depth, depth] - 1, -1):
            withheld, pay = _look(lattice, search, depth, depth, level, k, quota)
            if withheld > quota and (depth < last or lasts):
                break
            if pay < search.cost[0] * TIE and depth < last:
                _go_down(lattice, search, depth, level, withheld, pay, k)
                _rule_out(lattice, search, depth + 1, depth + 2, k, quota)
                pay = search.pay[depth + 1]
            least = min(least, pay)
    return least


def _begin(lattice, tallies: Tallies, level: NDArray[np.int64], cost: float) -> _Search:
    """A search for levels at its first column, all rows in one class, with the best choice so far."""
    rows, axes = lattice.codes.shape
    search = _Search(
        row=np.empty((axes, rows), dtype=np.int32),
        held=np.empty((axes, rows), dtype=np.int64),
        label=np.zeros((axes, rows), dtype=np.int32),
        many=np.zeros(axes, dtype=np.int64),
        floor=np.zeros((axes, axes), dtype=np.int64),
        pay=np.zeros(axes),
        withheld=np.zeros(axes, dtype=np.int64),
        next=np.zeros(axes, dtype=np.int64),
        now=np.zeros(3, dtype=np.int64),
        best=level,
        cost=np.array([cost]),
        key=np.empty(rows, dtype=np.int64),
        new=np.empty(rows, dtype=np.int32),
        size=np.empty(rows, dtype=np.int64),
        tallies=tallies,
    )
    search.row[0] = np.arange(rows)
    search.held[0] = lattice.held
    search.many[0] = rows
    search.next[0] = lattice.levels[0] - 1
    return search


def _descend(lattice, tallies: Tallies, level: NDArray[np.int64], cost: float, k: int, quota: int):
    """A first choice of levels: lower the one that saves most, again and again; of equals the finer."""
    looks = 0
    while True:
        lower = [level - one for one in np.eye(level.size, dtype=np.int64)[level > 0]]
        costs = [float(cost_of(lattice, tallies, its, k, quota)) for its in lower]
        looks += len(lower)
        if not costs or min(costs) * TIE > cost:
            return level, cost, looks
        cost = min(costs)
        level = lower[costs.index(cost)]


def cheapest_levels(
    lattice, k: int, quota: int, work: float, report: Callable[[float], None] = lambda share: None
) -> Cheapest:
    """The cheapest choice of levels, and the bound that proves it as far as `work` rows looked at allow."""
    spread = np.array([len(np.unique(codes)) for codes in lattice.codes.T])
    order = np.argsort(-spread, kind="stable")
    turned = lattice._replace(
        codes=np.ascontiguousarray(lattice.codes[:, order]),
        size=lattice.size[order],
        levels=lattice.levels[order],
        offset=lattice.offset[order],
        nodes=np.ascontiguousarray(lattice.nodes[order]),
    )
    tallies = make_tallies(lattice.rules)
    top = turned.levels - 1
    cost = float(cost_of(turned, tallies, top, k, quota))
    level, cost, looks = _descend(turned, tallies, top, cost, k, quota)
    search = _begin(turned, tallies, level.copy(), cost)
    done = False
    while not done and search.now[2] < work:
        report(search.now[2] / work)
        done = bool(_search_on(turned, search, k, quota, min(SLICE, work)))
    bound = float(search.cost[0]) if done else float(_least_left(turned, search, k, quota))
    level, cost, more = _descend(turned, tallies, search.best, float(search.cost[0]), k, quota)
    back = np.empty_like(level)
    back[order] = level
    return Cheapest(back, cost, min(cost, bound), looks + more + int(search.now[1]))
