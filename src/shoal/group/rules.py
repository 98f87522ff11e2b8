"""Rules on sensitive values and units, enforced on the groups of any method.

Problem
    Change a grouping so that every group obeys every rule, and holds records of k persons where a unit is
    named, at little added loss.

Guarantee
    Every rule holds in every group, or none can: all rules survive merging, so an error is raised exactly
    where all records as one group break a rule. No factor of the method survives; its bound does, since
    rules only make the best possible worse.

Method
    The method works on the quasi-identifiers alone. Copies of a tuple that it parted are dealt to their
    groups evenly mixed. Then each group that breaks a rule swaps records with one of its nearest groups,
    takes or gives one, or joins one: whatever costs least per remedy and leaves the other group no worse.
    Where that joined half of all groups, the table is also cut anew: at medians, each stratum of sensitive
    values at its own, so that all parts stay as mixed as the table; the result with less loss is kept.
    Methods that promise a shape let their groups only be joined, or joined until no boxes overlap.

Cost
    O(f m) box look-ups for f groups that break a rule, in regions of m groups; memory O(n).

Reference
    A. Machanavajjhala et al. l-diversity. ICDE 2006. N. Li, T. Li, S. Venkatasubramanian. t-closeness.
    ICDE 2007. R. C.-W. Wong et al. (alpha, k)-anonymity. KDD 2006. The enforcement is our own.

Example:
    >>> MODES["exchange"]
    0

"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.group.improve import regions
from shoal.kernels import ruling
from shoal.kernels.enforce import EXCHANGE, KEEP_APART, MERGE, enforce_rules, make_shoals
from shoal.kernels.spans import group_losses
from shoal.kernels.strata import cut_strata
from shoal.model.coded import Coded, Held
from shoal.model.facts import Facts
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE, Rule
from shoal.model.task import Task

__all__ = ["MODES", "enforce"]

MODES = {"exchange": EXCHANGE, "merge": MERGE, "apart": KEEP_APART}
REGION = 2000
"""Groups in a region: each failing group looks at all others of its region."""

_KINDS = {
    DISTINCT: ruling.DISTINCT,
    ENTROPY: ruling.ENTROPY,
    RECURSIVE: ruling.RECURSIVE,
    "share": ruling.SHARE,
    "equal": ruling.EQUAL,
    "ordered": ruling.ORDERED,
    "hierarchy": ruling.HIERARCHY,
}

MOST_STRATA = 50
"""Values of a column that are strata of their own; more of them share."""

Integers = NDArray[np.int64]


def enforce(coded: Coded, grouping: Grouping, task: Task, facts: Facts) -> Grouping:
    """The grouping of `coded.plain`, as one of `coded` whose groups obey; centres stay where they are."""
    held = coded.held
    assert held is not None, "a table with rules says what they look at"
    row, group, count = _deal(coded, held, grouping)
    kept = group >= 0
    if _lacking(held, row[kept], count[kept], task.k):
        lacking = _lacking(held, row, count, task.k)
        if lacking:
            raise DataError(" ".join(lacking))
        # what is left breaks a rule without the withheld: they come back as a group of their own
        group = np.where(kept, group, grouping.groups)
        kept[:] = True
    row, group, count = _single(row, group, count, kept, task.k)
    kept = group >= 0
    groups = int(group.max()) + 1
    shoals = make_shoals(coded.codes, row[kept], count[kept], group[kept], groups)
    value, rules = _pack(held, row[kept], count[kept], task.k)
    mode = MERGE if facts.centres and facts.obeys == "exchange" else MODES[facts.obeys]
    middle = shoals.low.astype(np.int64) + shoals.high
    most = groups if mode == KEEP_APART else REGION
    random = np.random.default_rng(task.seed)
    failing = 0
    for mine in regions(middle, np.ones(groups, dtype=np.int64), most, random):
        failing += enforce_rules(coded.codes, coded.metric, rules, value, shoals, mine, task.k, mode)
    if failing:
        everyone = np.arange(groups)
        failing = enforce_rules(coded.codes, coded.metric, rules, value, shoals, everyone, task.k, mode)
    assert not failing, "rules that hold for all records can be reached by merging"
    final = np.full(row.size, WITHHELD, dtype=np.int64)
    final[kept] = _labels(shoals.head, shoals.after, int(kept.sum()))
    if mode == EXCHANGE and facts.objective == "loss" and _has_grown(group, final):
        strata = _strata(value, rules, row[kept])
        cut = final.copy()
        cut[kept] = cut_strata(
            coded.codes, coded.metric, rules, value, row[kept], count[kept], strata, task.k
        )
        if _loss(coded, row, cut, count) < _loss(coded, row, final, count):
            final = cut
    centre = None
    if grouping.centre is not None:
        centre = np.searchsorted(held.parent, grouping.centre).astype(np.int32)
        centre = np.append(centre, np.zeros(groups - centre.size, dtype=np.int32))
    done = Grouping.of_pieces(row, final, count, centre=centre, proof=grouping.proof, steps=grouping.steps)
    return replace(done, objective=grouping.objective)


def _deal(coded: Coded, held: Held, grouping: Grouping) -> tuple[Integers, Integers, Integers]:
    """Pieces of our distinct rows: a tuple in one group goes there whole, others are dealt evenly mixed."""
    pieces = np.bincount(grouping.distinct, minlength=held.plain.distinct)
    first = np.full(held.plain.distinct, WITHHELD, dtype=np.int64)
    first[grouping.distinct[::-1]] = grouping.group[::-1]
    parted = pieces[held.parent] > 1
    whole = np.flatnonzero(~parted & (coded.count > 0))
    rows = np.flatnonzero(parted)
    # the j-th of c copies stands at (j + 1/2) / c, so that any run of the order is a fair sample
    copies = np.repeat(rows, coded.count[rows])
    starts = np.cumsum(coded.count[rows]) - coded.count[rows]
    rank = np.arange(copies.size) - np.repeat(starts, coded.count[rows])
    place = (rank + 0.5) / coded.count[copies]
    copies = copies[np.lexsort((place, held.parent[copies]))]
    dealt = np.flatnonzero(pieces[grouping.distinct] > 1)
    to = np.repeat(grouping.group[dealt], grouping.count[dealt])
    return (
        np.concatenate([whole, copies]),
        np.concatenate([first[held.parent[whole]], to]).astype(np.int64),
        np.concatenate([coded.count[whole], np.ones(copies.size, dtype=np.int64)]),
    )


def _has_grown(before: Integers, after: Integers) -> bool:
    """Whether so many groups were joined that starting anew may be better."""
    return 2 * np.unique(after[after >= 0]).size < np.unique(before[before >= 0]).size


def _strata(value: NDArray[np.int32], rules: ruling.Rules, row: Integers) -> Integers:
    """What each half of a cut gets its fair share of: the values of all columns, in few strata each."""
    stratum = np.zeros(row.size, dtype=np.int64)
    for column, size in enumerate(rules.size):
        if size > 1:
            # shares summed up to the value, so that neighbours of many values stand together
            place = rules.up_to[rules.offset[column] + value[row, column]]
            few = value[row, column] if size <= MOST_STRATA else (place * MOST_STRATA).astype(np.int64)
            stratum = np.unique(stratum * (MOST_STRATA + 1) + few, return_inverse=True)[1].ravel()
    return stratum.astype(np.int64)


def _loss(coded: Coded, row: Integers, group: Integers, count: Integers) -> float:
    kept = group >= 0
    order = np.flatnonzero(kept)[np.argsort(group[kept], kind="stable")]
    label = group[order]
    starts = np.flatnonzero(np.r_[True, np.diff(label) > 0, True])
    sizes = np.add.reduceat(count[order], starts[:-1])
    spans = group_losses(coded.codes, coded.metric, row[order].astype(np.int32), starts)
    return float(spans @ sizes)


def _single(
    row: Integers, group: Integers, count: Integers, kept: NDArray[np.bool_], k: int
) -> tuple[Integers, Integers, Integers]:
    """Few copies become single records, which are easier to exchange; many stay together."""
    times = np.where(kept & (count < k), count, 1)
    return np.repeat(row, times), np.repeat(group, times), np.repeat(count // times, times)


def _pack(held: Held, row: Integers, count: Integers, k: int) -> tuple[NDArray[np.int32], ruling.Rules]:
    """The values behind our distinct rows, the unit last, and the rules over them."""
    place = {(column.name, column.measure): at for at, column in enumerate(held.columns)}
    sizes = [column.size for column in held.columns]
    value = held.value
    limits = [
        (_kind(rule), place[rule.column, _measure(rule)], rule.limit, rule.tail) for rule in held.rules
    ]
    if held.unit is not None:
        limits.append((ruling.DISTINCT, len(sizes), float(k), 0))
        sizes.append(held.units)
        value = np.column_stack([value, held.unit])
    value = np.ascontiguousarray(value, dtype=np.int32)
    offset = np.r_[0, np.cumsum(np.array(sizes, dtype=np.int64) + 1)]
    share, up_to, sums = (np.zeros(offset[-1]) for _ in range(3))
    height, levels, level_offset = [], [np.zeros(0, dtype=np.int32)], []
    for at, size in enumerate(sizes):
        start, end = offset[at], offset[at] + size
        share[start:end] = np.bincount(value[row, at], weights=count, minlength=size) / count.sum()
        up_to[start:end] = np.cumsum(share[start:end])
        sums[start + 1 : end + 1] = np.cumsum(up_to[start:end])
        level_offset.append(sum(level.size for level in levels))
        tree = held.columns[at].tree if at < len(held.columns) else None
        height.append(0)
        if tree is not None:
            has_missing = size > len(tree.leaves)
            height[-1] = max(tree.height, 1) if has_missing else tree.height
            for level in range(height[-1]):
                first = tree.first[min(level, tree.height)]
                levels.append(np.append(first, [len(tree.leaves)] * has_missing).astype(np.int32))
    kind, column, limit, tail = zip(*limits, strict=True)
    return value, ruling.Rules(
        kind=np.array(kind, dtype=np.int64),
        column=np.array(column, dtype=np.int64),
        limit=np.array(limit, dtype=np.float64),
        tail=np.array(tail, dtype=np.int64),
        size=np.array(sizes, dtype=np.int64),
        offset=offset[:-1],
        share=share,
        up_to=up_to,
        sums=sums,
        height=np.array(height, dtype=np.int64),
        level_offset=np.array(level_offset, dtype=np.int64),
        level=np.concatenate(levels),
    )


def _kind(rule: Rule) -> int:
    return _KINDS[rule.distance if rule.kind == CLOSE else rule.kind]


def _measure(rule: Rule) -> str:
    return rule.distance if rule.distance in {"ordered", "hierarchy"} else "value"


def _lacking(held: Held, row: Integers, count: Integers, k: int) -> list[str]:
    """What all these records as one group lack, in words and figures; closeness never does."""
    place = {(column.name, column.measure): at for at, column in enumerate(held.columns)}
    total = int(count.sum())
    lacking = []
    if held.unit is not None:
        persons = np.unique(held.unit[row]).size
        if persons < k:
            lacking.append(
                f"k = {k} persons are needed in every class; the whole table has {persons}. Lower k."
            )
    for rule in held.rules:
        if rule.kind == CLOSE:
            continue
        code = held.value[row, place[rule.column, _measure(rule)]]
        tally = np.sort(np.bincount(code, weights=count))[::-1]
        tally = tally[tally > 0]
        most = int(tally[0]) if tally.size else 0
        share = tally / max(total, 1)
        found = ""
        if rule.kind == DISTINCT and tally.size < rule.limit:
            found = f"its {total} rows hold {tally.size} different values"
        elif rule.kind == ENTROPY:
            effective = float(np.exp(-(share * np.log(share)).sum()))
            if effective < rule.limit * (1 - 1e-9):
                found = f"its entropy is that of {effective:.4g} equally frequent values"
        elif rule.kind == RECURSIVE:
            rest = int(tally[rule.tail - 1 :].sum())
            if not most < rule.limit * rest - 1e-9:
                found = (
                    f"the commonest value stands in {most} of {total} rows, and all but the "
                    f"{rule.tail - 1} commonest in {rest}"
                )
        elif total and most / total > rule.limit + 1e-9:
            found = f"the commonest value stands in {most} of {total} rows ({100 * most / total:.4g} %)"
        if found:
            lacking.append(
                f"No release can obey {rule.text!r}: in the whole table {found}. Weaken or drop the rule."
            )
    return lacking


def _labels(head: Integers, after: Integers, pieces: int) -> Integers:
    """The group of each piece, from the chains."""
    label = np.full(pieces, WITHHELD, dtype=np.int64)
    at = head.copy()
    alive = np.flatnonzero(at >= 0)
    while alive.size:
        label[at[alive]] = alive
        at[alive] = after[at[alive]]
        alive = alive[at[alive] >= 0]
    return label
