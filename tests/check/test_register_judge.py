"""The judge of a register refuses series that were broken on purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal.run.register as made
from series_stories import make, plan_of, story
from shoal.check import judge_register

NAMES = ("table", "lists", "former_lists", "plan", "coded", "line", "former", "state")


@pytest.fixture(scope="module")
def judged():
    """What the judge saw of the third release of a series."""
    seen = []
    original = made.judge_register
    made.judge_register = lambda *given: seen.append(given) or original(*given)
    try:
        make(story(8, releases=3, people=40, change=0.3), plan_of(3))
    finally:
        made.judge_register = original
    return dict(zip(NAMES, seen[2], strict=True))


def set_cell(frame, row, column, value):
    cells = frame[column].to_list()
    cells[row] = value
    return frame.with_columns(pl.Series(column, cells, dtype=frame.schema[column]))


def drop_entry(its):
    its["lists"] = its["lists"][1:]


def change_old_entry(its):
    its["lists"] = set_cell(its["lists"], 0, "ill", "canary-other")


def change_new_entry(its):
    its["lists"] = set_cell(its["lists"], its["lists"].height - 1, "ill", "canary-other")


def add_to_an_old_list(its):
    its["lists"] = pl.concat([its["lists"], its["lists"][:1].with_columns(since=pl.lit(3, pl.Int64))])


def list_from_the_future(its):
    its["lists"] = set_cell(its["lists"], its["lists"].height - 1, "since", 9)


def other_columns(its):
    its["lists"] = its["lists"].rename({"ill": "well"})


def swap_schools(its):
    schools = its["table"]["school"].to_list()
    other = next(at for at, school in enumerate(schools) if school != schools[0])
    table = set_cell(its["table"], 0, "school", schools[other])
    its["table"] = set_cell(table, other, "school", schools[0])


def lose_a_school(its):
    at = its["line"].source
    row = int(np.flatnonzero(its["former"].school[its["line"].former[at]] >= 0)[0])
    its["table"] = set_cell(its["table"], row, "school", None)
    its["state"] = with_school(its, row, -1)


def with_school(its, row, school):
    state = its["state"]
    schools = state.school.copy()
    schools[its["line"].now[its["line"].source[row]]] = school
    return replace(state, school=schools)


def school_without_a_list(its):
    its["table"] = set_cell(its["table"], 0, "school", 9999)
    its["state"] = with_school(its, 0, 9999)


def list_anew_without_need(its):
    new = int(its["lists"].filter(pl.col("since") == 3)["school"][0])
    at = its["line"].former[its["line"].source]
    row = int(
        np.flatnonzero((at >= 0) & (its["former"].school[at] >= 0) & (its["former"].school[at] != new))[0]
    )
    value = its["line"].entries["ill"][int(its["line"].source[row])]
    entry = {"school": [new], "ill": [value], "since": [3]}
    its["lists"] = pl.concat([its["lists"], pl.DataFrame(entry, schema=its["lists"].schema)])
    its["table"] = set_cell(its["table"], row, "school", new)
    its["state"] = with_school(its, row, new)


def another_school_in_the_state(its):
    its["state"] = with_school(its, 0, 1 + int(its["table"]["school"].max()))


def narrow_a_cell(its):
    row = next(at for at, cell in enumerate(its["table"]["x"].to_list()) if cell.startswith("["))
    point = its["coded"].codes[its["coded"].row[its["line"].source[row]], 0]
    value = int(its["coded"].columns[0].numbers[0][point])
    its["table"] = set_cell(its["table"], row, "x", str(value))


def a_cell_beside_its_value(its):
    row = next(at for at, cell in enumerate(its["table"]["x"].to_list()) if cell.startswith("["))
    its["table"] = set_cell(its["table"], row, "x", "11")


def a_cell_of_nonsense(its):
    its["table"] = set_cell(its["table"], 0, "x", "canary")


def one_person_twice(its):
    source = its["line"].source.copy()
    source[0] = source[1]
    its["line"] = replace(its["line"], source=source)


def one_line_too_many(its):
    its["table"] = pl.concat([its["table"], its["table"][:1]])


def move_to_another_box(its):
    state, line = its["state"], its["line"]
    box = state.box.copy()
    at = line.now[line.source]
    box[at[0]] = box[at[-1]]
    its["state"] = replace(state, box=box)


def change_a_box(its):
    boxes = its["state"].boxes.copy()
    boxes[0] = boxes[-1]
    its["state"] = replace(its["state"], boxes=boxes)


def a_new_box_of_few(its):
    state, line = its["state"], its["line"]
    at = line.now[line.source[0]]
    box = state.box.copy()
    box[at] = len(state.boxes)
    boxes = np.concatenate([state.boxes, state.boxes[state.box[at]][None]])
    its["state"] = replace(state, box=box, boxes=boxes)


BREAKERS = [
    *(
        drop_entry,
        change_old_entry,
        change_new_entry,
        add_to_an_old_list,
        list_from_the_future,
        other_columns,
    ),
    *(
        swap_schools,
        lose_a_school,
        school_without_a_list,
        list_anew_without_need,
        another_school_in_the_state,
    ),
    *(narrow_a_cell, a_cell_beside_its_value, a_cell_of_nonsense, one_person_twice, one_line_too_many),
    *(move_to_another_box, change_a_box, a_new_box_of_few),
]


def test_a_series_as_it_was_made_passes(judged):
    assert [*judge_register(*judged.values())] == []


@pytest.mark.parametrize("broken", BREAKERS, ids=lambda one: one.__name__)
def test_a_broken_series_is_refused(judged, broken):
    its = dict(judged)
    broken(its)
    reasons = [*judge_register(*its.values())]
    assert reasons
    assert "canary" not in " ".join(reasons)
