"""The share of pairs of records that published cells still tell apart, against counting pair by pair."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.check.apart import CellsSeen, told_apart
from shoal.check.ruler import Ruler, place_ruler, ruler_of
from shoal.encode import survey
from shoal.model.cell import parse_set
from shoal.model.figures import round_down
from shoal.model.plan import Plan

TREE = shoal.Hierarchy.of_paths(
    [
        ("nurse", "care", "service"),
        ("carer", "care", "service"),
        ("cook", "food", "service"),
        ("smith", "craft"),
    ]
)
JOBS = ("nurse", "carer", "cook", "smith")


def naive(covers: list[object], withheld: int = 0) -> float:
    """Each record covers a set of values; None is a record that was withheld."""
    people = [*covers, *[None] * withheld]
    sure = may = 0
    for one, other in combinations(people, 2):
        if one is not None and other is not None and one == other and len(one) == 1:
            continue
        may += 1
        sure += one is not None and other is not None and not (one & other)
    return sure / may if may else 1.0


def people(rows: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(20, 40, rows)
    return pl.DataFrame(
        {
            "age": [None if random.random() < 0.1 else int(one) for one in age],
            "born": [f"19{70 + int(one) // 4}-0{1 + int(one) % 9}-11" for one in age],
            "job": [JOBS[at] for at in random.integers(0, 4, rows)],
            "tool": [["saw", "axe", "pen", None][at] for at in random.integers(0, 4, rows)],
        }
    )


def covered(release: shoal.Release, withheld: int = 0) -> dict[str, float]:
    table, found = release.table, {}
    ages = frozenset({*range(20, 40), None})
    every = pl.date_range(pl.date(1970, 1, 1), pl.date(1985, 1, 1), eager=True).cast(pl.String).to_list()

    def between(low: str, high: str) -> frozenset:
        return frozenset(range(int(low), int(high) + 1))

    def number(cell: str | None) -> frozenset:
        if cell is None:
            return frozenset({None})
        if cell == "*":
            return ages
        return between(*cell.strip("[]").split(", ")) if cell.startswith("[") else frozenset({int(cell)})

    def day(cell: str) -> frozenset:
        if cell == "*":
            return frozenset(every)
        low, high = cell.strip("[]").split(", ") if cell.startswith("[") else (cell, cell)
        return frozenset(one for one in every if low <= one <= high)

    def node(cell: str) -> frozenset:
        if cell == "*":
            return frozenset(JOBS)
        first, last, _ = TREE.nodes()[cell]
        return frozenset(TREE.leaves[first : last + 1])

    tools = frozenset({"saw", "axe", "pen", None})
    for name, read in (
        ("age", number),
        ("born", day),
        ("job", node),
        ("tool", lambda cell: tools if cell == "*" else frozenset(parse_set(cell))),
    ):
        found[name] = naive([read(cell) for cell in table[name]], withheld)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("words", [{}, {"withhold": 0.1, "method": "threshold"}, {"style": "suppress"}])
def test_the_share_is_that_of_pairs_counted_one_by_one(seed, words):
    frame = people(60, seed)
    quasi = ["age", "born", "job", "tool"]
    if words.get("style") == "suppress":
        words = {**words, "method": "forest"}
    release = shoal.anonymize(
        frame,
        k=3,
        quasi=quasi,
        hierarchies={} if "style" in words else {"job": TREE},
        unit="rows",
        seed=seed,
        **words,
    )
    expected = covered(release, release.certificate.withheld)
    for column, said in zip(release.verdict.columns, release.certificate.columns, strict=True):
        assert column.told_apart == pytest.approx(expected[column.name], abs=1e-12)
        assert said.told_apart == round_down(column.told_apart)
    mean = 100 * np.mean([expected[name] for name in quasi])
    assert release.certificate.told_apart_percent == pytest.approx(mean, rel=0.01)
    assert release.certificate.told_apart_percent <= mean + 1e-9
    assert "pairs of records apart" in " ".join(release.in_words())


def test_a_raw_column_has_all_and_a_column_of_stars_nothing():
    for cells, share in ((["1", "1", "2", "7"], 1.0), (["*"] * 4, 0.0), (["5"] * 4, 1.0)):
        texts = pl.DataFrame({"x": cells})
        counts = texts.group_by("x", maintain_order=True).len()
        records = counts["len"].to_numpy().astype(np.int64)
        for published in ("ranges", "sets", "stars"):
            ruler = Ruler("x", 1.0, 6.0, published)
            assert told_apart(counts.select("x"), records, ruler, withheld=0) == share
        assert told_apart(counts.select("x"), records, Ruler("x", 1.0, 6.0, "nodes"), withheld=0) is None


def test_rectangles_are_apart_where_one_side_is():
    cells = ["[0, 1] x [0, 1]", "[1, 2] x [0, 1]", "[0, 1] x [2, 3]", "0 x 0", "*", None]
    records = np.array([2, 1, 1, 3, 1, 2])
    ruler = place_ruler("spot", 1.0, 6.0, ("lat", "lon"), missing=9)
    sides = [((0, 1), (0, 1)), ((1, 2), (0, 1)), ((0, 1), (2, 3)), ((0, 0), (0, 0))]

    def points(box) -> frozenset:
        (a, b), (c, d) = box
        return frozenset((x, y) for x in range(a, b + 1) for y in range(c, d + 1))

    everything = frozenset((x, y) for x in range(4) for y in range(4)) | {None}
    covers = [*(points(box) for box in sides), everything, frozenset({None})]
    listed = [cover for cover, many in zip(covers, records, strict=True) for _ in range(many)]
    found = told_apart(pl.DataFrame({"spot": cells}), records, ruler, withheld=2)
    assert found == pytest.approx(naive(listed, 2))
    typed = pl.DataFrame({"a": ["0", "1"], "b": ["1", "2"], "c": ["0", "2"], "d": ["1", "3"]})
    assert told_apart(typed, np.array([1, 1]), ruler, withheld=0) == 1.0


def test_typed_bounds_tell_what_texts_tell():
    frame = people(60, 5).drop("tool", "job").drop_nulls()
    one, other = (
        shoal.anonymize(frame, k=3, quasi=["age", "born"], unit="rows", cells=cells, method="mondrian")
        for cells in ("text", "bounds")
    )
    assert [c.told_apart for c in one.verdict.columns] == [c.told_apart for c in other.verdict.columns]
    middle = shoal.anonymize(
        frame, k=3, quasi=["age", "born"], unit="rows", cells="middle", method="mondrian"
    )
    assert middle.certificate.told_apart_percent is None


def test_more_sets_than_can_be_compared_leave_the_figure_unknown(monkeypatch):
    monkeypatch.setattr("shoal.check.apart.MOST", 1)
    frame = pl.DataFrame({"x": ["a", "b"]})
    ruler = Ruler("x", 1.0, 1.0, "sets")
    assert told_apart(frame, np.array([1, 1]), ruler, withheld=0) is None


def test_cells_that_go_by_in_parts_are_those_of_the_whole(monkeypatch):
    frame = people(200, 3).drop_nulls("age")
    plan = Plan(k=2, quasi=("age",), kinds={"age": "number"})
    ruler = ruler_of(survey(frame, plan).books[0].column, loss="size")
    cells = frame["age"].cast(pl.String)
    seen = CellsSeen()
    for at in range(0, len(cells), 7):
        part = cells[at : at + 7]
        seen.add(part, np.ones(len(part), dtype=np.int64))
    counts = cells.to_frame().group_by("age").len()
    whole = told_apart(counts.select("age"), counts["len"].to_numpy().astype(np.int64), ruler, withheld=5)
    assert seen.told_apart(ruler, withheld=5) == whole
    monkeypatch.setattr("shoal.check.apart.MANY", 10)
    many = CellsSeen()
    for at in range(0, len(cells), 7):
        many.add(cells[at : at + 7], np.ones(len(cells[at : at + 7]), dtype=np.int64))
    assert many.told_apart(ruler, withheld=5) is None


def test_verify_recomputes_it_and_denies_a_better_one(tmp_path):
    frame = people(60, 1)
    words = {"k": 3, "quasi": ["age", "born", "tool"], "unit": "rows", "method": "mondrian"}
    files = shoal.anonymize(frame, **words).write(tmp_path / "out.csv")

    def finding(certificate: shoal.Certificate) -> bool | None:
        found = shoal.verify(files.table, certificate)
        return next(one.holds for one in found if one.claim == "pairs told apart")

    told = shoal.Certificate.of_json(files.certificate.read_text("utf-8"))
    assert json.loads(files.certificate.read_text("utf-8"))["told_apart_percent"] == told.told_apart_percent
    assert finding(told) is True
    assert finding(replace(told, told_apart_percent=99.9)) is False
    assert finding(replace(told, told_apart_percent=None)) is False
    better = tuple(replace(one, told_apart=0.999) if one.name == "age" else one for one in told.columns)
    assert finding(replace(told, columns=better)) is False
    tree = shoal.anonymize(frame, **{**words, "quasi": ["age", "job"]}, hierarchies={"job": TREE})
    files = tree.write(tmp_path / "tree.csv")
    told = shoal.Certificate.of_json(files.certificate.read_text("utf-8"))
    assert finding(told) is None
    found = shoal.verify(files.table, told, hierarchies={"job": TREE})
    assert next(one.holds for one in found if one.claim == "pairs told apart") is True
