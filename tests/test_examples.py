"""The bundled example is what its script makes, and its parts fit together."""

from __future__ import annotations

import csv
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import shoal

EXAMPLES = Path(__file__).parent.parent / "examples"


def rows_of(name: str, delimiter: str = ",") -> list[list[str]]:
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def test_the_script_makes_the_committed_files_byte_for_byte(tmp_path):
    script = EXAMPLES / "make_hospital.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.csv"))
    committed = sorted(path.relative_to(EXAMPLES) for path in EXAMPLES.rglob("*.csv"))
    assert made == committed
    for path in made:
        assert (tmp_path / path).read_bytes() == (EXAMPLES / path).read_bytes(), path


def test_every_value_stands_in_its_hierarchy():
    header, *rows = rows_of("hospital.csv")
    for column in ("zip", "marital_status", "occupation"):
        leaves = [path[0] for path in rows_of(f"hierarchies/{column}.csv", ";")]
        assert len(leaves) == len(set(leaves))
        at = header.index(column)
        assert {row[at] for row in rows} - {""} <= set(leaves)


def test_the_zip_areas_form_one_connected_map():
    zips = {row[0] for row in rows_of("zip-nodes.csv")[1:]}
    neighbours: dict[str, set[str]] = {name: set() for name in zips}
    for one, other in rows_of("zip-edges.csv")[1:]:
        neighbours[one].add(other)
        neighbours[other].add(one)
    reached, border = set(), [min(zips)]
    while border:
        here = border.pop()
        if here not in reached:
            reached.add(here)
            border += neighbours[here]
    assert reached == zips
    assert sum(map(len, neighbours.values())) // 2 <= 3 * len(zips) - 6  # as in every planar map


def test_the_plan_of_the_example_counts_patients():
    table = shoal.read_table(EXAMPLES / "hospital.csv").frame
    words = shoal.plan_words(EXAMPLES / "hospital-plan.yaml")
    release = shoal.anonymize(table, **words)
    quasi, patients, illnesses = list(words["quasi"]), defaultdict(set), defaultdict(set)
    who = table["patient_id"].gather(release.groups.source).to_list()
    for face, illness, patient in zip(
        release.table.select(quasi).iter_rows(), release.table["diagnosis"], who, strict=True
    ):
        patients[face].add(patient)
        illnesses[face].add(illness)
    assert min(map(len, patients.values())) >= 5
    assert min(map(len, illnesses.values())) >= 3


def test_the_example_is_not_published_by_rows_unless_someone_asks_for_it():
    table = shoal.read_table(EXAMPLES / "hospital.csv").frame
    words = {**shoal.plan_words(EXAMPLES / "hospital-plan.yaml"), "rules": (), "unit": None}
    with pytest.raises(shoal.TooFewPersons) as caught:
        shoal.anonymize(table, **words)
    # what docs/how-to/whom.md says of it
    error = caught.value
    assert (error.column, error.classes, error.failing, error.fewest) == ("patient_id", 934, 679, 1)


def test_the_program_publishes_what_verifies_and_is_held_by_strict_types(tmp_path):
    program = EXAMPLES / "program.py"
    to = tmp_path / "out.csv"
    command = [sys.executable, program, EXAMPLES / "hospital.csv", to]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("At most ")
    assert done.stderr == ""
    assert to.exists()
    settings = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"]
    assert "examples/program.py" in settings["files"]  # CI runs mypy on it
