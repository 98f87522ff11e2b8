"""Mondrian: cut the table in two, and again, while both sides keep k records.

Problem
    Split the records into groups of at least k so that the total loss is small.

Guarantee
    None proved; at least k rows in each group.

Method
    Start with all rows in one box. A number or date column can cut a box at its weighted median, or
    part missing cells from present ones; a tree column cuts it into the children of the common
    ancestor (children below k records stand together); a label column sets its commonest members
    apart from the others. Of all cuts that leave k records in every part, take the one that lowers the
    loss most, measured on the tight boxes of the parts. Stop where no cut fits. Nothing is withheld.
    With the option `widest`, boxes of more records than that are cut where they are widest, without a look
    at the other columns: less work on large tables.

Cost
    Time O(n d^2 log n) for cuts near the middle, memory O(n d), n distinct rows and d columns.

Reference
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan. Mondrian multidimensional k-anonymity. ICDE 2006.
    Differs from the paper: the cut with the least loss instead of the widest column; trees are cut at
    their children; works on distinct rows with counts and never splits copies of one row.

Example:
    >>> FACTS.objective
    'loss'

"""

from __future__ import annotations

from shoal.errors import TooFewRows
from shoal.kernels.mondrian import cut_apart
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option
from shoal.model.grouping import Grouping
from shoal.model.task import Task, whole_of

__all__ = ["FACTS", "group"]


def _records(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError("give a whole number of at least 0")
    return number


FACTS = Facts(
    title="Mondrian",
    objective="loss",
    guarantee="none proved; at least k rows in each group",
    time="O(n d^2 log n)",
    paper="LeFevre et al., ICDE 2006",
    in_parts=True,
    options={
        "widest": Option(
            _records,
            0,
            "Boxes of more records than this are cut at their widest column; 0: all are always tried.",
        )
    },
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    widest = whole_of(task.options.get("widest")) or 0
    label = cut_apart(coded.codes, coded.count, coded.metric, task.k, widest)
    return Grouping.of_labels(label, coded.count)
