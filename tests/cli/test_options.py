"""The command line's own words: which option sets the field that an error speaks of."""

from __future__ import annotations

import pytest
from typer.main import get_command

import shoal
from shoal.cli.app import app_of

BASE = ("anonymize", "in.csv", "-o", "out.csv")
AGE = (*BASE, "-k", 2, "-q", "age")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            (*BASE, "-k", 2),
            "Nothing says quasi. Give k and quasi, or a plan. The option for quasi is -q or",
        ),
        ((*BASE, "-q", "age"), "Nothing says k. Give k and quasi, or a plan. The option for k is -k."),
        (
            (*AGE, "--kind", "age=colour"),
            "The option for kinds is --kinds or --kind.",
        ),
        (
            (*AGE, "--weight", "age=-1"),
            "The option for weights is --weights or --weight.",
        ),
        (
            (*AGE, "--rule", "ill: much"),
            "The option for rules is --rules or --rule.",
        ),
        ((*AGE, "--method", "mdva"), "The option for method is --method."),
        (
            (*BASE, "-k", 2, "-q", "age,zip", "--kind", "zip=tree"),
            "The option for hierarchies is --hierarchies or --hierarchy.",
        ),
        (("check", "in.csv"), "Name at least one column. The option for quasi is -q or --quasi."),
        (("risk", "in.csv"), "Name at least one column. The option for quasi is -q or --quasi."),
        (("risk", "in.csv", "-q", "age", "--sampling", 2), "The option for sampling is --sampling."),
    ],
)
def test_an_error_ends_with_the_option_that_sets_its_field(run, words, says):
    ran = run(*words)
    assert ran.code == 2
    assert says in " ".join(ran.err.split())


def test_no_option_is_named_where_the_command_has_none(run):
    ran = run("check", "in.csv", "-q", "age", "-s", "ill", "--rule", "ill: much")
    assert "The option for rules is --rules or --rule." in ran.err
    ran = run("plan", "in.csv", "--encoding", "utf-99")
    assert "The option for encoding is --encoding." in ran.err
    ran = run("plan", "nowhere.csv")
    assert ran.code == 2
    assert "The option" not in ran.err


def test_an_option_that_sets_a_field_says_what_the_field_means():
    params = {one.name: one for one in get_command(app_of()).commands["anonymize"].params}
    own = {"hierarchies": "it says what can be typed"}
    for name, field in shoal.FIELDS.items():
        if name not in own:
            option = params[name]
            assert option.help.startswith(field.meaning), name
            if field.choices:
                assert set(option.metavar.split("|")) <= set(field.choices)
