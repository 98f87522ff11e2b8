"""Our assignment kernel beside SciPy's maximum flow, on the same instances in one run.

    python bench/flow.py                     Adult and 140,029 UK accidents, k = 10 and 100

An instance is what gather decides by: centres, a radius, and whether every centre can have k records
within it. `threshold` are the greedy centres at the threshold of the search, `below` those at the failing
one right below it, if there is one; `cover` are the centres of the tightened solution's radius. Ours starts
from the records that the cover gave each centre and looks for rows near one only where it needs them.
SciPy's flow (Dinic) needs the graph of all rows within the radius of each centre, so both its seconds are
given: the flow alone, and with the graph. Seconds are of the processor, the least of three, on one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from gather import adult_table, points_table, show
from shoal.bound import value_of
from shoal.encode import encode
from shoal.group import fill_options, load
from shoal.group.centres.radius import TRIES, Survey, survey
from shoal.group.gather import PRECISE
from shoal.kernels.centres.assignment import fill_deficits
from shoal.kernels.centres.cover import greedy_centres, richest_centres
from shoal.kernels.centres.least_radius import least_threshold, test_all
from shoal.kernels.neighbours.box_tree import sight_of
from shoal.kernels.neighbours.exact import list_within
from shoal.model.coded import Coded
from shoal.model.task import Task

Rows = NDArray[np.int32]
Instance = tuple[str, float, Rows, Rows]

RUNS = 3


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of some work, and the least seconds it took."""
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
    return found, min(seconds)


def instances(coded: Coded, k: int) -> tuple[Survey, Iterator[Instance]]:
    task = Task(k=k, options=fill_options("gather", {}))
    about = survey(coded, task)
    test = partial(test_all, about.index, about.space, about.count, about.reach, k, about.most)
    threshold, below, _ = least_threshold(
        about.index, about.space, test, start=float(about.reach.max()), precise=PRECISE
    )
    value = value_of("radius", coded, load("gather").group(coded, task))
    return about, _each(about, threshold, below, value)


def _each(about: Survey, threshold: float, below: float | None, value: float) -> Iterator[Instance]:
    sight = sight_of(about.index, about.space)
    for name, t in (("threshold", threshold), ("below", below)):
        if t is not None:
            yield name, t, *greedy_centres(about.index, about.space, sight, about.count, t, about.most)
    order = np.argsort(-about.need, kind="stable").astype(np.int32)
    alive = about.count > 0
    allowed = alive & (about.reach <= value)
    words = (about.index, about.space, sight, about.count, order, alive, allowed, value, about.most)
    yield "cover", value, *richest_centres(*words, TRIES)


def graph(about: Survey, radius: float, centre: Rows) -> csr_array:
    """From a source to rows with their records, to the centres within the radius, to a sink with k each."""
    starts, rows = list_within(about.index, about.space, centre, np.full(centre.size, radius))
    n, groups = about.count.size, centre.size
    alive = np.flatnonzero(about.count > 0)
    near = np.repeat(np.arange(groups), np.diff(starts))
    # a centre's own records are its own, as they are in ours
    own = np.full(n, -1)
    own[centre] = np.arange(groups)
    fits = (own[rows] < 0) | (own[rows] == near)
    rows, near = rows[fits], near[fits]
    tail = np.concatenate([np.zeros(alive.size), 1 + rows, 1 + n + np.arange(groups)])
    head = np.concatenate([1 + alive, 1 + n + near, np.full(groups, 1 + n + groups)])
    most = np.concatenate([about.count[alive], about.count[rows], np.full(groups, about.k)])
    size = n + groups + 2
    return csr_array((most.astype(np.int32), (tail.astype(np.int32), head.astype(np.int32))), (size, size))


def run(table: str, coded: Coded, k: int) -> None:
    about, each = instances(coded, k)
    for name, radius, centre, label in each:
        if centre.size == 0:
            show({"table": table, "k": k, "instance": name, "centres": "too many, no flow needed"})
            continue
        row = np.flatnonzero(label >= 0).astype(np.int32)
        pieces = (centre, row, label[row], about.count[row])
        ours = partial(fill_deficits, about.index, about.space, about.count, k, radius, *pieces)
        (bad, *_), used = timed(ours)
        edges, built = timed(partial(graph, about, radius, centre))
        flow, flowed = timed(partial(maximum_flow, edges, 0, edges.shape[0] - 1))
        assert (bad < 0) == (flow.flow_value == k * centre.size), "both decide alike"
        show(
            {
                "table": table,
                "k": k,
                "instance": name,
                "radius": radius,
                "centres": centre.size,
                "short": int((np.bincount(label[row], about.count[row], centre.size) < k).sum()),
                "edges": edges.nnz,
                "holds": bad < 0,
                "ours": used,
                "scipy_flow": flowed,
                "scipy_graph": built,
                "flow_over_ours": flowed / used,
                "both_over_ours": (flowed + built) / used,
            }
        )


if __name__ == "__main__":
    numba.set_num_threads(1)
    frame, plan = adult_table(100)
    run("warming", encode(frame.head(500), plan), 10)
    for table, (frame, plan) in (("adult", adult_table(100)), ("accidents", points_table(140_029))):
        if len(sys.argv) > 1 and table not in sys.argv[1:]:
            continue
        coded = encode(frame, plan)
        for k in (10, 100):
            run(table, coded, k)
