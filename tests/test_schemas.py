"""The schemas in docs/schema describe what is written and read, no more and no less."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
import yaml
from make_schema import LIMITS, SCHEMAS

import shoal
from json_schema import faults, strange
from shoal.model.fields import FIELDS
from shoal.model.hierarchy import prefixes
from shoal.model.meanings import MEANINGS
from shoal.model.plan import Plan

ROOT = Path(__file__).parent.parent
SCHEMA = {
    name: json.loads((ROOT / "docs" / "schema" / f"{name}.json").read_text())
    for name in ("certificate", "receipt", "plan")
}
ROWS = 48
FRAME = pl.DataFrame(
    {
        "who": [f"p{i // 2}" for i in range(ROWS)],
        "age": [20 + i * 7 % 31 for i in range(ROWS)],
        "born": pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 2, 17), eager=True),
        "zip": [f"{i % 7:05d}" for i in range(ROWS)],
        "lat": [50 + i % 5 / 10 for i in range(ROWS)],
        "lon": [8 + i % 3 / 10 for i in range(ROWS)],
        "n": [1 + i % 3 for i in range(ROWS)],
        "ill": [["flu", "cold", "pox"][i % 3] for i in range(ROWS)],
    }
)
NUMBERS = {"k": 3, "quasi": ["age", "born"], "kinds": {"age": "number"}, "unit": "rows"}
PLANS = {
    "plain": NUMBERS | {"sensitive": ["ill"]},
    "rules": NUMBERS | {"sensitive": ["ill"], "rules": ["ill: 2-diverse", "ill: 0.9-close"], "k": 4},
    "persons": {"k": 3, "quasi": ["age", "zip"], "unit": "who", "hierarchies": {"zip": prefixes(4, 3)}},
    "counts": {"k": 3, "quasi": ["zip"], "count": "persons(n)", "missing": ["?"], "weights": {"zip": 2}},
    "place": {"k": 4, "quasi": ["at"], "kinds": {"at": "place(lat, lon)"}, "unit": "rows"},
    "bounds": NUMBERS | {"cells": "bounds", "withhold": 0.1, "method": "gather"},
    "middle": NUMBERS | {"cells": "middle", "effort": "quick", "method": "mondrian"},
    "id": {"k": 9, "quasi": ["zip"], "kinds": {"zip": "label"}, "cells": "id", "method": "fold"},
    "suppress": {"k": 2, "quasi": ["zip", "ill"], "style": "suppress", "method": "pairs"},
    "centres": NUMBERS | {"method": "centre", "options": {"max_groups": 6}, "stop_at": 1.5},
    "means": NUMBERS | {"style": "means", "method": "mdav", "seed": 3},
}


@pytest.fixture(scope="module", params=PLANS)
def files(request, tmp_path_factory):
    words = (
        {"unit": "rows"} | PLANS[request.param] if "count" not in PLANS[request.param] else PLANS["counts"]
    )
    return shoal.anonymize(FRAME, **words).write(tmp_path_factory.mktemp("out") / "out.csv")


@pytest.mark.parametrize("name", ["certificate", "receipt"])
def test_what_is_written_is_what_the_schema_says(files, name):
    raw = json.loads(getattr(files, name).read_text())
    assert not [*faults(raw, SCHEMA[name])]
    assert not [*strange(raw, SCHEMA[name], SCHEMA[name])]


def test_a_certificate_beside_the_one_it_replaces_is_what_the_schema_says(files):
    certificate = shoal.Certificate.of_json(files.certificate.read_text())
    assert not [*faults(json.loads(certificate.to_json(replaces=certificate)), SCHEMA["certificate"])]


@pytest.mark.parametrize("name", ["certificate", "receipt"])
def test_what_is_not_written_is_a_fault(files, name):
    whole = json.loads(getattr(files, name).read_text())
    wrong = [] if whole["release"] is None else [{"release": "no digest"}]
    wrong += [{"version": "3.0"}, {"version": 2}, {"original": 5}, {"replaces": {}}]
    wrong += [{"k": 1}, {"columns": [{}]}, {"plan": {}}] if name == "certificate" else [{"figures": []}]
    for change in wrong:
        assert [*faults(whole | change, SCHEMA[name])], change
    for lacking in SCHEMA[name]["required"]:
        assert [*faults({key: whole[key] for key in whole if key != lacking}, SCHEMA[name])] == [
            f".{lacking}: required"
        ]


def test_a_field_of_a_newer_minor_version_is_none(files):
    raw = json.loads(files.certificate.read_text()) | {"version": "2.31", "coming": 1}
    assert not [*faults(raw, SCHEMA["certificate"])]


@pytest.mark.parametrize(
    "text",
    [
        (ROOT / "examples" / "hospital-plan.yaml").read_text(),
        "k: 5\nquasi: [age, 007, no]\nunit: rows\n",
        "k: 5\nquasi: age\nsensitive: ill\nrules:\n  ill: 3-diverse\nmissing:\n",
        "k: 5\nquasi: [age]\nrules: ['ill: 3-diverse', ill: 0.2-close]\nsensitive: [ill]\nimprove: yes\n",
        "k: 5\nquasi: [zip]\nhierarchies:\n  zip: {north: [1, 2], south: [3]}\nweights: {zip: 0.001}\n",
        "k: 5\nquasi: [zip]\ngraphs:\n  zip: {edges: e.csv, nodes: n.csv}\noptions: {max_groups: 3}\n",
        "quasi: [at]\nkinds:\n  at: place(lat, lon)\neffort: 60s\nstop_at: 1\nwithhold: 0\nseed: 0\n",
    ],
)
def test_a_plan_file_is_what_the_schema_says(text):
    assert not [*faults(yaml.safe_load(text), SCHEMA["plan"])]


def test_a_guessed_plan_is_what_the_schema_says():
    assert not [*faults(yaml.safe_load(shoal.guess_plan(FRAME)), SCHEMA["plan"])]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"k": 1}, {"k": 2.5}, {"k": "many"}, {"quasi": {}}, {"kinds": {"age": "numeral"}}, {"kind": 1}),
        *({"weights": {"age": -1}}, {"weights": {"age": 5000}}, {"style": "plain"}, {"method": "best"}),
        *({"withhold": 1}, {"stop_at": 0.5}, {"improve": 3}, {"quasi": [["age"]]}, {"seed": -1}),
    ],
    ids=str,
)
def test_a_plan_file_that_no_run_takes_is_a_fault(wrong, tmp_path):
    assert [*faults(wrong, SCHEMA["plan"])]
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump({"k": 2, "quasi": ["age"]} | wrong))
    with pytest.raises(shoal.PlanError):
        shoal.anonymize(FRAME, **shoal.plan_words(tmp_path / "plan.yaml"))


@pytest.mark.parametrize("name", FIELDS)
def test_the_example_of_a_field_is_what_the_schema_says(name):
    (example,) = SCHEMA["plan"]["properties"][name]["examples"]
    assert example is not None
    assert not [*faults({name: example}, SCHEMA["plan"])]


def test_the_schema_of_plans_has_the_fields_of_a_plan_and_their_limits():
    assert list(SCHEMA["plan"]["properties"]) == [item.name for item in fields(Plan)]
    for name, limits in LIMITS.items():
        for word, limit in limits.items():
            if word == "minimum":
                assert getattr(Plan(**{"k": 2, "quasi": ["age"], name: limit}), name) == limit
                with pytest.raises(shoal.PlanError):
                    Plan(**{"k": 2, "quasi": ["age"], name: limit - 1})


def test_every_field_that_is_written_has_a_meaning():
    for kind, meanings in MEANINGS.items():
        names = {item.name for item in fields(kind)} - {"unread"}
        assert set(meanings) == names or (kind.__name__ == "AsRun" and set(meanings) <= names)


def test_schemas_are_current():
    for name, write in SCHEMAS.items():
        assert (ROOT / "docs" / name).read_text() == write(), f"{name}: run python docs/make.py"
