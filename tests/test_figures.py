"""Figures that pages of docs/how-to show of the bundled example are those of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.engines.stream import limits

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "how-to"
PLAN = ROOT / "examples" / "hospital-plan.yaml"


@pytest.fixture(scope="module")
def hospital() -> pl.DataFrame:
    return shoal.read_table(ROOT / "examples" / "hospital.csv").frame


def says(page: str, *figures: str) -> None:
    text = " ".join((PAGES / page).read_text("utf-8").split())
    for figure in figures:
        assert figure in text, f"{page} should say: {figure}"


def test_whom_a_register_pins(hospital):
    plan = shoal.read_plan(PLAN)
    match = {name: name for name in plan.quasi}
    words = {"match": match, "sensitive": ["diagnosis"], "hierarchies": plan.hierarchies, "k": 5}
    raw = shoal.attack(hospital, hospital, **words)
    persons = shoal.attack(hospital, hospital, **words, unit="patient_id")
    says(
        "attack.md",
        f"pins {raw.one_record:,} of {raw.persons:,} rows ({raw.one_record / raw.persons:.0%}".replace(
            "%", " %"
        ),
    )
    says("attack.md", f"with `--unit patient_id`, {persons.one_record:,} to one patient")
    alone, ruled = (
        shoal.attack(shoal.anonymize(hospital, one).table, hospital, **words)
        for one in (replace(plan, rules=()), plan)
    )
    assert (alone.one_record, ruled.one_record, ruled.homogeneous[0].persons) == (0, 0, 0)
    assert min(alone.fewest, ruled.fewest) == 5
    says("attack.md", f"diagnosis is certain for {alone.homogeneous[0].persons} without a rule")


def test_persons_with_several_rows(hospital):
    plan = shoal.read_plan(PLAN, rules=(), unit="rows")
    came = hospital.group_by("patient_id").len()
    often = int((came["len"] > 1).sum())
    says("whom.md", f"{often:,} of {came.height:,} patients came more than once")
    release = shoal.anonymize(hospital, plan)
    who = release.table.select(plan.quasi).with_columns(
        who=hospital["patient_id"].gather(release.groups.source)
    )
    persons = who.group_by(plan.quasi).agg(pl.col("who").n_unique())["who"]
    few, one = int((persons < 5).sum()), int((persons == 1).sum())
    says(
        "whom.md",
        f"has {len(persons):,} classes, and {few:,} of them hold fewer than 5 patients, {one} exactly one",
    )


def test_what_a_set_and_a_node_of_forty_lose():
    values = [f"{at:02}" for at in range(40)]
    frame = pl.DataFrame({"x": [*values, *values]})
    pair = shoal.anonymize(frame.head(40), k=2, quasi=["x"], unit="rows").certificate.loss_percent
    halves = shoal.parse_hierarchy(
        "\n".join(["low", *(f"  {v}" for v in values[:20]), "high", *(f"  {v}" for v in values[20:])]),
        column="x",
    )
    node = shoal.anonymize(
        frame.head(40), k=20, quasi=["x"], hierarchies={"x": halves}, unit="rows"
    ).certificate.loss_percent
    says("certificate.md", f"loses {pair:.1f} %", f"{node:.0f} %, so losses compare")


def test_what_a_stream_estimates():
    says(
        "large.md",
        f"{limits.LEAST / 1e9:g} GB for Python",
        f"about {limits.PER_CODE} bytes for each quasi-identifier and row",
        f"about {limits.PER_CLASS} bytes for each class",
    )
