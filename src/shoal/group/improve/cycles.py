"""Improvement of any grouping whose objective is the total loss.

Problem
    Lower the total loss of a grouping, with every group at least k and the quota of withheld records
    kept.

Guarantee
    Never more loss than before, so a factor proved for the grouping still holds.

Method
    The groups are cut into blocks of some thousand rows; each block is improved by itself, so blocks
    run side by side and the number of threads changes nothing. The next round cuts elsewhere. In a
    block first a sweep of local search: close a group and spread its rows, shrink it and eject the
    rest, split it, move rows or some of their copies, withhold and give back. Then rebuilds: pool a few
    near groups around a costly row, build the pool anew by the cheapest crowd first at noisy prices,
    and keep what is better. Where no column is a number, a box is filled with its dearest rows. Near is
    what stands beside a row in some sorted orders. In tables of many columns, whose pools have too many
    boxes, a row changes places with the best row of a near group instead; labels have no order, and as
    many steps do so as columns are labels. A step is one rebuild tried, or some changes of places.
    Where there are many steps, groups may become worse at first, by less and less as the end comes
    near: that leads out of valleys. The best of all rounds is what remains, and is finished: the boxes
    of its groups are filled anew, as cheaply as they can be, swept, and filled once more. For k = 2 an
    integer program then chooses the groups of each block among pairs and triples (`choose.py`). An
    effort of a level is one such cycle; one in seconds or steps is a row of cycles, each twice as long
    as the last and begun at the best so far, so that it may end at any step, and without programs.

Cost
    A sweep takes O(n) looks at near groups, a step O(p c) for a pool of p rows and c boxes, a change of
    places O(k); memory O(n).

Reference
    Our own. Large neighbourhood search: P. Shaw. Using constraint programming and local search methods
    to solve vehicle routing problems. CP 1998. Annealing: S. Kirkpatrick, C. Gelatt, M. Vecchi.
    Optimization by simulated annealing. Science 220, 1983.

Example:
    >>> round(steps_of(Effort("quick"), k=10, groups=3000), -3)
    8000

"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.group.improve.blocks import cut_blocks
from shoal.group.improve.choose import choose_block
from shoal.group.improve.dive import dive
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.improve import first_run
from shoal.kernels.improve.block import LISTED, Found, finish_block, improve_block
from shoal.kernels.neighbours.approximate import WIDE, WIDE_WHOLE, draw_orders, near_rows
from shoal.model.coded import Coded
from shoal.model.column import LINE, TREE
from shoal.model.grouping import WITHHELD, Grouping, Proof
from shoal.model.task import Doing, Effort, Progress, Task

__all__ = ["improve", "percent_of", "prepare", "steps_of", "work_of"]

BLOCK = 12_000
"""Pieces in a block: two for a table like Adult, so that two cores are busy."""
SWEEP_EVERY = 16
"""Rounds from one sweep of local search to the next."""
WORK = {"quick": 1.0e6, "normal": 10e6, "thorough": 110e6}
"""The effort of each level, in millionths of a second of one core."""
PER_RECORD, AT_K = {"quick": 60, "normal": 215, "thorough": 15_000}, 100
"""No more work than this per record, in the same unit, and twice as much at this k: small tables are done
sooner."""
WHOLE, FINISHED, LONG = 4 * BLOCK, 100_000, ("normal", "thorough")
"""Pieces in a block when all is finished; with a quick effort they are as few as before. Where there are
more distinct rows than this, only these efforts have time to finish."""
ROUND, WIDE_ROUND = 0.4e6, 0.15e6
"""Work between two cuts, per block, in the same unit; less where groups of many columns stand in the way
of any cut."""
ORDERS = 8
"""Sorted orders in which near rows are sought in every block; in tables of many columns, unless they are
large, the lists are made once and more carefully."""
HUGE = 4_000_000
"""Distinct rows from which on a quick effort has no time for a sweep."""
RECORDS, MANY = 25, 50
"""How much worse a pool, or two groups that change rows, may become at first: by the mean loss of one of
its records, of one in so many where groups are larger, in a cycle of so many steps per group; in a
shorter one it is less."""
OF_TREES, LONGER = 5, {"quick": 7, "normal": 2, "thorough": 1}
"""One in so many where every column is a tree, and how many times the work: any record of a box may fill
it, so that many groups lose nearly as much and few of them lead further."""
FIRST_CYCLE = 10
"""Steps per group in the first cycle of an effort in seconds or steps."""
PATIENCE = 40
"""Steps per group without any gain after which nothing more is expected."""


class Programs(NamedTuple):
    """Groups of two and three chosen by programs: up to how many distinct rows there is time for that.

    `steps` is the part of the steps that remains, then so many `rounds` in blocks of so many pieces, among
    so many `sets` for each row.
    """

    most: int
    steps: float
    rounds: int
    block: int
    sets: int


WORTH = 0.5
"""The part of the bound that shares must explain before programs choose by them."""
PROGRAMS = {"normal": Programs(30_000, 0.7, 1, 1_000, 4), "thorough": Programs(300_000, 0.4, 2, 3_000, 12)}
Pieces = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]


class Steps(NamedTuple):
    """The steps of one round, if it begins with a sweep, the heat, and what each row gives to a bound."""

    steps: int
    with_sweep: bool
    heat: float
    shares: NDArray[np.float64]


def steps_of(effort: Effort, *, k: int, groups: int, of_trees: bool = False) -> int | None:
    """How many steps an effort stands for, in a table of trees alone or another; None for seconds."""
    if effort.level is not None:
        work = min(WORK[effort.level], PER_RECORD[effort.level] * groups * k * (1 + k / AT_K))
        return int(work * (LONGER[effort.level] if of_trees else 1) / work_of(k))
    return effort.steps


def work_of(k: int) -> float:
    """What a step takes, about, in millionths of a second of one core."""
    return 30.0 + min(9.0 * k, 45.0 + 4.5 * k)  # pools of large groups are rather small


def prepare(threads: int, progress: Progress) -> None:
    """Say that `improve` will be called: on a machine's first run its kernels are compiled meanwhile."""
    if threads != 1 and first_run.begin():
        progress("compiling, once on this machine", 0.0)


def improve(coded: Coded, grouping: Grouping, task: Task) -> Grouping:
    """Lower the total loss of `grouping`; proof and factor stay, centres do not.

    Where the task says when to stop and the grouping has a proof, it ends once that ratio is reached. Where
    the proof has a guide, the search learns from it.
    """
    random = np.random.default_rng(task.seed)
    pieces: Pieces = (grouping.distinct, grouping.group, grouping.count)
    of_trees = bool((coded.metric.form == TREE).all())
    most = steps_of(task.effort, k=task.k, groups=grouping.groups, of_trees=of_trees)
    if task.effort.level == "quick" and coded.distinct >= HUGE:
        return grouping
    begin = time.monotonic()
    enough = 0.0
    if task.stop_at is not None and grouping.proof is not None:
        enough = task.stop_at * grouping.proof.bound
    loss = first = least = _total_loss(coded, grouping)
    best = pieces
    gaps = _gaps(coded)
    is_wide = coded.codes.shape[1] > WIDE
    near = grouping.near
    if is_wide and near is None and coded.distinct <= WIDE_WHOLE:
        near = near_rows(coded.codes, coded.metric, LISTED, random)
    work = WIDE_ROUND if is_wide else ROUND
    guide = grouping.proof.guide if grouping.proof is not None else None
    shares = np.zeros(0) if guide is None else guide.share
    programs = _programs(coded, grouping.proof, task)
    if programs is not None and most is not None:
        most = int(programs.steps * most)
    other = dive(coded, guide, task) if guide is not None and most != 0 and least > enough else None
    if other is not None:  # a start from which improvement leads further, though it may lose more
        pieces = (other.distinct, other.group, other.count)
        loss = _total_loss(coded, other)
    many = max(1, grouping.groups)
    hottest = max(1.0, task.k / (OF_TREES if of_trees else RECORDS))
    cycle = most if task.effort.level is not None and most is not None else FIRST_CYCLE * many
    start = steps = idle = number = 0
    with ThreadPoolExecutor(task.threads or cpu_count() or 1) as pool:
        while least > max(enough, 1e-9 * first) and idle <= PATIENCE * many + 1000:
            share = steps / most if most else 0.0
            if task.effort.seconds is not None:
                share = (time.monotonic() - begin) / task.effort.seconds
            if number and (share >= 1.0 or steps == most):
                break
            lost = percent_of(coded, least)
            task.progress(Doing(f"improving, loss {lost:.3f} %", loss=lost), min(share, 1.0))
            if steps == start + cycle and number:
                start, cycle = steps, 2 * cycle
                loss, pieces = least, best
            parts = _cut(coded, pieces, gaps, random, BLOCK)
            now = min(len(parts) * max(1, int(work / work_of(task.k))), start + cycle - steps)
            if most is not None:
                now = min(now, most - steps)
            full = min(1.0, cycle / (MANY * many))
            doing = Steps(
                now,
                number % SWEEP_EVERY == 0 or steps + now == start + cycle,
                hottest * full * (1.0 - (steps - start) / max(1, cycle)) ** 2,
                shares,
            )
            pieces, won = _join(_start(pool, coded, pieces, task, parts, near, random, doing))
            loss -= won
            steps += now
            number += 1
            idle = 0 if won else idle + now
            if loss < least:
                least, best = loss, pieces
        is_long = task.effort.level in LONG
        if least > enough and (coded.distinct <= FINISHED or is_long):
            is_quick = task.effort.level == "quick"
            parts = _cut(coded, best, gaps, random, BLOCK if is_quick else WHOLE)
            found, won = _join(_start(pool, coded, best, task, parts, near, random, None))
            if won > 0.0:
                best, least = found, least - won
        for number in range(programs.rounds if programs and least > enough else 0):
            assert programs is not None
            lost = percent_of(coded, least)
            task.progress(Doing(f"choosing pairs, loss {lost:.3f} %", loss=lost), number / programs.rounds)
            found, won = _join(_choose(pool, coded, best, random, gaps, shares, programs))
            if won > 0.0:
                best, least = found, least - won
    return Grouping.of_pieces(
        *best, proof=grouping.proof, steps=grouping.steps + steps, factor=grouping.factor
    )


def _programs(coded: Coded, proof: Proof | None, task: Task) -> Programs | None:
    """The programs at the end of a search, None where there are none or the shares say little."""
    programs = PROGRAMS.get(task.effort.level or "") if task.k == 2 else None
    if programs is None or proof is None or proof.guide is None or coded.distinct > programs.most:
        return None
    return programs if proof.guide.share @ coded.count >= WORTH * proof.bound else None


def percent_of(coded: Coded, loss: float) -> float:
    """A total loss in percent of all there is to lose."""
    return 100 * loss / (coded.total * coded.weight)


def _total_loss(coded: Coded, grouping: Grouping) -> float:
    order = np.argsort(grouping.group, kind="stable")
    order = order[grouping.group[order] >= 0]
    starts = np.searchsorted(grouping.group[order], np.arange(grouping.groups + 1))
    spans = group_losses(coded.codes, coded.metric, grouping.distinct[order], starts)
    return float(spans @ grouping.sizes) + grouping.withheld * coded.weight


def _gaps(coded: Coded) -> list[NDArray[np.float64]]:
    """Per axis the distance from each code to the next."""
    metric = coded.metric
    found = []
    for axis, size in enumerate(metric.size.tolist()):
        at = int(metric.offset[axis])
        if metric.form[axis] == TREE:
            gap = metric.data[at : at + size - 1].copy()
        elif metric.form[axis] == LINE:
            gap = np.diff(metric.data[at : at + size])
            if metric.missing[axis] >= 0:
                gap[metric.missing[axis] - 1 :] = metric.most[axis]
        else:
            gap = np.full(size - 1, metric.data[at])
        found.append(gap)
    return found


def _cut(
    coded: Coded, pieces: Pieces, gaps: list[NDArray[np.float64]], random: np.random.Generator, block: int
) -> list[NDArray[np.int64]]:
    """The pieces of each block; groups stay whole, withheld pieces stand alone."""
    distinct, group, _ = pieces
    name = group.astype(np.int64)
    loose = np.flatnonzero(group < 0)
    name[loose] = int(group.max(initial=WITHHELD)) + 1 + np.arange(loose.size)
    order = np.argsort(name, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(name[order]) > 0])
    size = np.diff(np.r_[starts, order.size])
    codes = coded.codes[distinct[order]]
    middle = np.minimum.reduceat(codes, starts) + np.maximum.reduceat(codes, starts)
    parts = cut_blocks(middle, size, block, random, gaps)
    part_of = np.empty(starts.size, dtype=np.int64)
    for part, items in enumerate(parts):
        part_of[items] = part
    part_of_piece = np.repeat(part_of, size)
    by_part = order[np.argsort(part_of_piece, kind="stable")]
    return np.split(by_part, np.cumsum(np.bincount(part_of_piece))[:-1])


def _near_within(near: NDArray[np.int64], rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """The lists of some rows, numbered as these are; what stands elsewhere is left out."""
    place = np.full(len(near) + 1, -1, dtype=np.int64)  # the last place is for -1
    place[rows] = np.arange(rows.size)
    found: NDArray[np.int64] = place[near[rows]]
    found[:, 1:] = np.take_along_axis(
        found[:, 1:], np.argsort(found[:, 1:] < 0, axis=1, kind="stable"), axis=1
    )
    return found


def _share(spare: int, pieces: Pieces, parts: list[NDArray[np.int64]]) -> list[int]:
    """The quota of each block: what it withholds now, and its share of what is left of the quota."""
    _, group, count = pieces
    records = np.array([count[part].sum() for part in parts])
    upto = np.floor(np.cumsum(records) * (spare / records.sum()) + 1e-9).astype(np.int64)
    share = np.diff(np.r_[0, upto])
    held = [int(count[part][group[part] < 0].sum()) for part in parts]
    return [now + int(more) for now, more in zip(held, share, strict=True)]


def _start(
    pool: ThreadPoolExecutor,
    coded: Coded,
    pieces: Pieces,
    task: Task,
    parts: list[NDArray[np.int64]],
    near: NDArray[np.int64] | None,
    random: np.random.Generator,
    doing: Steps | None,
) -> list[tuple[NDArray[np.int32], Future[Found]]]:
    """Start some steps or the end of the work on every block: its distinct rows, what will be found."""
    orders = draw_orders(coded.codes.shape[1], ORDERS, random)
    spare = _share(task.withhold - int(pieces[2][pieces[1] < 0].sum()), pieces, parts)
    upto = np.linspace(0, 0 if doing is None else doing.steps, len(parts) + 1).astype(np.int64)
    jobs = []
    for at, part in enumerate(parts):
        rows, row = np.unique(pieces[0][part], return_inverse=True)
        block = (
            coded.codes[rows],
            coded.metric,
            row.ravel(),
            pieces[1][part],
            pieces[2][part],
            task.k,
            spare[at],
            coded.weight,
            orders,
            None if near is None else _near_within(near, rows),
        )
        if doing is None:
            job = pool.submit(finish_block, *block)
        else:
            job = pool.submit(
                improve_block,
                *block,
                doing.with_sweep,
                int(upto[at + 1] - upto[at]),
                int(random.integers(2**62)),
                doing.heat,
                doing.shares[rows] if doing.shares.size else doing.shares,
            )
        jobs.append((rows.astype(np.int32), job))
    return jobs


def _choose(
    pool: ThreadPoolExecutor,
    coded: Coded,
    pieces: Pieces,
    random: np.random.Generator,
    gaps: list[NDArray[np.float64]],
    shares: NDArray[np.float64],
    programs: Programs,
) -> list[tuple[NDArray[np.int32], Future[Found]]]:
    """Start a program on every block: its distinct rows, what will be found."""
    jobs = []
    for part in _cut(coded, pieces, gaps, random, programs.block):
        rows, row = np.unique(pieces[0][part], return_inverse=True)
        block = coded.codes[rows], coded.metric, row.ravel(), pieces[1][part], pieces[2][part]
        jobs.append((rows.astype(np.int32), pool.submit(choose_block, *block, shares[rows], programs.sets)))
    return jobs


def _join(jobs: list[tuple[NDArray[np.int32], Future[Found]]]) -> tuple[Pieces, float]:
    """The pieces of all blocks, with groups numbered apart, and the loss won."""
    distinct, groups, counts = [], [], []
    at, won = 0, 0.0
    for rows, job in jobs:
        row, group, count, gain = job.result()
        distinct.append(rows[row])
        groups.append(np.where(group >= 0, group + at, WITHHELD).astype(np.int32))
        counts.append(count)
        at += int(group.max(initial=WITHHELD)) + 1
        won += gain
    return (np.concatenate(distinct), np.concatenate(groups), np.concatenate(counts)), won
