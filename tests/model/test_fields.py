"""The fields of a plan are described once, and wholly."""

from __future__ import annotations

from dataclasses import MISSING, fields
from difflib import get_close_matches
from inspect import getdoc

import polars as pl
import pytest

import shoal
from shoal.group import METHODS, facts
from shoal.model.fields import FIELDS, explained
from shoal.model.plan import CELLS, DISTANCES, LOSSES, STYLES, Plan
from shoal.model.words import Details, Words
from shoal.run.plans import ALIKE

TABLE = pl.DataFrame({"age": [1, 2, 3, 4], "flu": list("abab")})


def test_plan_words_and_descriptions_name_the_same_fields():
    names = [field.name for field in fields(Plan)]
    assert sorted(FIELDS) == sorted(names)
    assert sorted(Words.__annotations__) == sorted(names)


@pytest.mark.parametrize(
    ("name", "choices"), [("style", STYLES), ("cells", CELLS), ("loss", LOSSES), ("distance", DISTANCES)]
)
def test_a_description_lists_the_choices_of_the_plan(name, choices):
    assert FIELDS[name].choices == choices


def test_a_description_tells_the_default_of_the_plan():
    for field in fields(Plan):
        said = FIELDS[field.name].default
        needed = field.default is MISSING and field.default_factory is MISSING
        assert (said == "") == needed, field.name
        if isinstance(field.default, str) or type(field.default) in {int, float}:
            assert said == f"{field.default:{'g' if isinstance(field.default, float) else ''}}", field.name


def test_the_examples_of_all_fields_are_one_plan(tmp_path):
    (tmp_path / "edges.csv").write_text("from,to\na,b\n")
    lines = {name: f"{name}: {field.example}\n" for name, field in FIELDS.items()}
    # a column has a graph or a hierarchy; pseudonyms are for rows that are one person in one release
    for without in ({"graphs", "pseudonym"}, {"hierarchies", "count", "series"}):
        path = tmp_path / "plan.yaml"
        path.write_text("".join(line for name, line in lines.items() if name not in without))
        words = shoal.plan_words(path)
        assert set(words) == set(FIELDS) - without
        assert shoal.Plan(**words).k == 5


def test_a_function_explains_its_keywords():
    @explained(("k", "style"))
    def ask() -> None:
        """Ask.

        Args:
            frame: A table.

        Returns:
            Nothing.
        """

    text = " ".join(getdoc(ask).split())
    assert text.startswith(f"Ask. Args: frame: A table. k: {FIELDS['k'].meaning} style: ")
    assert text.endswith("means. Default: generalize. Returns: Nothing.")


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (shoal.anonymize, FIELDS),
        (shoal.compare, FIELDS),
        (shoal.cellular, [name for name in FIELDS if name not in {"k", "withhold", "rules", "unit"}]),
        (shoal.check_table, Details.__annotations__),
    ],
)
def test_help_explains_every_keyword(function, names):
    text = " ".join(getdoc(function).split())
    for name in names:
        assert f"{name}: {FIELDS[name].meaning}" in text


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sensitve", "sensitive"), ("quasis", "quasi"), ("hierarchy", "hierarchies"), ("weigths", "weights")],
)
def test_a_keyword_that_resembles_a_field_is_a_slip(word, meant):
    asks = (
        lambda: shoal.anonymize(TABLE, k=2, quasi="age", **{word: ()}),
        lambda: shoal.compare(TABLE, k=2, quasi="age", **{word: ()}),
        lambda: shoal.cellular(TABLE, quasi="age", opening=1, **{word: ()}),
        lambda: shoal.check_table(TABLE, quasi="age", **{word: ()}),
        lambda: shoal.anonymize(TABLE, **{word: ()}),
    )
    for ask in asks:
        with pytest.raises(shoal.PlanError, match=f"no keyword {word!r}. Did you mean {meant!r}") as no:
            ask()
        assert no.value.field == meant


def test_no_option_of_a_method_resembles_a_field():
    options = {option for name in METHODS for option in facts(name).options}
    assert options
    for option in options:
        assert not get_close_matches(option, FIELDS, cutoff=ALIKE), option


def test_an_option_of_the_method_is_a_keyword_still():
    release = shoal.anonymize(TABLE, k=2, quasi="age", method="oka", passes=2)
    assert release.plan.options == {"passes": 2}
    with pytest.raises(shoal.PlanError, match="has no option 'zeal'") as no:
        shoal.anonymize(TABLE, k=2, quasi="age", zeal=2)
    assert no.value.field == "options"
