"""What the files of a register tell of persons: nothing that was not published."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from series_stories import VALUES, people_behind, plan_of
from shoal.model.register import RegisterState
from silent import said_by

PEOPLE = 1000
TREE = shoal.Hierarchy.of_paths([(f"canary-leaf-{i}", f"canary-node-{i // 4}") for i in range(16)])


def everybody():
    """A thousand persons, whose ids, cells and values are all rare signs."""
    luck = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "who": [f"canary-id-{i}" for i in range(PEOPLE)],
            "x": luck.choice(9 * 10**8, PEOPLE, replace=False) + 10**8,
            "y": 10**6 + luck.choice(10**9, PEOPLE, replace=False) / 1024,
            "z": [f"canary-leaf-{i % 16}" for i in range(PEOPLE)],
            "ill": luck.choice(VALUES, PEOPLE),
            "cost": luck.choice(9 * 10**10, PEOPLE, replace=False) + 10**10,
        }
    )


def register_of(number, frame):
    """Who is there when: some leave, some return, some move or have another value."""
    luck = np.random.default_rng(number)
    away = pl.col("row") % 5 == number
    moved = pl.Series(luck.random(PEOPLE) < 0.05)
    changed = pl.Series(luck.random(PEOPLE) < 0.1)
    return (
        frame.with_columns(
            x=pl.when(moved).then(pl.col("x").reverse()).otherwise("x"),
            ill=pl.when(changed).then(pl.lit(VALUES[number])).otherwise("ill"),
        )
        .with_row_index("row")
        .filter(~away & (pl.col("row") < 700 + 100 * number))
        .drop("row")
    )


def as_bytes(cell):
    """A cell in every form in which a file might hold it."""
    forms = [str(cell).encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le")]
    if isinstance(cell, int):
        forms += [np.int64(cell).tobytes(), np.int64(cell).byteswap().tobytes()]
        forms += [np.int32(cell).tobytes()] if cell < 2**31 else []
    if not isinstance(cell, str):
        forms += [np.float64(cell).tobytes(), np.float64(cell).byteswap().tobytes()]
    return forms


def inside(path):
    """All bytes of a state, as they lie there and unpacked."""
    with np.load(path, allow_pickle=False) as file:
        return path.read_bytes() + b"".join(file[name].tobytes() for name in file.files)


def test_state_certificate_and_messages_tell_nothing_of_a_person(tmp_path, capfd):
    frame = everybody()
    words = {"kinds": {"x": "number", "y": "number"}, "hierarchies": {"z": TREE}, "keep": ["cost"]}
    series = shoal.Series(plan_of(5, quasi=["x", "y", "z"], **words))
    said = []
    for number in range(3):
        series.release(
            register_of(number, frame), tmp_path / f"q{number}.csv", progress=lambda *it: said.append(it)
        )
    with pytest.raises(shoal.DataError) as error:  # one who is there twice
        series.release(pl.concat([frame, frame[:1]]), tmp_path / "no.csv")
    told = capfd.readouterr()
    messages = repr(said) + repr(series.files) + said_by(error.value, "canary") + told.out + told.err
    state = inside(series.files.state)
    papers = state + series.files.certificate.read_bytes() + messages.encode()
    assert b"canary" not in papers
    assert "canary".encode("utf-16-le") not in papers
    # the ends of ranges are cells of somebody, are shown in the table, and must be kept
    lines = [pl.read_csv(tmp_path / f"q{n}.csv", infer_schema=False) for n in range(3)]
    shown = {
        text for line in lines for cell in line["x"].to_list() for text in cell.strip("[]").split(", ")
    }
    shown |= {
        text for line in lines for cell in line["y"].to_list() for text in cell.strip("[]").split(", ")
    }
    assert any(
        np.float64(text).tobytes() in state for text in shown if text
    )  # this search finds what is there
    for column in frame.columns:
        for cell in frame[column].to_list():
            ends = column in {"x", "y"} and str(cell) in shown
            forms = as_bytes(cell) if not ends else as_bytes(cell)[:4]
            assert not [form for form in forms if form in papers], column
    everyone = RegisterState.of_bytes(series.files.state.read_bytes())
    assert len(everyone.person) <= PEOPLE
    assert (everyone.stay == 0).any()
    assert everyone.past.size
    assert len(series.files.state.read_bytes()) <= 48 * PEOPLE


def test_lists_tell_no_order_and_no_person(tmp_path):
    """A list is its entries, sorted: it says nothing of who has which, nor of quasi-identifiers."""
    frame = everybody()
    words = {"kinds": {"x": "number", "y": "number"}, "hierarchies": {"z": TREE}}
    series = shoal.Series(plan_of(5, quasi=["x", "y", "z"], **words))
    for number in range(2):
        series.release(register_of(number, frame), tmp_path / f"q{number}.csv")
    content = series.files.lists.read_bytes()
    lists = pl.read_csv(content)
    assert lists.columns == ["school", "ill", "since"]
    assert lists.equals(lists.sort("since", "school", "ill"))
    for column in ("who", "x", "y", "z"):
        assert not [cell for cell in frame[column].to_list() if str(cell).encode() in content], column


def test_trees_that_are_built_from_values_stay_what_was_shown(tmp_path):
    luck = np.random.default_rng(4)
    zips = [f"{luck.integers(10, 13)}{luck.integers(0, 4)}{luck.integers(0, 3)}" for _ in range(160)]
    frame = pl.DataFrame({"who": range(160), "zip": zips, "ill": luck.choice(VALUES, 160)})
    plan = plan_of(4, quasi=["zip"], kinds={}, hierarchies={"zip": shoal.prefixes(3, 2)})
    series, shown = shoal.Series(plan), {}
    for at in range(4):
        here = frame[at * 15 : 100 + at * 15].filter(pl.col("zip") != zips[at])
        release = series.release(here, tmp_path / f"q{at}.csv")
        cells = dict(zip(people_behind(release), release.table["zip"].to_list(), strict=True))
        for person, cell in cells.items():
            shown.setdefault(person, []).append(cell)
    stems = {person: [cell.rstrip("*") for cell in cells] for person, cells in shown.items()}
    assert all(
        one.startswith(other) or other.startswith(one)
        for its in stems.values()
        for one in its
        for other in its
    )
