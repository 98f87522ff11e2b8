"""The largest radius, and what no grouping around centres can beat.

Every published record needs a centre that reaches it, and a centre needs k records within the radius of
its group. So a record i costs at least the least over rows c of max(d(i, c), reach of c), where a row's
reach is the least distance around it that holds k records. The best largest radius is at least the
greatest of these; with withheld records, the greatest that is left when the quota's worth of the worst
records is set aside (docs/proofs/radius.md).

The threshold bound is the method's own: a threshold that fails lies below the largest diameter of a best
solution, which is at most twice its radius. It is computed again by letting the same threshold fail.

The bound by covers is the method's own, too: shares of rows of which a ball of some radius bears at most 1
sum to more than the groups that there may be, so one of them is wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.bound.shares import shares_of_text
from shoal.kernels.centres.heaviest_ball import are_too_few
from shoal.kernels.centres.least_radius import Within, is_tight, test_all, test_most
from shoal.kernels.distance.rows import apart_each
from shoal.kernels.neighbours.box_tree import build_index
from shoal.kernels.neighbours.exact import best_centres, reach_distances
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["again", "largest_radius", "prove"]


def largest_radius(coded: Coded, grouping: Grouping) -> float:
    """The largest distance of a published record from its group's centre."""
    assert grouping.centre is not None, "a method with this objective names centres"
    kept = grouping.group >= 0
    centre = grouping.centre[grouping.group[kept]]
    return float(apart_each(coded.space, grouping.distinct[kept], centre).max(initial=0.0))


def prove(coded: Coded, task: Task) -> Proof:
    """The bound by reach."""
    space, count = coded.space, coded.count
    index = build_index(space, count)
    alive = np.flatnonzero(count > 0).astype(np.int32)
    reach = reach_distances(index, space, count, task.k)
    _, need = best_centres(index, space, reach, alive)
    order = np.argsort(-need, kind="stable")
    beyond = np.cumsum(count[alive[order]]) > task.withhold
    return Proof("reach", float(need[order[beyond.argmax()]]), (("withhold", float(task.withhold)),))


def again(coded: Coded, task: Task, name: str, parameters: Mapping[str, Any]) -> Proof | None:
    """The bound of that name, from its recorded parameters; None where it is not known."""
    if name == "threshold" and {"below", "threshold", "max_groups"} <= set(parameters):
        return _threshold(coded, task, parameters)
    if name == "cover" and {"radius", "shares"} <= set(parameters):
        return _cover(coded, task, parameters["radius"], parameters["shares"])
    return prove(coded, task) if name == "reach" else None


def _most_groups(coded: Coded, task: Task) -> int:
    """How many groups there may be, by the plan: nothing that a receipt could say otherwise."""
    asked = task.options.get("max_groups", coded.total)
    return min(asked if isinstance(asked, int) else coded.total, coded.total // task.k)


def _cover(coded: Coded, task: Task, radius: float, text: str) -> Proof | None:
    """The bound by ball covers, from the shares that a receipt keeps; None where they prove nothing."""
    share = shares_of_text(text, coded.distinct)
    if share is None or task.withhold or not 0.0 <= radius < np.inf:
        return None
    space, count = coded.space, coded.count
    reach = reach_distances(build_index(space, count), space, count, task.k)
    if not are_too_few(space, count, reach, _most_groups(coded, task), radius, share):
        return None
    return Proof("cover", radius, (("radius", radius),), shares=share)


def _threshold(coded: Coded, task: Task, said: Mapping[str, float]) -> Proof | None:
    """The threshold bound; 0 where the parameters do not prove one, None where they are not the plan's."""
    if said["max_groups"] != _most_groups(coded, task):
        return None
    space, count, k = coded.space, coded.count, task.k
    index = build_index(space, count)
    reach = reach_distances(index, space, count, k)
    below, threshold, most = said["below"], said["threshold"], int(said["max_groups"])
    if below < 0:  # everything below the start of the search fails
        order = np.argsort(-reach, kind="stable")
        start = float(reach[order[(np.cumsum(count[order]) > task.withhold).argmax()]])
        bound = min(threshold, start)
    else:
        words = (index, space, count, reach, k, most, below)
        if task.withhold:
            within = Within(index, space, count.size)
            found = test_most(*words, withhold=task.withhold, within=within)
        else:
            found = test_all(*words)
        if found is not None:
            bound = 0.0
        else:
            bound = threshold if is_tight(index, space, below, threshold) else below
    return Proof("threshold", bound / 2, tuple(sorted(said.items())))
