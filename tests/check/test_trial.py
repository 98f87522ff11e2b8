"""The linkage trial on whole tables: what a release hides and what only a rule does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
TREES = ("zip", "marital_status", "occupation")
SEVEN = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


def tried(frame: Any, sensitive: str, trees: dict[str, Any], words: dict[str, Any]) -> list[shoal.Linkage]:
    """The trial on the raw table, with k = 5 alone, and 3-diverse; the register is the table itself."""
    plan = {"k": 5, "sensitive": sensitive, "hierarchies": trees, "effort": "quick", **words}
    tables = [frame]
    for rules in ((), (f"{sensitive}: 3-diverse",)):
        tables.append(shoal.anonymize(frame, rules=rules, **plan).table)
    match = {name: name for name in words["quasi"]}
    return [
        shoal.attack(table, frame, match=match, sensitive=sensitive, hierarchies=trees, k=5)
        for table in tables
    ]


def assert_hidden(raw: shoal.Linkage, alone: shoal.Linkage, diverse: shoal.Linkage) -> None:
    for found in (alone, diverse):
        assert found.found == found.persons == raw.persons
        assert (found.one_record, found.few) == (0, 0)
        assert found.fewest >= 5
    assert raw.homogeneous[0].persons > alone.homogeneous[0].persons > 0
    assert diverse.homogeneous[0].persons == 0


def test_the_example_hides_everybody_and_diversity_their_illness() -> None:
    frame = shoal.read_table(EXAMPLES / "hospital.csv").frame
    trees = {
        name: shoal.read_hierarchy(EXAMPLES / f"hierarchies/{name}.csv", column=name) for name in TREES
    }
    words = {"quasi": ["birth_date", "sex", *TREES], "kinds": {"birth_date": "date", "sex": "label"}}
    raw, alone, diverse = tried(frame, "diagnosis", trees, words)
    # as many as are alone by a plain count
    faces = frame.select(words["quasi"]).rows()
    assert raw.one_record == sum(faces.count(face) == 1 for face in set(faces)) == 2399
    assert raw.persons == 5000
    assert_hidden(raw, alone, diverse)


@pytest.mark.slow
def test_adult_hides_everybody_and_diversity_their_occupation(shared: Path) -> None:
    frame = shoal.read_table(shared / "adult" / "arx_adult.csv").frame
    folder = shared / "adult" / "hierarchies_arx"
    trees = {n: shoal.read_hierarchy(folder / f"{n}.csv", column=n) for n in SEVEN if n != "age"}
    raw, alone, diverse = tried(frame, "occupation", trees, {"quasi": SEVEN, "kinds": {"age": "number"}})
    assert (raw.persons, raw.one_record, raw.few) == (30_162, 7_653, 13_657)
    assert_hidden(raw, alone, diverse)


@pytest.mark.parametrize(
    "cells", [[1.0, 2.0, 95.0, 95.0], [-0.0, 0.0, 1.5, 1.5], [1.0, float("nan"), 2.0, 2.0]]
)
@pytest.mark.parametrize("hierarchy", ["flat()", "top(90)", None])
def test_floats_of_a_register_are_recognised_as_they_are_published(
    cells: list[float], hierarchy: str | None
) -> None:
    frame = pl.DataFrame({"age": cells * 4, "sex": ["f", "m"] * 8})
    words = {"kinds": {"age": "label"}} if hierarchy is None else {"hierarchies": {"age": hierarchy}}
    release = shoal.anonymize(frame, k=2, quasi=["age", "sex"], unit="rows", **words)
    found = shoal.attack(release, frame)
    assert (found.found, found.fewest >= 2) == (frame.height, True)


def test_the_persons_of_a_register_are_looked_for() -> None:
    frame = pl.DataFrame(
        {"id": [f"p{at}" for at in range(20)], "age": [20, 95] * 10, "ill": ["x", "y"] * 10}
    )
    words = {"quasi": ["age"], "sensitive": ["ill"], "unit": "id", "series": "register"}
    release = shoal.anonymize(frame, k=4, hierarchies={"age": "top(90)"}, **words)
    assert set(release.table["age"].to_list()) == {"20", ">= 90"}
    assert shoal.attack(release, frame).found == 20
