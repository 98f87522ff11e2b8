"""Any table, ours or not: classes, diversity, closeness and risk without a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.check.diversity import numbers_of
from shoal.check.judge import verdict_of
from shoal.check.kanonymity import classes_of, records_of, too_small
from shoal.check.persons import standing_of
from shoal.check.rules import broken, rulings_of, unit_ruling
from shoal.errors import DataError, PlanError
from shoal.model.ends import check_measure
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.names import check_named
from shoal.model.plain import as_text
from shoal.model.rule import Rule
from shoal.model.task import whole_of
from shoal.model.verdict import Verdict
from shoal.model.whom import Behind, Whom

__all__ = ["judge_any"]


def judge_any(
    table: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    k: int | None = None,
    count: str | None = None,
    rules: Sequence[str] = (),
    unit: str | None = None,
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
) -> Verdict:
    """Judge a table by the columns named; without k, rules and unit only an empty table is refused.

    `unit` is a column of this table that says who a row belongs to: k and the risks then count persons.
    Empty text and null are one missing value. The loss is None: without a plan, cells do not say what they
    cover.
    """
    if not quasi:
        raise PlanError("The check names no quasi-identifier. Name at least one column.", field="quasi")
    if k is not None and (whole_of(k) or 0) < 1:
        raise PlanError(f"k = {k!r} is not a whole number of at least 1.", field="k")
    asked = tuple(Rule.parse(text) for text in rules)
    sensitive = tuple(dict.fromkeys([*sensitive, *(rule.column for rule in asked)]))
    whom = Whom.read(unit=unit, count=count)
    named = [*quasi, *sensitive, *whom.columns]
    doubled = sorted({name for name in named if named.count(name) > 1})
    if doubled:
        raise PlanError(
            f"A column is named twice: {', '.join(doubled)}. Give each one role.", column=doubled[0]
        )
    check_named(named, table.columns)
    whom.check_against(table.columns)
    table = table.select(named).with_columns(pl.when(pl.col(pl.String) != "").then(pl.col(pl.String)))
    classes = classes_of(table, quasi, records_of(table, whom.count))
    reasons = too_small(classes, k) if k is not None else ()
    if classes.total == 0:
        reasons += ("The table holds no records.",)
    rulings = rulings_of(table, classes, asked, _trees(table, asked, hierarchies or {}))
    standing = standing_of(classes) if whom.of_persons else None
    if whom.unit is not None:
        standing = standing_of(classes, Behind(np.arange(table.height), table[whom.unit]))
        rulings += (unit_ruling(whom.unit, standing, k),) if k is not None else ()
    return verdict_of(
        table,
        classes,
        k=k,
        sensitive=sensitive,
        withheld=0,
        losses=(),
        entropy=None,
        reasons=reasons + broken(rulings, classes),
        rules=rulings,
        standing=standing,
    )


def _trees(
    table: pl.DataFrame, rules: Sequence[Rule], given: Mapping[str, Hierarchy | Builder]
) -> dict[str, Hierarchy]:
    """The tree of each rule by hierarchy; what a rule cannot measure is refused as in a plan."""
    trees: dict[str, Hierarchy] = {}
    for rule in rules:
        series = table[rule.column].drop_nulls()
        if rule.distance == "ordered" and not series.dtype.is_temporal() and numbers_of(series) is None:
            raise DataError(
                f"The rule {rule.text!r} needs an order, but column {rule.column!r} holds neither numbers "
                "nor dates. Leave out the word ordered.",
                field="rules",
                column=rule.column,
            )
        if rule.distance != "hierarchy":
            continue
        if rule.column not in given:
            raise PlanError(
                f"The rule {rule.text!r} needs a hierarchy of column {rule.column!r}. Give it one.",
                field="hierarchies",
                column=rule.column,
            )
        tree = given[rule.column]
        check_measure(tree, rule.column)
        values = as_text(series).unique()
        if isinstance(tree, Builder):
            tree = tree.build(values.to_list(), column=rule.column)
        unknown = len(set(values.to_list()) - set(tree.leaves))
        if unknown:
            raise DataError(
                f"Column {rule.column!r} has {unknown} different values that are not in its hierarchy. "
                "Complete the hierarchy.",
                field="hierarchies",
                column=rule.column,
            )
        trees[rule.column] = tree
    return trees
