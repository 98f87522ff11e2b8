from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.check.in_order import Stretch, follow, judge_in_order
from shoal.check.judge import judge
from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.verdict import Verdict
from shoal.model.whom import Behind

SAME = (
    *("k", "records", "withheld", "classes", "smallest_class", "largest_class", "mean_class"),
    *("discernibility", "reasons", "rules"),
)


def in_parts(table: pl.DataFrame, rows: int) -> Callable[[Sequence[str]], Iterator[pl.DataFrame]]:
    def lines(names: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield table[:0].select(names)  # an empty part says nothing
        yield from table.select(names).iter_slices(rows)

    return lines


def case(**more: Any) -> tuple[pl.DataFrame, Plan, Coded]:
    frame = mixed_table(600, missing=0.1)
    plan = Plan(**mixed_words(**more))
    release = shoal.anonymize(frame, replace(plan, method="mondrian"))
    return release.table, plan, encode(frame, plan)


def judged(table: pl.DataFrame, plan: Plan, coded: Coded, rows: int = 37) -> Verdict:
    return judge_in_order(in_parts(table, rows), table.columns, plan, coded.columns, withheld=0)


def stretch(*classes: tuple[str | None, str | None]) -> Stretch:
    return Stretch.of(pl.DataFrame(classes, schema=["a", "b"], orient="row"))


def test_stretches_that_share_no_class_follow_each_other() -> None:
    one, two = stretch(("a", "x"), ("a", None)), stretch(("b", "x"))
    three = stretch(("b", "y"), (None, "a"))
    assert all(some.rises for some in (one, two, three))
    assert follow([three, one, two])
    assert follow([two])
    assert follow([])
    assert not follow([one, two, three, two])  # a class in two places
    assert not follow([stretch(("a", "x"), ("b", "x")), two])
    assert not follow([stretch(("a", "x"), ("c", "x")), two])  # inside the other
    assert not follow([one, stretch(("b", "x"), ("b", "a"))])
    assert Stretch.of(pl.DataFrame({"a": ["b"], "b": ["x"]}), one).rises
    assert not Stretch.of(
        pl.DataFrame({"a": ["a"], "b": [None]}, schema_overrides={"b": pl.String}), one
    ).rises
    assert not Stretch.of(pl.DataFrame({"a": ["a"], "b": ["z"]}), one).rises


@pytest.mark.parametrize("rows", [1, 7, 600])
@pytest.mark.parametrize("rules", [(), ("ill: 2-diverse", "ill: at most 80%")])
def test_a_large_table_is_judged_like_one_in_memory(rows: int, rules: tuple[str, ...]) -> None:
    table, plan, coded = case(rules=rules, sensitive=("ill", "cost"), keep=())
    found = judged(table, plan, coded, rows)
    known = judge(table, plan, coded.columns, withheld=0)
    assert found.has_passed
    for name in SAME:
        assert getattr(found, name) == getattr(known, name), name
    assert found.loss == pytest.approx(known.loss)
    assert found.entropy == pytest.approx(known.entropy)
    assert [c.loss for c in found.columns] == pytest.approx([c.loss for c in known.columns])
    assert found.risk.prosecutor_mean == pytest.approx(known.risk.prosecutor_mean)
    for one, other in zip(found.sensitive, known.sensitive, strict=True):
        assert one.name == other.name
        assert one.distinct == other.distinct
        for figure in ("entropy", "recursive", "largest_share", "closeness_equal"):
            assert getattr(one, figure) == pytest.approx(getattr(other, figure))
    assert found.sensitive[1].closeness_ordered == pytest.approx(known.sensitive[1].closeness_ordered)


def test_persons_are_counted_in_every_class() -> None:
    table, plan, coded = case()
    plan = replace(plan, unit="who", k=2)
    random = np.random.default_rng(3)
    who = random.integers(0, 90, table.height)

    def persons(first: int, many: int) -> np.ndarray:
        return who[first : first + many]

    found = judge_in_order(
        in_parts(table, 11), table.columns, plan, coded.columns, withheld=0, persons=persons
    )
    behind = Behind(np.arange(table.height), pl.Series("who", who))
    known = judge(table, plan, coded.columns, withheld=0, persons=behind)
    assert found.rules == known.rules
    assert found.persons == known.persons
    assert found.reasons == known.reasons
    assert found.risk == known.risk
    unsaid = judged(table, plan, coded)
    assert not unsaid.has_passed


def break_a_class(table: pl.DataFrame) -> pl.DataFrame:
    return table[1:]


def swap_classes(table: pl.DataFrame) -> pl.DataFrame:
    quasi = table.columns[:5]
    head = table.join(table[:1].select(quasi), on=quasi, nulls_equal=True)
    assert 0 < head.height < table.height
    return pl.concat([table[head.height :], head])


def part_a_class(table: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([table[2:], table[:2]])


def widen_a_range(table: pl.DataFrame) -> pl.DataFrame:
    wide = pl.when(pl.int_range(pl.len()) < 10).then(pl.lit("[-1e9, 1e9]")).otherwise("income")
    return table.with_columns(wide.alias("income")).sort(pl.all(), nulls_last=True)


def invent_a_node(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.lit("nowhere").alias("job")).sort(pl.all(), nulls_last=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (break_a_class, "fewer than k = 4"),
        (swap_classes, "do not stand in the order"),
        (part_a_class, "do not stand in the order"),
        (widen_a_range, "'income': the cells of"),
        (invent_a_node, "'job': the cells of"),
        (lambda table: table.drop("town"), "lacks the column 'town'"),
        (
            lambda table: table.with_columns(more=1).select("more", *table.columns),
            "nobody asked for: 'more'",
        ),
        (lambda table: table.clear(), "no records"),
    ],
)
def test_broken_tables_do_not_pass(change: Any, says: str) -> None:
    table, plan, coded = case()
    sizes = table.group_by(table.columns[:5]).len()["len"]
    assert sizes.min() == 4
    if change is break_a_class:  # the first line's class must be one of the smallest
        plan = replace(plan, k=int(table.join(table[:1], on=table.columns[:5], nulls_equal=True).height))
        says = "fewer than k"
    verdict = judged(change(table), plan, coded)
    assert not verdict.has_passed
    assert any(says in reason for reason in verdict.reasons)


EVERY_RULE = (
    *("ill: 2-diverse", "ill: entropy 1.5-diverse", "ill: (3, 2)-diverse", "ill: at most 60%"),
    *("ill: 0.3-close", "ill: 0.2-close by hierarchy", "cost: ordered 0.2-close", "cost: 0.9-close"),
)
ILLS = Hierarchy.of_paths([[f"ill {at}", f"kind {at // 3}", "*"] for at in range(9)])


@pytest.mark.parametrize("rows", [3, 250])
def test_every_rule_is_judged_as_in_memory(rows: int) -> None:
    trees = {**mixed_words()["hierarchies"], "ill": ILLS}
    ruled = {"sensitive": ("ill", "cost"), "keep": (), "hierarchies": trees, "rules": EVERY_RULE}
    table, plan, coded = case(sensitive=("ill", "cost"), keep=())
    plan = replace(plan, **ruled)
    known = judge(table, plan, coded.columns, withheld=0, trees={"ill": ILLS})
    found = judge_in_order(
        in_parts(table, rows), table.columns, plan, coded.columns, withheld=0, trees={"ill": ILLS}
    )
    for one, other in zip(found.rules, known.rules, strict=True):
        assert (one.rule, one.holds, one.failing) == (other.rule, other.holds, other.failing)
        assert one.measured == pytest.approx(other.measured)
    assert {ruling.holds for ruling in found.rules} == {True, False}
    assert not found.has_passed


def test_records_are_those_that_are_counted() -> None:
    frame = mixed_table(300).with_columns(n=pl.Series(np.random.default_rng(1).integers(0, 4, 300)))
    plan = Plan(**mixed_words(count="persons(n)", rules=("ill: 0.6-close",)))
    table = shoal.anonymize(frame, replace(plan, method="mondrian")).table
    coded = encode(frame, plan)
    known = judge(table, plan, coded.columns, withheld=0)
    found = judged(table, plan, coded, 41)
    for name in (*SAME, "has_passed", "sizes"):
        assert getattr(found, name) == getattr(known, name), name
    assert found.entropy == pytest.approx(known.entropy)
    nothing = table.with_columns(n=pl.lit(0, dtype=pl.Int64))
    assert not judged(nothing, plan, coded).has_passed


def test_rules_that_fail_do_not_pass() -> None:
    table, plan, coded = case()
    verdict = judged(table, replace(plan, rules=("ill: 4-diverse", "ill: 0.2-close")), coded)
    assert not verdict.has_passed
    assert [ruling.holds for ruling in verdict.rules] == [False, False]
    assert any("'ill: 0.2-close' fails" in reason for reason in verdict.reasons)
    known = judge(table, replace(plan, rules=("ill: 4-diverse",)), coded.columns, withheld=0)
    assert verdict.rules[:1] == known.rules
