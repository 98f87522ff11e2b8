"""A large table is let go as soon as it has served: no more of it is held than the next step needs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.encode import encode
from shoal.engines.memory import Memory
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan

ROWS = 400
WORDS = {
    "k": 5,
    "quasi": ["age", "town"],
    "sensitive": ["ill"],
    "method": "mondrian",
    "kinds": {"town": "label"},
}


def people() -> pl.DataFrame:
    random = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "name": [f"who {i}" for i in range(ROWS)],
            "age": random.integers(20, 90, ROWS),
            "town": [f"town {i}" for i in random.integers(0, 4, ROWS)],
            "ill": [f"illness {i}" for i in random.integers(0, 9, ROWS)],
        }
    )


@pytest.fixture
def steps(monkeypatch):
    """What is there when a step begins: (step, its arguments)."""
    seen = []

    def watch(verb):
        step = getattr(Memory, verb)

        def watched(self, *given, **words):
            seen.append((verb, given))
            return step(self, *given, **words)

        monkeypatch.setattr(Memory, verb, watched)

    for verb in ("recode", "check"):
        watch(verb)
    return seen


def test_what_was_coded_recoded_and_published_is_not_held(steps):
    whole = people()
    release = shoal.anonymize(whole, **WORDS, withhold=0.02)
    (_, (table, coded, grouping, *_)), (_, (after, _, _, told, *_)) = steps
    assert table.columns == ("name", "ill")
    assert table.faces[1].size == grouping.groups
    assert coded.codes.shape == (0, 2)
    assert coded.total == told.total == ROWS
    assert after.frame.height == 0
    assert told.row.size == told.codes.size == 0
    assert release.left_out == ("name",)
    assert whole.height == ROWS


def test_persons_are_still_known_when_they_are_counted(steps):
    shoal.anonymize(people(), **WORDS, unit="name")
    table = steps[-1][1][0]
    assert table.frame["name"].to_list() == people()["name"].to_list()


def test_a_table_of_quasi_identifiers_alone_keeps_its_rows(steps):
    frame = people().select("age", "town")
    release = shoal.anonymize(frame, **{**WORDS, "sensitive": []})
    assert steps[0][1][0].rows == release.table.height == ROWS


def test_a_table_that_nobody_else_holds_is_gone_before_it_is_grouped(monkeypatch):
    held = [people()]
    gone = weakref.ref(held[0])
    there = []
    group = Memory.group
    monkeypatch.setattr(Memory, "group", lambda *given: there.append(gone()) or group(*given))
    shoal.anonymize(held.pop(), WORDS)
    assert there == [None]


def test_the_command_line_does_not_hold_the_table(monkeypatch, tmp_path, capsys):
    from shoal.cli import main

    people().write_csv(tmp_path / "in.csv")
    there = []
    group = Memory.group

    def frames():
        return [one for one in gc.get_objects() if type(one) is pl.DataFrame and one.height == ROWS]

    def watched(*given):
        gc.collect()
        there.extend(one.columns for one in frames())
        return group(*given)

    monkeypatch.setattr(Memory, "group", watched)
    words = "-k 5 -q age,town -s ill --kinds town=label --method mondrian"
    with pytest.raises(SystemExit) as end:
        main(["anonymize", str(tmp_path / "in.csv"), *words.split(), "-o", str(tmp_path / "out.csv")])
    assert end.value.code == 0
    assert there == [["name", "ill"]]


def test_what_is_left_of_coded_rows_and_groups_counts_as_before():
    coded = encode(people(), Plan(**WORDS))
    label = np.where(np.arange(coded.distinct) < 3, -1, 0)
    grouping = Grouping.of_labels(label, coded.count)
    assert grouping.without_rows().withheld == grouping.withheld > 0
    left = coded.without_rows()
    assert (left.total, left.weight, left.columns) == (coded.total, coded.weight, coded.columns)
    assert left.codes.shape[1] == coded.codes.shape[1]
    assert coded.without_codes().row is coded.row
