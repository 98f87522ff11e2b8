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
    Where that joins half of all groups, groups are made anew too, and the better is kept: from rare
    values on, each grows by the near record that remedies most for what it costs, until it obeys; what
    is left goes where it costs least. (With many values: cuts at medians, of all records or of each
    stratum of values, so that parts stay mixed.) Then records move and swap between near groups, where
    all rules still hold and less is lost, those at the border of their group first. Methods that
    promise a shape let their groups only be joined, or joined until no boxes overlap; connected groups of
    regions only with one beside them.

Cost
    O(f m) box look-ups for f groups that break a rule, in blocks of m groups; O(n m) per round of trading
    and for growing, in parts of limited size; memory O(n).

Reference
    A. Machanavajjhala et al. l-diversity. ICDE 2006. N. Li, T. Li, S. Venkatasubramanian. t-closeness.
    ICDE 2007. R. C.-W. Wong et al. (alpha, k)-anonymity. KDD 2006. The enforcement is our own.

Example:
    >>> MODES["exchange"]
    0

"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from shoal.errors import BrokenPromise
from shoal.group.improve.blocks import cut_blocks
from shoal.group.rules import ahead
from shoal.group.rules.beside import join_beside
from shoal.group.rules.pieces import RuledPieces, lacking, strata_of
from shoal.kernels.rules.chains import AFTER, HEAD, HIGH, LOW, Chains
from shoal.kernels.rules.enforce import EXCHANGE, KEEP_APART, MERGE, enforce_rules
from shoal.kernels.rules.grow import FREE, grow_mixed
from shoal.kernels.rules.strata import cut_strata
from shoal.kernels.rules.trade import make_room, place_rest, trade_records
from shoal.kernels.rules.violation import make_tallies
from shoal.model.coded import Coded, Held
from shoal.model.facts import Facts
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.task import Progress, Task

__all__ = ["MODES", "check_feasible", "enforce", "prepare"]

MODES = {"exchange": EXCHANGE, "merge": MERGE, "apart": KEEP_APART}
BLOCK, LEAST = 2000, 200
"""Groups in a block: each failing group looks at all others of its block. Where records trade there are at
least two, so that two cores are busy, unless they would be small."""

SINGLE = 200_000
"""Up to so many records each is a piece of its own; of more, copies of k and more stay together."""
SMALL = 5000
"""Up to so many pieces repairs go on to the end, and the better of two results is kept."""
GROWN = 25_000
"""Records in a part that is grown by itself: each group looks at all pieces of its part."""
ROUNDS = {"quick": 1, "normal": 2, "thorough": 16}
"""Rounds of trading, by effort."""
ENOUGH = 0.002
"""A round that wins less than this share is the last."""
LOOKS = 3e7
"""Pairs of a piece and a group that a round of trading looks at."""
NEAR = 12
"""Near groups that one which breaks a rule looks at closely."""
PASSES = ((24, False), (6, True))
"""A round of trading: records at the border of their group try many near groups, then all a few."""

Integers = NDArray[np.int64]


def check_feasible(coded: Coded, k: int) -> None:
    """Raise where all records as one group break a rule; nobody should wait for a method to hear that."""
    if coded.held is not None:
        some = np.flatnonzero(coded.count > 0)
        error = lacking(coded.held, some, coded.count[some], k)
        if error is not None:
            raise error


def prepare(threads: int, progress: Progress) -> None:
    """Say that `enforce` will be called: on a machine's first run its kernels are compiled meanwhile."""
    if threads != 1 and ahead.begin():
        progress("compiling, once on this machine", 0.0)


def enforce(coded: Coded, grouping: Grouping, task: Task, facts: Facts) -> Grouping:
    """The grouping of `coded.plain`, as one of `coded` whose groups obey; centres stay where they are."""
    held = coded.held
    assert held is not None, "a table with rules says what they look at"
    ahead.wait()
    row, group, count = _deal(coded, held, grouping)
    if facts.obeys == "beside":
        assert grouping.beside is not None, "a method says which of its groups may join"
        pieces = (row, group, count)
        joined = join_beside(coded, held, pieces, grouping.beside.astype(np.int64), task)
        return Grouping.of_pieces(row, joined, count, proof=grouping.proof, steps=grouping.steps)
    kept = group >= 0
    if lacking(held, row[kept], count[kept], task.k) is not None:
        check_feasible(coded, task.k)
        # what is left breaks a rule without the withheld: they come back as a group of their own
        group = np.where(kept, group, grouping.groups)
        kept[:] = True
    few = count.sum() <= SINGLE
    row, group, count = _single(row, group, count, kept, int(count.max()) + 1 if few else task.k)
    kept = group >= 0
    mode = MERGE if facts.centres and facts.obeys == "exchange" else MODES[facts.obeys]
    ruled = RuledPieces.of(coded, held, row[kept], count[kept], task)
    final = np.full(row.size, WITHHELD, dtype=np.int64)
    if mode == EXCHANGE and facts.objective == "loss":
        final[kept] = _least_loss(ruled, group[kept])
    else:
        repaired = _repair(ruled, group[kept], mode)
        assert repaired is not None, "only those that may give up do"
        final[kept] = repaired
    centre = None
    if grouping.centre is not None:
        centre = np.searchsorted(held.parent, grouping.centre).astype(np.int32)
        centre = np.append(centre, np.zeros(int(group.max()) + 1 - centre.size, dtype=np.int32))
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


def _least_loss(ruled: RuledPieces, group: Integers) -> Integers:
    """Groups that obey: repaired, or made anew where repairs joined half of them; then records trade."""
    small = group.size <= SMALL
    found = _repair(ruled, group, EXCHANGE, gives_up=not small)
    if found is None or 2 * np.unique(found).size < np.unique(group).size:
        anew = _anew(ruled)
        if found is None or ruled.loss(anew) < ruled.loss(found):
            found = anew
    lost, random = ruled.loss(found), np.random.default_rng(ruled.task.seed)
    for _ in range(ROUNDS.get(ruled.task.effort.level or "normal", 1)):
        traded = found
        for near, inside in PASSES:
            traded = _trade(ruled, traded, random, near, inside)
        now = ruled.loss(traded)
        if now >= lost:
            break
        won, found, lost = lost - now, traded, now
        if won < ENOUGH * lost:
            break
    return found


def _repair(ruled: RuledPieces, group: Integers, mode: int, *, gives_up: bool = False) -> Integers | None:
    """Groups that break a rule exchange records with near ones or join them, block by block.

    None where that gives up: some block has a quarter of its groups left.
    """
    groups = int(group.max()) + 1
    chains = ruled.chains(group, groups)
    random = np.random.default_rng(ruled.task.seed)
    failing = 0
    for mine in _blocks(chains, groups if mode == KEEP_APART else BLOCK, random):
        now = _enforce(ruled, chains, mine, mode, mine.size // 4 if gives_up else 0)
        if now < 0:
            return None
        failing += now
    if failing:
        failing = _enforce(ruled, chains, np.arange(groups), mode, 0)
    if failing:
        raise BrokenPromise("Rules that hold for all records can be reached by merging.")
    return _labels(chains)


def _enforce(ruled: RuledPieces, chains: Chains, mine: Integers, mode: int, least: int) -> int:
    tallies, table = make_tallies(ruled.rules), make_room(ruled.codes.shape[1], NEAR)
    return int(enforce_rules(*ruled.table, chains, mine, ruled.task.k, mode, least, tallies, table))


def _blocks(chains: Chains, most: int, random: np.random.Generator) -> list[Integers]:
    """The groups by where they stand, at most so many together."""
    middle = chains.box[:, LOW] + chains.box[:, HIGH]
    return cut_blocks(middle, np.ones(len(middle), dtype=np.int64), most, random)


def _anew(ruled: RuledPieces) -> Integers:
    """Groups that obey from the start: grown where values are few, else cuts that keep the mix."""
    strata, exact = strata_of(ruled.value, ruled.rules, ruled.row)
    if not exact:
        return _cut(ruled, strata, ruled.task.k)
    # rare values start groups, and chance orders what is alike
    rank = np.bincount(strata, weights=ruled.held)[strata]
    chance = np.random.default_rng(ruled.task.seed).random(strata.size)
    order = np.lexsort((chance, rank))
    part = _cut(ruled, strata, GROWN) if strata.size > 2 * GROWN else np.zeros(strata.size, dtype=np.int64)
    group, groups = np.full(strata.size, FREE, dtype=np.int64), 0
    for number in range(int(part.max()) + 1):
        mine = np.flatnonzero(part == number)
        place = np.empty(strata.size, dtype=np.int64)
        place[mine] = np.arange(mine.size)
        seeds = place[order[part[order] == number]]
        its, many = grow_mixed(
            *ruled.table, ruled.row[mine], ruled.held[mine], strata[mine], seeds, ruled.task.k
        )
        group[mine] = np.where(its >= 0, its + groups, FREE)
        groups += many
    if groups == 0:
        return _cut(ruled, strata, ruled.task.k)
    rest = np.flatnonzero(group < 0)
    group[rest] = groups + np.arange(rest.size)
    chains = ruled.chains(group, groups + rest.size)
    grown = np.arange(groups)
    place_rest(*ruled.table, chains, group[rest], grown, make_tallies(ruled.rules))
    _enforce(ruled, chains, grown, EXCHANGE, 0)
    return _labels(chains)


def _cut(ruled: RuledPieces, strata: Integers, least: int) -> Integers:
    found: Integers = cut_strata(*ruled.table, ruled.row, ruled.held, strata, least)
    return found


def _trade(
    ruled: RuledPieces, group: Integers, random: np.random.Generator, near: int, inside: bool
) -> Integers:
    """Groups that trade records with near ones, block by block."""
    label = np.unique(group, return_inverse=True)[1].ravel()
    chains = ruled.chains(label, int(label.max()) + 1)
    most = min(BLOCK, max(LEAST, -(-len(chains.group) // 2)))
    todo = _blocks(chains, int(np.clip(LOOKS / group.size, 50, most)), random)

    def trade(mine: Integers) -> None:
        tallies, table = make_tallies(ruled.rules), make_room(ruled.codes.shape[1], near)
        trade_records(*ruled.table, chains, mine, ruled.task.k, inside, tallies, table)

    # blocks share no group and no piece, so each thread writes its own slots
    with ThreadPoolExecutor(ruled.task.threads or cpu_count() or 1) as pool:
        list(pool.map(trade, todo))
    return _labels(chains)


def _single(
    row: Integers, group: Integers, count: Integers, kept: NDArray[np.bool_], k: int
) -> tuple[Integers, Integers, Integers]:
    """Few copies become single records, which are easier to exchange; many stay together."""
    times = np.where(kept & (count < k), count, 1)
    return np.repeat(row, times), np.repeat(group, times), np.repeat(count // times, times)


def _labels(chains: Chains) -> Integers:
    """The group of each piece, from the chains."""
    label = np.full(len(chains.piece), WITHHELD, dtype=np.int64)
    at = chains.group[:, HEAD].copy()
    alive = np.flatnonzero(at >= 0)
    while alive.size:
        label[at[alive]] = alive
        at[alive] = chains.piece[at[alive], AFTER]
        alive = alive[at[alive] >= 0]
    return label
