"""A table with columns of every kind, grouped."""

from __future__ import annotations

import pytest

from mixed_tables import mixed_table, mixed_words
from shoal.encode import encode
from shoal.group.mondrian import group
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task


@pytest.fixture(scope="module", params=["leaves", "sets"])
def grouped(request: pytest.FixtureRequest) -> tuple[Plan, Coded, Grouping]:
    plan = Plan(**mixed_words(loss=request.param))
    coded = encode(mixed_table(1500, missing=0.2), plan)
    return plan, coded, group(coded, Task(k=plan.k))
