"""The form: to a plan and back, and what cannot be shown is kept or refused, never lost."""

from __future__ import annotations

import dataclasses
import json

import pytest

import shoal
from shoal.web.form import ColumnForm, PlanForm
from shoal.web.look import apply, remedies_for

COLUMNS = ("name", "age", "zip", "ill", "ward", "note")
FORM = PlanForm(columns=tuple(ColumnForm(name) for name in COLUMNS))
WORDS = {
    "k": 7,
    "quasi": ("age", "zip"),
    "sensitive": ("ill",),
    "keep": ("ward",),
    "identifier": ("name",),
    "kinds": {"age": "number"},
    "hierarchies": {"zip": shoal.prefixes(5, 3)},
    "weights": {"age": 2.5},
    "rules": ("ill: 3-diverse", "ill: at most 50%"),
    "unit": "name",
    "withhold": 0.015,
    "effort": "20s",
    "method": "mondrian",
    "style": "suppress",
    "missing": ("?", "NA"),
    "seed": 3,
    "cells": "text",
    "loss": "levels",
    "improve": True,
    "stop_at": 1.2,
    "options": {"search": False},
}


def test_a_plan_comes_back_from_the_form_as_it_was():
    plan = FORM.laid_over(WORDS).plan()
    assert plan == shoal.Plan(**WORDS)


def test_a_form_survives_the_way_to_the_hand():
    form = FORM.laid_over(WORDS)
    assert PlanForm.of_plain(json.loads(json.dumps(form.to_plain()))) == form


def test_a_tree_is_shown_as_its_outline():
    tree = shoal.Hierarchy.of_paths([["a", "x"], ["b", "x"], ["c"]])
    form = FORM.laid_over({"k": 2, "quasi": ("zip",), "hierarchies": {"zip": tree}})
    assert form.columns[2].tree == "x\n  a\n  b\nc"
    assert form.columns[2].tree_line == "a tree of 4 lines"
    assert form.plan().hierarchies["zip"].fingerprint == tree.fingerprint


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"k": 2, "quasi": ("age", "nix")}, "the column 'nix', which the table does not have"),
        ({"k": 2, "quasi": ("zip",), "graphs": {"zip": 1}}, "no page"),
        ({"k": 2, "quasi": ("zip",), "pseudonym": "name"}, "keeps no key"),
        ({"k": 2, "quasi": ("zip",), "series": "register"}, "keeps no state"),
    ],
)
def test_a_plan_that_has_no_form_is_refused(words, told):
    with pytest.raises(shoal.PlanError, match=told):
        FORM.laid_over(words)


WRONG = {
    "k": ({"k": "many"}, {}, "k", None),
    "few": ({"k": "1"}, {}, "k", None),
    "share": ({"withhold": "x"}, {}, "withhold", None),
    "seed": ({"seed": "-1"}, {}, "seed", None),
    "effort": ({"effort": "soon"}, {}, "effort", None),
    "kind": ({}, {"kind": "colour"}, "kinds", "age"),
    "weight": ({}, {"weight": "heavy"}, "weights", "age"),
    "tree": ({}, {"tree": "bim(3)"}, "hierarchies", "age"),
    "outline": ({}, {"tree": "a\n    b"}, "hierarchies", "age"),
}


@pytest.mark.parametrize(("plain", "column", "field", "name"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_field(plain, column, field, name):
    form = dataclasses.replace(FORM, **plain).changed("age", role="quasi", **column)
    with pytest.raises(shoal.PlanError) as error:
        form.plan()
    assert (error.value.field, error.value.column) == (field, name)


def test_remedies_change_what_they_say():
    form = FORM.laid_over(WORDS)
    assert apply(form, {"rule": {"ill": "2-diverse"}}).columns[3].rule == "2-diverse"
    assert apply(form, {"weight": {"zip": "2"}}).columns[2].weight == "2"
    assert apply(form, {"k": "5", "unit": "rows", "effort": "quick"}).unit == "rows"
    assert apply(form, {}) == form
    first, second = remedies_for("unit", "name", "words")
    assert apply(form, first["remedy"]).unit == "name"
    assert apply(form, second["remedy"]).unit == "rows"
    assert remedies_for("k", None, "words") == []
