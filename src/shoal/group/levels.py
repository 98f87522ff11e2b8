"""levels: one level of its hierarchy for each column, the best choice of all.

Problem
    Choose a level of its hierarchy for every column, the same for all rows (full-domain recoding), and
    withhold the records of classes below k, or that break a rule, as far as allowed, so that the total loss
    is least.

Guarantee
    Optimal among all releases with one level for each column, proved by a search over all choices; where
    that ends before its time, the bound says how far the best can be. Where there are rules, among those
    that withhold whole classes: a part of a class may obey though the whole does not.

Method
    A greedy descent from the top finds a good choice. Then levels are fixed for one column after the
    other, with the others at their top: a class below k there stays below k, so its records are lost to
    every choice from there, and what withholds or costs too much is left out with all choices from there.

Cost
    At worst one look at the rows for every choice of levels, in practice at few of them.
    Memory O(n d), n distinct rows and d columns.

Reference
    K. LeFevre, D. DeWitt, R. Ramakrishnan. Incognito: efficient full-domain k-anonymity. SIGMOD 2005.
    K. El Emam et al. A globally optimal k-anonymity method for the de-identification of health data. JAMIA
    2009. F. Kohlmayer et al. Flash: efficient, stable and optimal k-anonymity. PASSAT 2012.
    Differs from them: they go through the lattice by its order alone, this is branch and bound by loss.

Example:
    >>> FACTS.objective
    'levels'

"""

from __future__ import annotations

import numpy as np

from shoal.errors import TooFewRows
from shoal.kernels.levels import cheapest_levels, kept_at
from shoal.kernels.rules.violation import make_tallies
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import WITHHELD, Grouping, Proof
from shoal.model.levels import lattice_of, looks_for
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

FACTS = Facts(
    title="Levels",
    objective="levels",
    guarantee="optimal among releases with one level for each column, by a proof over all choices",
    time="at worst O(n) for each choice of levels",
    paper="LeFevre et al., SIGMOD 2005; Kohlmayer et al., PASSAT 2012",
    takes=frozenset({"number", "date", "tree", "label"}),
    obeys="itself",
    styles=frozenset({"generalize", "suppress"}),
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded` on the best levels; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    lattice = lattice_of(coded, task.k)
    found = cheapest_levels(
        lattice,
        task.k,
        task.withhold,
        looks_for(task.effort),
        lambda share: task.progress("choosing levels", share),
    )
    its, kept = kept_at(lattice, make_tallies(lattice.rules), found.level, task.k)
    label = np.full(coded.distinct, WITHHELD, dtype=np.int64)
    label[coded.count > 0] = np.where(kept, its, WITHHELD)
    return Grouping.of_labels(
        label,
        coded.count,
        proof=Proof("all-levels", found.bound),
        steps=found.looks,
        level=found.level,
    )
