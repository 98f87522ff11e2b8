"""Risk, attack and check count persons where a unit says who a record belongs to."""

from __future__ import annotations

import random
from collections import defaultdict

import polars as pl
import pytest

import shoal

# two classes of five records: one of five persons, one of a single person
FRAME = pl.DataFrame({"age": [20] * 5 + [30] * 5, "patient_id": ["p", "q", "r", "s", "t"] + ["u"] * 5})


def test_risk_counts_persons_by_a_unit():
    found = shoal.risk(FRAME, quasi=["age"], unit="patient_id")
    assert (found.records, found.persons, found.classes, found.smallest_class) == (10, 6, 2, 1)
    assert (found.uniques, found.at_risk, found.prosecutor_highest) == (1, 1, 1.0)
    assert found.prosecutor_mean == pytest.approx((5 * 1 / 5 + 1) / 6)
    assert found.is_high is True
    assert found.in_words().startswith("HIGH RISK. 1 of 6 persons (16.7 %) are alone in their class")


def test_risk_says_nothing_of_persons_where_it_counted_rows():
    found = shoal.risk(FRAME, quasi=["age"])
    assert (found.persons, found.uniques, found.is_high) == (None, 0, None)
    assert [one.column for one in found.repeats] == ["patient_id"]
    assert "LOW RISK" not in found.in_words()
    assert found.in_words().startswith(
        "NOTHING IS SAID OF PERSONS. Every record stands in a class of at least 5"
    )
    assert "unit = patient_id" in found.in_words()


def test_whoever_means_rows_is_told_of_records():
    found = shoal.risk(FRAME, quasi=["age"], unit="rows")
    assert found.is_high is False
    assert found.in_words().startswith("LOW RISK if every record is a person of its own.")
    assert "nobody" not in found.in_words()


def test_risk_is_low_of_persons_only_where_persons_were_counted():
    frame = FRAME.with_columns(pl.Series("patient_id", list("pqrstuvwxy")))
    found = shoal.risk(frame, quasi=["age"], unit="patient_id")
    assert found.in_words() == (
        "LOW RISK. Every person stands in classes of at least 5 persons: nobody is found with a chance "
        "above 20%."
    )
    counted = shoal.risk(pl.DataFrame({"age": [1, 2], "n": [5, 9]}), quasi=["age"], count="persons(n)")
    assert (counted.persons, counted.is_high) == (14, False)
    assert counted.in_words().startswith("LOW RISK. Every person")


def test_who_stands_in_several_classes_is_found_in_the_smallest():
    frame = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3], "who": list("abcabc")})
    found = shoal.risk(frame, quasi=["age"], unit="who", threshold=0.4)
    # c is alone at 3; a and b stand together at 2
    assert (found.persons, found.uniques, found.at_risk) == (3, 1, 3)
    assert found.prosecutor_mean == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


@pytest.mark.parametrize("seed", range(5))
def test_persons_in_classes_by_plain_python(seed):
    rng = random.Random(seed)
    rows = [
        (rng.randint(0, 4), rng.choice("xy"), rng.choice(["", "a", "b", "c", "d", "e"])) for _ in range(40)
    ]
    frame = pl.DataFrame(rows, schema=["age", "sex", "who"], orient="row")
    held = defaultdict(set)
    for age, sex, who in rows:
        held[age, sex].add(who)
    smallest = {who: min(len(c) for c in held.values() if who in c) for *_, who in rows}
    found = shoal.risk(frame, quasi=["age", "sex"], unit="who", threshold=0.3)
    assert found.smallest_class == min(map(len, held.values()))
    assert found.persons == len(smallest)
    assert found.uniques == sum(size == 1 for size in smallest.values())
    assert found.at_risk == sum(1 / size > 0.3 for size in smallest.values())
    verdict = shoal.check_table(frame, quasi=["age", "sex"], unit="who", k=3)
    assert (verdict.persons.total, verdict.persons.fewest) == (len(smallest), found.smallest_class)
    assert verdict.persons.most == max(map(len, held.values()))
    assert verdict.has_passed is (found.smallest_class >= 3)
    assert verdict.risk.uniques == found.uniques
    assert verdict.risk.prosecutor_mean == pytest.approx(found.prosecutor_mean)


def test_check_counts_persons_without_k_too():
    verdict = shoal.check_table(FRAME, quasi=["age"], unit="patient_id")
    assert verdict.has_passed
    assert (verdict.persons.fewest, verdict.risk.prosecutor_highest, verdict.risk.uniques) == (1, 1.0, 1)


def test_check_doubts_that_records_are_persons():
    verdict = shoal.check_table(FRAME, quasi=["age"], k=5)
    assert verdict.has_passed
    assert verdict.persons is None
    assert "column 'patient_id' looks as if it told persons apart" in verdict.doubt
    assert shoal.check_table(FRAME, quasi=["age"], k=5, unit="rows").doubt == ""
    assert shoal.check_table(FRAME, quasi=["age", "patient_id"]).doubt == ""


def test_attack_counts_candidate_persons():
    known = pl.DataFrame({"age": [20, 30]})
    by_rows = shoal.attack(FRAME, known, match={"age": "age"})
    assert (by_rows.fewest, by_rows.one_record, by_rows.by_person) == (5, 0, False)
    assert "at least 5 candidate records" in by_rows.in_words()
    assert "unit = patient_id" in by_rows.in_words()
    by_person = shoal.attack(FRAME, known, match={"age": "age"}, unit="patient_id")
    assert (by_person.fewest, by_person.one_record, by_person.few) == (1, 1, 1)
    assert "1 of 2 persons (50.0 %) are pinned to one person." in by_person.in_words()
    assert "at least 1 candidate person," in by_person.in_words()
    assert by_person.repeats == ()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("nearest", [False, True])
def test_candidates_in_several_classes_count_once(seed, nearest):
    rng = random.Random(seed)
    rows = [
        (low, low + rng.randint(0, 6), rng.choice("abcde"))
        for low in (rng.randint(0, 9) for _ in range(30))
    ]
    release = pl.DataFrame({"age": [f"[{a}, {b}]" for a, b, _ in rows], "who": [w for *_, w in rows]})
    ages = [rng.randint(0, 15) for _ in range(20)]
    found = shoal.attack(
        release, pl.DataFrame({"age": ages}), match={"age": "age"}, unit="who", nearest=nearest
    )
    many = []
    for age in ages:
        far = [max(0, a - age, age - b) for a, b, _ in rows]
        least = min(far) if nearest else 0
        many.append(len({who for gap, (*_, who) in zip(far, rows, strict=True) if gap == least}))
    some = [count for count in many if count]
    assert found.found == len(some)
    assert found.fewest == min(some)
    assert found.mean == pytest.approx(sum(some) / len(some))
    assert found.one_record == some.count(1)


@pytest.mark.parametrize(
    ("name", "values", "is_key"),
    [
        ("patient_nbr", [1, 1, 2, 3], True),
        ("Patientennr", ["a", "a", "b", "c"], True),
        ("person_id", ["a", "a", "b", "c"], True),
        ("encounter_id", ["a", "a", "b", "c"], True),
        ("ward_id", ["a"] * 50 + ["b"] * 50, False),
        ("patient_id", ["a"] * 50 + ["b"] * 50, True),
        ("patient_id", ["a", "b", "c", "d"], False),
        ("colour", ["a", "a", "b", "c"], False),
        ("id", [["a"], ["a"], ["b"]], False),
    ],
)
def test_which_columns_look_like_a_repeating_person_key(name, values, is_key):
    frame = pl.DataFrame({name: values, "age": [1] * len(values)})
    found = shoal.risk(frame, quasi=["age"])
    assert [one.column for one in found.repeats] == ([name] if is_key else [])
