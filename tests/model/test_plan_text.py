"""A plan as text reads back as the same plan."""

from __future__ import annotations

import dataclasses

import pytest

import shoal

PLANS = {
    "the least": {"k": 5, "quasi": ["age"]},
    "odd names": {
        "k": 2,
        "quasi": ["no", "007", "a: b", "~"],
        "sensitive": ["#x"],
        "missing": ["?", "~", ""],
    },
    "everything": {
        "k": 7,
        "quasi": ["age", "zip", "sex"],
        "sensitive": ["ill"],
        "keep": ["ward"],
        "identifier": ["name"],
        "kinds": {"age": "number"},
        "hierarchies": {
            "zip": shoal.prefixes(5, 3),
            "sex": shoal.Hierarchy.of_paths([["f", "known"], ["m", "known"], ["x"], ["no", "yes", "top"]]),
        },
        "weights": {"zip": 2.5},
        "unit": "name",
        "rules": ["ill: 3-diverse", "ill: at most 50%"],
        "method": "mondrian",
        "options": {"search": False},
        "withhold": 0.01,
        "effort": "20s",
        "improve": True,
        "stop_at": 1.1,
        "seed": 3,
    },
}


def plain(plan):
    words = {item.name: getattr(plan, item.name) for item in dataclasses.fields(plan)}
    words["hierarchies"] = {
        name: getattr(tree, "fingerprint", None) or tree.text for name, tree in plan.hierarchies.items()
    }
    return words


@pytest.mark.parametrize("words", PLANS.values(), ids=PLANS)
def test_a_plan_reads_back_as_it_was(words, tmp_path):
    plan = shoal.Plan(**words)
    file = tmp_path / "plan.yaml"
    file.write_text(plan.to_yaml(), encoding="utf-8")
    assert plain(shoal.read_plan(file)) == plain(plan)


def test_what_is_not_said_is_not_written():
    assert shoal.Plan(k=5, quasi=["age"]).to_yaml() == "k: 5\nquasi:\n- age\n"


def test_graphs_are_not_written():
    graph = shoal.read_graph([("a", "b")])
    plan = shoal.Plan(k=2, quasi=["zip"], graphs={"zip": graph})
    with pytest.raises(shoal.PlanError, match="graphs") as error:
        plan.to_yaml()
    assert error.value.field == "graphs"
