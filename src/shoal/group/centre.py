"""centre: at most a given number of groups around centres, the largest radius as small as possible.

Problem
    Split the records into at most max_groups groups of at least k, each around one of its rows, so that the
    largest distance of any record from its centre is as small as possible. With rows withheld, the worst
    may stay out.

Guarantee
    The largest radius is at most 2 times the best possible; with withheld rows at most 4 times.

Method
    As gather, but a threshold fails where more than max_groups balls are needed. With withheld rows: rows
    with k records within t may be centres; again and again the one with most uncovered records within t
    becomes a centre and covers what is within 2 t, max_groups times at most; a threshold fails where too
    few are covered. Every covered record goes to its nearest centre, and so does every other within t of a
    centre: without these, groups could come out smaller than k. Without withheld rows a linear program says
    how many balls of a radius are needed at least: where that is too many, the best is wider.

Cost
    Time about O(n log n) for columns that spread, O(n^2) at worst; memory O(n), n distinct rows.

Reference
    G. Aggarwal, R. Panigrahy, T. Feder, D. Thomas, K. Kenthapadi, S. Khuller, A. Zhu. Achieving anonymity
    via clustering. ACM Transactions on Algorithms 6(3), 2010. Section 2.4.
    Differs from the paper: records outside the filtered rows join a centre within t, as its proof needs.

Example:
    >>> FACTS.options["max_groups"].default
    10

"""

from __future__ import annotations

from functools import partial

import numpy as np

from shoal.errors import TooFewRows
from shoal.group.centres.radius import CENTRE, Solution, Survey, finish, solution_of, survey
from shoal.group.gather import PRECISE, threshold_proof
from shoal.kernels.centres.ball_cover import least_cover
from shoal.kernels.centres.heaviest_ball import are_too_few
from shoal.kernels.centres.least_radius import Within, least_threshold, test_all, test_most
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["FACTS", "group"]


HALVINGS = {"quick": 5, "normal": 8, "thorough": 12}
"""How often the radii between the bound and what was found are halved, to see where balls are too few."""


def _read_groups(text: str) -> int:
    try:
        groups = int(text)
    except ValueError:
        groups = 0
    if groups < 1:
        raise ValueError("it is a whole number of at least 1")
    return groups


FACTS = Facts(
    title="Centre",
    objective="radius",
    guarantee="at most 2 times the best largest radius of so many groups; 4 times with withheld rows",
    time="O(n log n) to O(n^2)",
    paper="000, section 2.4",
    centres=True,
    distances=frozenset({"span", "euclidean", "great-circle", "matrix"}),
    options={"max_groups": Option(_read_groups, 10, "how many groups there may be at most"), **CENTRE},
    factor=lambda k, columns: 2.0,
    least_factor=2.0,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    most = task.options["max_groups"]
    assert isinstance(most, int), "fill_options reads it"
    about = survey(coded, task, most=most)
    task.progress("searching the threshold", 0.0)
    words = (about.index, about.space, about.count, about.reach, about.k, about.most)
    if task.withhold == 0:
        test, start, factor = partial(test_all, *words), float(about.reach.max()), 2.0
    else:
        within = Within(about.index, about.space, about.count.size)
        test, factor = partial(test_most, *words, withhold=task.withhold, within=within), 4.0
        order = np.argsort(-about.reach, kind="stable")
        start = float(about.reach[order[(np.cumsum(about.count[order]) > task.withhold).argmax()]])
    found = least_threshold(about.index, about.space, test, start=start, precise=PRECISE)
    start_with, proof = solution_of(about, found.pieces), threshold_proof(about, found)
    cover = _cover_proof(about, start_with, proof, task)
    return finish(about, start_with, task, cover or proof, factor=factor)


def _cover_proof(about: Survey, found: Solution, proof: Proof, task: Task) -> Proof | None:
    """A radius at which so many balls are too few to cover all rows; None where that proves no more."""
    low = max(about.least, proof.bound)
    if about.withhold or found.largest <= low:
        return None
    task.progress("counting balls", 0.0)
    halvings = HALVINGS[task.effort.level or "normal"]
    cover = least_cover(about.space, about.count, about.reach, about.most, (low, found.largest), halvings)
    if cover is None or not are_too_few(about.space, about.count, about.reach, about.most, *cover):
        return None
    return Proof("cover", cover[0], (("radius", cover[0]),), shares=cover[1])
