"""A plan is checked once, when it is made: whatever is wrong with it is said in words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from shoal.errors import PlanError
from shoal.model.plan import Plan

STRANGE = (
    *(None, 5, 5.5, float("nan"), -1, True, "x", b"x", object()),
    *([1], ["a", "a"], {"a": 1}, {"a": None}, {"a": "number"}, {1: 2}, np.int64(3), np.float64(0.5)),
)


@pytest.mark.parametrize("name", [item.name for item in fields(Plan)])
def test_whatever_a_field_is_given_it_is_taken_or_refused_in_words(name):
    for value in STRANGE:
        with suppress(PlanError):
            Plan(**{"k": 3, "quasi": ("a",), name: value})


def test_whole_numbers_of_numpy_are_whole_numbers():
    plan = Plan(k=np.int64(3), quasi=("a",), seed=np.uint8(7), threads=np.int32(1))
    assert (plan.k, plan.seed, plan.threads) == (3, 7, 1)
    assert {type(plan.k), type(plan.seed), type(plan.threads)} == {int}


@pytest.mark.parametrize(
    "names",
    [
        ["b", "a"],
        ("b", "a"),
        np.array(["b", "a"]),
        pd.Index(["b", "a"]),
        {"b": 1, "a": 2}.keys(),
        iter("ba"),
    ],
    ids=lambda names: type(names).__name__,
)
def test_names_come_in_any_kind_of_list(names):
    quasi = Plan(k=2, quasi=names).quasi
    assert quasi == ("b", "a")
    assert {type(name) for name in quasi} == {str}


@pytest.mark.parametrize("k", [1, 0, -5, 3.0, "3", True, None, np.float64(3)])
def test_k_is_a_whole_number_of_at_least_two(k):
    with pytest.raises(PlanError, match=r"k = .* is not a whole number of at least 2"):
        Plan(k=k, quasi=("a",))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("effort", 60),
        ("method", None),
        ("count", ["n"]),
        ("unit", 3),
        ("improve", "no"),
        ("kinds", {"a": 5}),
    ],
)
def test_a_value_of_the_wrong_type_is_named(name, value):
    with pytest.raises(PlanError, match=name if name != "kinds" else "'a'"):
        Plan(**{"k": 3, "quasi": ("a",), name: value})


@pytest.mark.parametrize("form", ["%d.%m.%y", "%D", "%x", "%-d %b %-y"])
def test_years_of_two_digits_are_not_given_a_century_by_us(form):
    with pytest.raises(PlanError, match=r"two digits of a year.*from 1930"):
        Plan(k=2, quasi=("born",), kinds={"born": f"date({form})"})
    kind = Plan(k=2, quasi=("born",), kinds={"born": f"date({form}, from 1930)"}).kind("born")
    assert kind is not None
    assert (kind.date_form, kind.first_year) == (form, 1930)


def test_years_of_four_digits_need_no_century():
    for form in ("%d.%m.%Y", "%C%y-%m-%d", "%Y%%y"):
        kind = Plan(k=2, quasi=("born",), kinds={"born": f"date({form})"}).kind("born")
        assert kind is not None
        assert (kind.date_form, kind.first_year) == (form, None)
    with pytest.raises(PlanError, match="'from 1930' is for years of two digits"):
        Plan(k=2, quasi=("born",), kinds={"born": "date(%d.%m.%Y, from 1930)"})
