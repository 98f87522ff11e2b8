"""The yardstick of the benchmarks, on a table small enough to work out by hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent.parent / "bench"


@pytest.fixture(scope="module")
def yardstick():
    spec = importlib.util.spec_from_file_location("yardstick", BENCH / "yardstick.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["yardstick"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


ORIGINAL = [
    {"age": age, "work": work}
    for age, work in zip(["0", "2", "8", "8", "4"], ["p", "q", "p", "r", "r"], strict=True)
]
PATHS = [["p", "PQ", "*"], ["q", "PQ", "*"], ["r", "RS", "*"], ["s", "RS", "*"], ["t", "T", "*"]]


def number(cell):
    low, _, high = cell.partition("-")
    return float(low), float(high or low)


def measured(yardstick, release):
    return yardstick.measure(
        ORIGINAL,
        release,
        {"work": yardstick.Tree(PATHS)},
        ["age"],
        read_number=number,
        read_names=lambda cell: cell.split(","),
    )


def test_the_loss_is_that_of_the_published_cells(yardstick):
    release = [{"age": "0-4", "work": "PQ", "count": "2"}, {"age": "5-9", "work": "*", "count": "2"}]
    score = measured(yardstick, release)
    # age: 4/8 twice, 5-9 clipped to 5-8 gives 3/8 twice, one row left out; work: 1/4 twice, 1 twice, 1
    assert score.loss == pytest.approx(100 * (2 * 0.5 + 2 * 0.375 + 1 + 2 * 0.25 + 2 + 1) / 10)
    assert (score.left_out, score.classes, score.smallest_class) == (1, 2, 2)


def test_a_set_costs_as_much_as_its_common_ancestor(yardstick):
    apart = measured(yardstick, [{"age": "0-8", "work": "p,r", "count": "5"}])
    root = measured(yardstick, [{"age": "0-8", "work": "*", "count": "5"}])
    assert apart.loss == root.loss == 100.0


def test_known_rows_are_charged_for_what_they_hold(yardstick):
    rows = [("0-4", "PQ", 0), ("0-4", "PQ", 1), ("5-9", "*", 2), ("5-9", "*", 3), ("0-4", "PQ", 4)]
    release = [{"age": a, "work": w, "row": str(r)} for a, w, r in rows]
    score = measured(yardstick, release)
    # rows 0, 1, 4 span 0..4 and p, q, r; rows 2, 3 are 8 and p, r
    assert score.tightest == pytest.approx(100 * (3 * 0.5 + 3 * 1 + 2 * 0 + 2 * 1) / 10)


def test_a_cell_outside_the_hierarchy_is_not_free(yardstick):
    with pytest.raises(ValueError, match="names nothing"):
        measured(yardstick, [{"age": "0", "work": "?", "count": "5"}])
