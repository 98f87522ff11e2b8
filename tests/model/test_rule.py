from __future__ import annotations

import pytest

from shoal.errors import PlanError
from shoal.model.hierarchy import flat
from shoal.model.plan import Plan
from shoal.model.rule import Rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("diagnosis: 3-diverse", Rule("diagnosis", "distinct", 3)),
        ("diagnosis:distinct 3-diverse", Rule("diagnosis", "distinct", 3)),
        ("diagnosis: entropy 2.5-diverse", Rule("diagnosis", "entropy", 2.5)),
        ("diagnosis: (2, 3)-diverse", Rule("diagnosis", "recursive", 2, 3)),
        ("diagnosis: recursive (0.5,3)-diverse", Rule("diagnosis", "recursive", 0.5, 3)),
        ("cost: 0.2-close", Rule("cost", "close", 0.2, distance="equal")),
        ("cost: equal .2-close", Rule("cost", "close", 0.2, distance="equal")),
        ("cost:  ordered  0-close", Rule("cost", "close", 0, distance="ordered")),
        ("cost: 0.2-close by hierarchy", Rule("cost", "close", 0.2, distance="hierarchy")),
        ("a: b: at most 50 %", Rule("a: b", "share", 0.5)),
        ("diagnosis: at most 12.5%", Rule("diagnosis", "share", 0.125)),
    ],
)
def test_a_rule_is_read_and_its_plain_writing_reads_the_same(text, rule):
    assert Rule.parse(text) == rule
    assert Rule.parse(rule.text) == rule


@pytest.mark.parametrize(
    "text",
    [
        "3-diverse",
        ": 3-diverse",
        "x: 1-diverse",
        "x: 3",
        "x: entropy 1-diverse",
        "x: (0, 3)-diverse",
        "x: (2, 1)-diverse",
        "x: 1-close",
        "x: -0.1-close",
        "x: ordered 0.2-close by hierarchy",
        "x: at most 0%",
        "x: at most 100%",
        "x: 3-diverse or so",
    ],
)
def test_a_rule_that_says_nothing_is_refused(text):
    with pytest.raises(PlanError, match="rule"):
        Rule.parse(text)


def test_a_rule_is_on_a_sensitive_column():
    with pytest.raises(PlanError, match="not sensitive"):
        Plan(k=2, quasi="age", rules="illness: 2-diverse")
    with pytest.raises(PlanError, match="needs a hierarchy"):
        Plan(k=2, quasi="age", sensitive="illness", rules="illness: 0.2-close by hierarchy")


def test_a_sensitive_column_has_a_hierarchy_only_for_its_rule():
    words = {"k": 2, "quasi": "age", "sensitive": "illness", "hierarchies": {"illness": flat()}}
    assert Plan(**words, rules="illness: 0.2-close by hierarchy").hierarchies
    with pytest.raises(PlanError, match="not a quasi-identifier"):
        Plan(**words, rules="illness: 0.2-close")


def test_the_unit_has_no_role_but_identifier():
    assert Plan(k=2, quasi="age", identifier="who", unit="who").columns == ("age", "who")
    for role in ("sensitive", "keep", "count"):
        with pytest.raises(PlanError, match="Give it one role"):
            Plan(k=2, quasi="age", unit="who", **{role: "who"})
    with pytest.raises(PlanError, match="unit and quasi"):
        Plan(k=2, quasi="age", unit="age")
