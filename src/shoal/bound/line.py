"""The bound for total loss of one number or date column alone: nearly always the best possible itself.

Of the present records, those that are withheld or stand with missing ones lose the whole column; the others
make stretches that lie apart (`kernels/line.py`; the proof is in docs/proofs/line-bound.md). Missing cells
lose nothing by themselves if they are k or more; fewer stand with present ones or are withheld.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.line import cheapest_stretches, is_affordable, sort_aside
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["NAME", "prove_on_line"]

NAME = "line"


def prove_on_line(coded: Coded, task: Task) -> Proof | None:
    """The bound; None where the table is not one ordered column, or too long for so large a k."""
    most = float(coded.metric.most[0])
    if coded.codes.shape[1] != 1 or coded.metric.form[0] != LINE or most <= 0.0:
        return None
    missing = int(coded.metric.missing[0])
    code = coded.codes[:, 0]
    present = code != missing
    aside = sort_aside(int(coded.count[~present].sum()), task.k, task.withhold)
    if not is_affordable(int(coded.count[present].sum()), task.k, aside.lost.size):
        return None
    position = np.repeat(coded.metric.data[code[present]], coded.count[present])
    least, *_ = cheapest_stretches(position, task.k, most, aside.lost.size, aside.saturate, 6 * task.k - 1)
    return Proof(NAME, float((least + most * aside.lost).min()))
