"""The judge of a register refuses series that were broken on purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal.run.register as made
from series_stories import make, plan_of, story
from shoal.check.series import judge_register

NAMES = ("table", "lists", "former_lists", "plan", "coded", "line", "former", "state")


@pytest.fixture(scope="module")
def judged():
    """What the judge saw of the third release of a series."""
    seen = []
    original = made.judge_register
    made.judge_register = lambda *given: seen.append(given) or original(*given)
    try:
        make(story(8, releases=3, people=40, change=0.3, restless=0.2), plan_of(3))
    finally:
        made.judge_register = original
    return dict(zip(NAMES, seen[2], strict=True))


def set_cell(frame, row, column, value):
    cells = frame[column].to_list()
    cells[row] = value
    return frame.with_columns(pl.Series(column, cells, dtype=frame.schema[column]))


def drop_entry(its):
    lists = its["lists"]
    small = lists.group_by("school").len().filter(pl.col("len") == 3)["school"].min()
    row = lists["school"].to_list().index(small)
    its["lists"] = pl.concat([lists[:row], lists[row + 1 :]])


def drop_entry_of_a_longer_list(its):
    lists = its["lists"]
    large = lists.group_by("school").len().filter(pl.col("len") > 3)["school"].min()
    row = lists["school"].to_list().index(large)
    its["lists"] = pl.concat([lists[:row], lists[row + 1 :]])


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


def with_line(its, name, at, value):
    """The new state with another value in one of its lines."""
    lines = getattr(its["state"], name).copy()
    lines[at] = value
    return replace(its["state"], **{name: lines})


def now(its, row=0):
    return its["line"].now[its["line"].source[row]]


def another_cut(its):
    """Sides that cover something else: the same may stand in a state twice, by two numbers."""
    cut, sides = its["state"].cut, its["state"].sides

    def content(one):
        return [side[at].tolist() for side, at in zip(sides, one, strict=True)]

    mine = content(cut[now(its)])
    other = next(one for one in cut if (one >= 0).all() and content(one) != mine)
    its["state"] = with_line(its, "cut", now(its), other)


def a_wider_side(its):
    sides = [side.copy() for side in its["state"].sides]
    sides[0][:, 1] += 1
    its["state"] = replace(its["state"], sides=tuple(sides))


def nothing_shown(its):
    its["state"] = with_line(its, "cut", now(its), -1)


def longer_there(its):
    at = int(np.flatnonzero(its["state"].stay == 3)[0])
    its["state"] = with_line(its, "stay", at, 1)


def a_move_that_is_not_told(its):
    """He was there before and has moved inside his cells; the state says that he has not."""
    line, state = its["line"], its["state"]
    was = its["former"].lines("stay", line.former, 0)
    moved = np.flatnonzero((was > 0) & (state.stay[line.now] == 3) & (state.since[line.now] < 3))
    at = int(line.now[moved[0]])
    its["state"] = with_line(its, "stay", at, was[moved[0]])


def another_point(its):
    its["state"] = with_line(its, "point", now(its), its["state"].point[now(its)] ^ 1)


def the_point_of_another(its):
    its["state"] = with_line(its, "point", now(its), its["state"].point[now(its, 1)])


def the_point_of_then(its):
    """The digest of where he stood before, so that the next release sees no move, or one more."""
    line, state = its["line"], its["state"]
    was = its["former"].lines("point", line.former, 0)
    moved = np.flatnonzero((line.former >= 0) & (was != state.point[line.now]).any(axis=1))
    its["state"] = with_line(its, "point", line.now[moved[0]], was[moved[0]])


def one_who_left_has_a_point(its):
    at = int(np.flatnonzero(its["state"].stay == 0)[0])
    its["state"] = with_line(its, "point", at, 1)


def another_beginning(its):
    at = int(np.flatnonzero((its["state"].since == 1) & (its["state"].stay > 0))[0])
    its["state"] = with_line(its, "since", at, 3)


def one_who_left_is_there(its):
    at = int(np.flatnonzero(its["state"].stay == 0)[0])
    its["state"] = with_line(its, "stay", at, 1)


def one_who_left_is_forgotten(its):
    state = its["state"]
    gone = int(np.flatnonzero(state.stay == 0)[0])
    its["state"] = state.without(state.person[gone : gone + 1])[0]
    line = its["line"]
    its["line"] = replace(line, now=line.now - (line.now > gone))


def one_who_left_was_shown_nothing(its):
    at = int(np.flatnonzero(its["state"].stay == 0)[0])
    its["state"] = with_line(its, "cut", at, -1)


def another_name(its):
    at = int(its["line"].now[np.flatnonzero(its["line"].former >= 0)[0]])
    its["state"] = with_line(its, "person", at, its["state"].person[at] ^ 1)


def a_school_that_nobody_left(its):
    past = np.concatenate([its["state"].past, np.array([[0, 9999]], np.int32)])
    its["state"] = replace(its["state"], past=past)


def another_number(its):
    its["state"] = replace(its["state"], number=7)


def another_measure(its):
    its["state"] = replace(its["state"], kinds=dict.fromkeys(its["state"].kinds, "datetime"))


def another_measure_before(its):
    its["former"] = replace(its["former"], kinds=dict.fromkeys(its["former"].kinds, "datetime"))


def finer_than_k_share(its):
    """All cells of one column show the value behind them: they cover, and the state says so."""
    coded, line = its["coded"], its["line"]
    points = coded.codes[coded.row[line.source], 0]
    values = [str(int(coded.columns[0].numbers[0][point])) for point in points]
    its["table"] = its["table"].with_columns(pl.Series("x", values))


LISTS = "hold fewer than k"
MEMBERS = "does not hold the values of its members"
CUT = "does not say what all cells tell"
BREAKERS = {
    drop_entry: LISTS,
    drop_entry_of_a_longer_list: "former releases have changed",
    change_old_entry: "former releases have changed",
    change_new_entry: MEMBERS,
    add_to_an_old_list: "or a list was added to",
    list_from_the_future: "release that is not there",
    other_columns: "other columns",
    swap_schools: "entered a school that was listed before",
    lose_a_school: "has lost his school",
    school_without_a_list: "have no list",
    list_anew_without_need: "listed anew with values of an older list, or without need",
    another_school_in_the_state: "in: school",
    narrow_a_cell: "were there as long",
    finer_than_k_share: "were there as long",
    a_cell_beside_its_value: "does not cover the value",
    a_cell_of_nonsense: "cannot be read",
    one_person_twice: "two lines, or a line has nobody",
    one_line_too_many: "two lines, or a line has nobody",
    another_cut: CUT,
    a_wider_side: CUT,
    nothing_shown: CUT,
    longer_there: "in: stay",
    a_move_that_is_not_told: "in: stay",
    another_point: "in: point",
    the_point_of_another: "in: point",
    the_point_of_then: "in: point",
    one_who_left_has_a_point: "what was not shown",
    another_beginning: "in: since",
    one_who_left_is_there: "what was not shown",
    one_who_left_is_forgotten: "forgets somebody who left",
    one_who_left_was_shown_nothing: "what was not shown",
    another_name: "names a person otherwise",
    a_school_that_nobody_left: "a school that a person has left, or invents",
    another_number: "numbers its release otherwise",
    another_measure: "measured otherwise",
    another_measure_before: "measured otherwise",
}


def test_a_series_as_it_was_made_passes(judged):
    assert [*judge_register(*judged.values())] == []


@pytest.mark.parametrize(("broken", "says"), BREAKERS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_a_broken_series_is_refused_for_what_is_broken(judged, broken, says):
    its = dict(judged)
    broken(its)
    reasons = " ".join(judge_register(*its.values()))
    assert says in reasons
    assert "canary" not in reasons
