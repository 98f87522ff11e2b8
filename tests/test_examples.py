"""The bundled example is what its script makes, and its parts fit together."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

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
