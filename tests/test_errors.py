"""Errors carry the field and the column they speak of; the doors add their own words."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import polars as pl
import pytest

import shoal

SOURCE = Path(shoal.__file__).parent
OPTION = re.compile(r"(?:^|[\s(])(?:-[a-z]|--[a-z][a-z-]+)(?=[\s).,=]|$)")
TABLE = pl.DataFrame({"age": ["20", "21", "30", "x"], "sex": list("ffmm"), "n": [1, 1, 2, -1]})


def files(*places):
    for place in places:
        path = SOURCE / place
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def text_of(node) -> str:
    """The literal parts of a message."""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{}"
        for part in (node.values if isinstance(node, ast.JoinedStr) else [node])
    )


def raised(path, *names):
    """Every error that a file makes: its message and the words it carries."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args:
            yield text_of(node.args[0]), {word.arg for word in node.keywords}


@pytest.mark.parametrize(
    "path",
    [*files("model/plan.py", "model/kind.py", "model/rule.py", "model/whom.py")],
    ids=lambda p: p.name,
)
def test_every_error_of_a_plan_names_its_field(path):
    found = [*raised(path, "PlanError")]
    assert all("field" in words for _, words in found), found


@pytest.mark.parametrize("room", ["model", "encode", "read", "check", "recode", "group", "publish", "run"])
def test_every_error_about_a_column_names_it(room):
    about = [
        (text, words)
        for path in files(room)
        for text, words in raised(path, "PlanError", "DataError")
        if text.startswith(("Column {}", "Place {}")) or " of column {}" in text
    ]
    lacking = [text for text, words in about if "column" not in words and "lookup table" not in text]
    assert not lacking


def test_no_message_of_the_library_speaks_of_the_command_line():
    for path in files("."):
        if {"cli", "web"} & set(path.parts) or path.name in {"first_plan.py", "ahead.py"}:
            continue  # doors; a plan says on top how to run it; Python has options, too
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
        }  # docstrings may speak of any door
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                assert not OPTION.search(node.value), (path.name, node.value)


@pytest.mark.parametrize(
    ("words", "field", "column"),
    [
        ({"k": 1}, "k", None),
        ({"quasi": []}, "quasi", None),
        ({"quasi": ["age", "age"]}, "quasi", "age"),
        ({"sensitive": ["age"]}, "sensitive", "age"),
        ({"kinds": {"age": "colour"}}, "kinds", "age"),
        ({"kinds": {"sex": "label"}}, "kinds", "sex"),
        ({"kinds": {"age": "date(%d.%m.%y)"}}, "kinds", "age"),
        ({"hierarchies": {"age": 3}}, "hierarchies", "age"),
        ({"weights": {"age": -1}}, "weights", "age"),
        ({"rules": ["diagnosis: 3-diverse"]}, "sensitive", "diagnosis"),
        ({"rules": ["3-diverse"]}, "rules", None),
        ({"style": "blur"}, "style", None),
        ({"effort": "much"}, "effort", None),
        ({"withhold": 2}, "withhold", None),
        ({"count": "age"}, "count", "age"),
        ({"unit": "age"}, "unit", "age"),
    ],
)
def test_an_error_of_a_plan_says_which_field_and_column(words, field, column):
    with pytest.raises(shoal.PlanError) as caught:
        shoal.Plan(**{"k": 5, "quasi": ["age"], **words})
    assert (caught.value.field, caught.value.column) == (field, column)


@pytest.mark.parametrize(
    ("words", "field", "column"),
    [
        ({"quasi": ["age"], "kinds": {"age": "number"}}, "kinds", "age"),
        ({"quasi": ["age"], "kinds": {"age": "date"}}, "kinds", "age"),
        ({"quasi": ["sex"], "count": "n"}, "count", "n"),
        ({"quasi": ["sex"], "sensitive": ["flu"]}, None, "flu"),
        ({"quasi": ["sex"], "k": 5}, "k", None),
        ({"quasi": ["sex"], "method": "mdva"}, "method", None),
        ({"quasi": ["sex"], "method": "pairs", "k": 3}, "k", None),
        ({"quasi": ["sex"], "engine": "moon"}, "engine", None),
    ],
)
def test_an_error_of_a_table_says_which_field_and_column(words, field, column):
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.anonymize(TABLE, **{"k": 2, **words})
    assert (caught.value.field, caught.value.column) == (field, column)


def test_errors_that_carry_numbers_carry_their_field_too():
    few = shoal.TooFewPersons(column="id", k=5, classes=3, failing=1, fewest=2)
    uncertain = shoal.UncertainCount(column="n", k=5, classes=3, failing=1, fewest=2)
    assert (few.field, few.column) == ("unit", "id")
    assert (uncertain.field, uncertain.column) == ("count", "n")
    assert shoal.TooFewRows(rows=3, k=5).field == "k"


def test_an_error_keeps_its_words_between_processes():
    error = pickle.loads(pickle.dumps(shoal.DataError("No.", field="kinds", column="age")))
    assert (str(error), error.field, error.column) == ("No.", "kinds", "age")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("There is no file mysql:/u:p/w'd@h/db.", "There is no file mysql:/u@h/db."),
        ("There is no file 'mysql://:pw@h/db?x=1'.", "There is no file 'mysql://@h/db'."),
        ("postgresql://u:a@b@h and odbc://u:c@h", "postgresql://u@h and odbc://u@h"),
        ("Column 'a: b@c' of C:\\x: 5?", "Column 'a: b@c' of C:\\x: 5?"),
    ],
)
def test_a_password_stands_in_no_message(said, shown):
    assert str(shoal.DataError(said)) == shown
