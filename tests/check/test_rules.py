"""Rules as the judge measures them: worked examples, plain Python, and tables broken on purpose."""

from __future__ import annotations

import json
import random

import numpy as np
import polars as pl
import pytest

import naive_rules
import shoal
from shoal.check.judge import judge as check
from shoal.check.kanonymity import classes_of, records_of
from shoal.check.persons import standing_of
from shoal.check.rules import rule_on, unit_ruling
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.rule import Rule
from shoal.model.whom import Behind

PATHS = [
    ("gastric ulcer", "stomach", "digestive", "*"),
    ("gastritis", "stomach", "digestive", "*"),
    ("colitis", "colon", "digestive", "*"),
    ("flu", "infection", "respiratory", "*"),
    ("bronchitis", "chronic", "respiratory", "*"),
]


def measured(values, faces, rule, tree=None):
    table = pl.DataFrame({"face": faces, "x": values})
    return rule_on(table["x"], classes_of(table, ["face"], records_of(table, None)), Rule.parse(rule), tree)


def test_the_salaries_of_the_t_closeness_paper():
    # Li, Li, Venkatasubramanian 2007, section 4: {3k, 4k, 5k} is 0.375 and {6k, 8k, 11k} 0.167 away
    salaries = [3, 4, 5, 6, 8, 11, 7, 9, 10]
    first = measured(salaries, list("aaabbbccc"), "x: ordered 0.2-close")
    assert first.measured == pytest.approx(0.375)
    assert (first.holds, first.failing) == (False, 2)
    both = measured(salaries, list("aaabbbaaa"), "x: ordered 0.2-close")
    assert both.measured == pytest.approx(0.1667, abs=1e-4)
    assert both.holds


@pytest.mark.parametrize("seed", range(10))
def test_measures_equal_those_of_plain_python(seed):
    luck = random.Random(seed)
    rows = luck.randint(6, 30)
    values = [luck.choice([None, *(path[0] for path in PATHS)]) for _ in range(rows)]
    faces = [luck.choice("abc") for _ in range(rows)]
    costs = [luck.choice([1, 2, 3, 50, None]) for _ in range(rows)]

    def parts(all_values):
        return [[v for v, f in zip(all_values, faces, strict=True) if f == face] for face in set(faces)]

    tree = Hierarchy.of_paths(PATHS)
    up = naive_rules.up_the_tree(PATHS)
    for rule, expected in (
        ("x: 3-diverse", min(map(naive_rules.distinct, parts(values)))),
        ("x: entropy 3-diverse", min(map(naive_rules.effective, parts(values)))),
        ("x: (2, 3)-diverse", max(naive_rules.recursive(part, 3) for part in parts(values))),
        ("x: at most 40%", max(map(naive_rules.largest_share, parts(values)))),
        ("x: 0.3-close", max(naive_rules.earth(p, values, naive_rules.unequal) for p in parts(values))),
        ("x: 0.3-close by hierarchy", max(naive_rules.earth(p, values, up) for p in parts(values))),
    ):
        found = measured(values, faces, rule, tree)
        assert found.measured == pytest.approx(expected, abs=1e-7), rule
        assert found.holds == all(naive_rules.holds(rule, part, values, PATHS) for part in parts(values))
    along = naive_rules.along(costs)
    expected = max(naive_rules.earth(part, costs, along) for part in parts(costs))
    assert measured(costs, faces, "x: ordered 0.3-close").measured == pytest.approx(expected, abs=1e-7)


def test_recursive_diversity_is_strict():
    assert not measured(list("aabb"), ["f"] * 4, "x: (1, 2)-diverse").holds
    assert measured(list("aabb"), ["f"] * 4, "x: (1.01, 2)-diverse").holds


def test_empty_text_and_missing_are_one_value():
    assert measured(["", None, "a"], ["f"] * 3, "x: 3-diverse").measured == 2


def behind(units) -> Behind:
    """One person behind each line."""
    return Behind(np.arange(len(units)), pl.Series("who", list(units)))


def test_persons_are_counted_by_class():
    table = pl.DataFrame({"face": list("aabbb")})
    classes = classes_of(table, ["face"], records_of(table, None))
    found = unit_ruling("who", standing_of(classes, behind(["p", "p", "p", "q", None])), 2)
    assert (found.measured, found.failing, found.holds) == (1, 1, False)


def judged(table, **more):
    frame = pl.DataFrame({"age": ["1", "1", "2", "2"], "x": ["a", "b", "a", "b"], "who": list("pqrs")})
    words = {"k": 2, "quasi": "age", "kinds": {"age": "label"}, "sensitive": "x", "rules": "x: 2-diverse"}
    plan = Plan(**words, unit="who")
    from shoal.encode import encode

    return check(table, plan, encode(frame, plan).columns, withheld=0, **more)


def test_a_broken_table_is_refused_with_counts():
    good = pl.DataFrame({"age": ["1", "1", "2", "2"], "x": ["a", "b", "a", "b"]})
    assert judged(good, persons=behind("pqrs")).has_passed
    bad = good.with_columns(pl.Series("x", ["a", "a", "b", "b"]))
    reasons = judged(bad, persons=behind("pqrs")).reasons
    assert reasons == ("The rule 'x: 2-diverse' fails in 2 of 2 classes; the worst measures 1.",)
    (reason,) = judged(good, persons=behind("ppqr")).reasons
    assert "at least 2 in every class' fails in 1 of 2 classes" in reason
    (reason,) = judged(good).reasons
    assert "persons cannot be counted" in reason
    told = good.with_columns(pl.Series("who", list("pqrs")))
    assert any("still holds the identifier 'who'" in r for r in judged(told).reasons)


def test_verify_measures_rules_again(tmp_path):
    frame = pl.DataFrame(
        {
            "age": [1, 1, 5, 5, 9, 9],
            "x": ["flu", "cold", "flu", "cold", "flu", "cold"],
            "who": list("pqrstu"),
        }
    )
    tree = Hierarchy.of_paths([("flu", "*"), ("cold", "*")])
    release = shoal.anonymize(
        frame,
        k=2,
        quasi="age",
        sensitive="x",
        unit="who",
        rules=["x: 2-diverse", "x: 0.3-close by hierarchy"],
        hierarchies={"x": tree},
    )
    files = release.write(tmp_path / "out.csv")
    assert "who" not in pl.read_csv(files.table).columns
    found = {
        f.claim: f.holds for f in shoal.verify(files.table, files.certificate, hierarchies={"x": tree})
    }
    assert found["rule x: 2-diverse"] is True
    assert found["rule x: 0.3-close by hierarchy"] is True
    assert found["k of who"] is None
    found = {f.claim: f.holds for f in shoal.verify(files.table, files.certificate)}
    assert found["rule x: 0.3-close by hierarchy"] is None
    swapped = pl.read_csv(files.table).with_columns(pl.Series("x", ["flu"] * 6))
    found = {
        f.claim: f.holds
        for f in shoal.verify(swapped, shoal.Certificate.of_json(files.certificate.read_text()))
    }
    assert found["rule x: 2-diverse"] is False
    everything = shoal.verify(
        files.table, files.certificate, original=frame, receipt=files.receipt, hierarchies={"x": tree}
    )
    assert all(finding.holds is not False for finding in everything), everything
    assert {f.claim: f.holds for f in everything}["k of who"] is None


def test_no_file_says_which_row_stands_behind_a_line(tmp_path):
    frame = pl.DataFrame({"age": [1, 1, 2, 8, 9, 9], "x": list("abcabc"), "who": list("pqrpqr")})
    words = {"k": 3, "quasi": "age", "kinds": {"age": "number"}, "sensitive": "x", "unit": "who"}
    files = shoal.anonymize(frame, **words).write(tmp_path / "out.csv")
    assert set(json.loads(files.receipt.read_text())) == {
        *("salt", "original", "release", "version", "certificate", "figures")
    }
    found = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert {f.claim: f.holds for f in found}["k of who"] is None
    assert all(finding.holds is not False for finding in found)


def test_check_judges_rules_and_persons_of_any_table():
    table = pl.DataFrame({"face": list("aaabbb"), "x": list("uvwuuu"), "who": list("pqrppq")})
    words = {"quasi": "face", "k": 3}
    assert shoal.check_table(table, **words).has_passed
    verdict = shoal.check_table(table, **words, rules=["x: 2-diverse", "x: 0.6-close"])
    assert [(r.rule, r.measured, r.holds) for r in verdict.rules] == [
        ("x: 2-diverse", 1.0, False),
        ("x: 0.6-close", pytest.approx(1 / 3), True),
    ]
    assert verdict.reasons == ("The rule 'x: 2-diverse' fails in 1 of 2 classes; the worst measures 1.",)
    assert verdict.sensitive[0].name == "x"
    persons = shoal.check_table(table, **words, unit="who")
    assert (persons.rules[0].measured, persons.has_passed) == (2.0, False)
    assert shoal.check_table(table, quasi="face", k=2, unit="who").has_passed


def test_check_refuses_what_it_cannot_measure():
    table = pl.DataFrame({"face": list("aabb"), "x": list("uvuv"), "n": [1, 2, 3, 4]})
    tree = Hierarchy.of_paths([("u", "m", "*"), ("w", "m", "*")])
    for error, words in (
        (shoal.DataError, {"rules": "x: ordered 0.2-close"}),
        (shoal.PlanError, {"rules": "x: 0.2-close by hierarchy"}),
        (shoal.DataError, {"rules": "x: 0.2-close by hierarchy", "hierarchies": {"x": tree}}),
        (shoal.DataError, {"rules": "y: 2-diverse"}),
        (shoal.PlanError, {"rules": "x: many"}),
        (shoal.PlanError, {"unit": "n", "count": "n"}),
        (shoal.DataError, {"unit": "who", "k": 2}),
    ):
        with pytest.raises(error):
            shoal.check_table(table, quasi="face", **words)
    assert shoal.check_table(table, quasi="face", rules="n: ordered 0.5-close").has_passed


def test_check_with_the_original_judges_rules_too():
    original = pl.DataFrame({"age": [1, 2, 8, 9], "x": list("uvuu"), "who": list("pqrr")})
    table = pl.DataFrame({"age": ["[1, 2]", "[1, 2]", "[8, 9]", "[8, 9]"], "x": list("uvuu")})
    told = table.with_columns(original["who"])
    words = {"quasi": "age", "k": 2, "kinds": {"age": "number"}, "original": original}
    verdict = shoal.check_table(table, **words, rules="x: 2-diverse")
    assert verdict.loss_percent == pytest.approx(100 / 8)
    assert (verdict.rules[0].measured, verdict.has_passed) == (1.0, False)
    verdict = shoal.check_table(told, **words, sensitive="x", unit="who")
    assert verdict.loss_percent == pytest.approx(100 / 8)
    assert len(verdict.reasons) == 1
    assert "'who: at least 2 in every class' fails in 1 of 2" in verdict.reasons[0]


def test_closeness_by_a_tree_of_fractions_is_judged_as_that_of_texts() -> None:
    numbers = [0.5, 1.5, 2.5, 3.5] * 4
    measured = []
    for cells in (numbers, [str(number) for number in numbers]):
        frame = pl.DataFrame({"q": ["a"] * 8 + ["b"] * 8, "x": sorted(cells)})
        verdict = shoal.check_table(
            frame, quasi="q", rules=["x: 0.2-close by hierarchy"], hierarchies={"x": shoal.bins(1, 2)}
        )
        measured.append([ruling.measured for ruling in verdict.rules])
    assert measured[0] == measured[1]
    assert measured[0][0] > 0.2
