"""Cells read together mean what they mean one by one, however nasty their texts are."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.check.in_order import judge_in_order
from shoal.check.judge import judge
from shoal.check.ranges import ends_of
from shoal.check.readings import Readings, read_cells
from shoal.check.ruler import NODES, RANGES, SETS, STARS, Reading, Ruler, number_of, place_ruler
from shoal.encode import encode
from shoal.model.cell import parse_range
from shoal.model.ends import top
from shoal.model.plan import Plan

NUMBERS = """
    0 -0 1 9 10 11 00 007 1.5 -1.5 1. .5 1e1 1E+1 1e-400 1e400 -1e400 1e 1e+ +1 --1 1_0 0x1 nan NaN inf -inf
    Infinity 5e-324 0.1 0.30000000000000004 9007199254740993 1.7976931348623157e308 -1.7976931348623157e308
    10.0000000001 10.000000015 1,5 1d \u0661 1\u0660 \uff11 \u00b2 12345678901234567890.123456789
    1.0000000001 10.00000001
"""
DATES = """
    2020-01-01 2020-02-29 2021-02-29 2020-02-30 2020-13-01 2020-00-10 2020-01-00 0000-01-01 0001-01-01
    9999-12-31 20200101 2020-W01-1 2020-W01 2020-001 +2020-1-01 -2020-1-01 2020-1-011 12020-1-01 2020/01/01
    2020-01-1 2020-1-1 2020-01-01T00:00:00 2020-01-01T00:00:00Z 202\u0660-01-01 2020-01-0\uff11 1970-01-01
"""
CLOCKS = """
    00:00:00 23:59:59 24:00:00 23:59:60 12:60:00 1:00:00 12:00 12:00:00.5 12:00:00.123456 12:00:00.1234567
    12:00:00,5 12:00:00+02:00 12:00:00.123456Z 25:00:00 12:00:0\u0660 12:00:00.12345\u0660
"""
NUMBERS_TRIED = [
    *NUMBERS.split(),
    *("", " ", " 1", "1 ", "1\n", "\t1", "1\0", "\u00a01", "1\u2003", "5" * 400, "0." + "3" * 400),
]
DATES_TRIED = [
    *DATES.split(),
    *(f"2020-01-02 {clock}" for clock in CLOCKS.split()),
    *(
        " 2020-1-01",
        "2020-01- 1",
        "2020-01-01 ",
        "2020-01-01\n",
        "0000-01-01 00:00:00",
        "2020-02-30 00:00:00",
    ),
    *("9999-12-31 23:59:59.999999", "0001-01-01 00:00:00", "2020-01-02  12:00:00", "2020-01-02\t12:00:00"),
]
WORDS = [
    "*",
    "\\*",
    "**",
    "{1, 2}",
    "[",
    "]",
    "[]",
    "[, ]",
    ", ",
    "a",
    "b",
    "x",
    " x ",
    "\\a",
    "{a, b}",
    "{a, }",
]
TEXTS = [*NUMBERS_TRIED, *DATES_TRIED, *WORDS]


def paired(one: str, other: str) -> list[str]:
    """Cells that two texts may be put together to, rightly or not."""
    return [
        f"[{one}, {other}]",
        f"[{one},{other}]",
        f"[{one}, {other}",
        f"{one}, {other}]",
        f"({one}, {other})",
        f"[{one}, {other}, {other}]",
        f"[[{one}, {other}]]",
        f" [{one}, {other}]",
        f"[{one}, {other}] ",
        f"[{one},  {other}]",
        f"{one} x {other}",
        f"[{one}, {other}] x {one}",
        f"{one} x [{one}, {other}]",
        f"[{one}, {other}] x [{other}, {one}] x {one}",
        f"{one}x{other}",
    ]


def rulers(kind: str) -> list[Ruler]:
    """Of ranges: by what they know."""
    values = np.array([-1.5, 0.0, 1.0, 1.5, 7.0, 9.0, 10.0])
    if kind == "date":
        values = np.array([18_262.0, 18_263.0, 18_290.0, 18_321.0])
    moments = np.array([1_577_923_200_000_000.0, 1_577_966_400_123_456.0, 1_578_009_599_000_000.0])
    sets = [values, moments] if kind == "date" else [values]
    return [
        Ruler("x", 1.0, width, RANGES, kind=kind, missing=missing, size=size, numbers=numbers)
        for numbers in [*sets, None]
        for width in (0.0, 10.0, float(np.ptp(values)), 1e12, 1.7e308, float("inf"))
        for missing, size in (
            [(-1, 0), (None, 0)]
            if numbers is None
            else [(-1, numbers.size), (numbers.size, numbers.size + 1)]
        )
    ]


def places() -> list[Ruler]:
    """Of places: by what they know."""
    both = np.array([-1.5, 0.0, 1.0]), np.array([0.0, 9.0, 10.0, 11.0])
    return [
        place_ruler("x", 1.0, width, ("a", "b"), numbers=numbers, missing=missing)
        for width in (0.0, 2.5, 11.0, 1e400)
        for numbers in (both, ())
        for missing in ([-1, 3] if numbers else [None, -1])
    ]


def others() -> list[Ruler]:
    """Of nodes, sets and values."""
    nodes = {"a": (0, 0, 0), "b": (1, 1, 0), "*": (0, 1, 1), "1": (0, 1, 1)}
    codes = {"a": 0, "b": 1, "1": 2, "": 3}
    return [
        *(
            Ruler("x", 1.0, 1.0, NODES, missing=gap, size=3, nodes=nodes, by_levels=up)
            for gap in (-1, 2)
            for up in (0, 1)
        ),
        Ruler("x", 1.0, 1.0, NODES),
        *(
            Ruler("x", 1.0, 2.0, form, missing=gap, size=5, places=codes)
            for form in (SETS, STARS)
            for gap in (-1, 4)
        ),
        *(Ruler("x", 1.0, 2.0, form) for form in (SETS, STARS)),
        Ruler("x", 1.0, 20.0, RANGES, missing=-1, size=7, numbers=np.arange(7.0), coding=top(5)),
    ]


def one_of(readings: Readings, at: int) -> Reading | None:
    """One cell of those that were read together."""
    if readings.unfit[at]:
        assert not any(runs.known[at] for runs in readings.axes)
        assert all((runs.first[at], runs.last[at]) == (0, -1) for runs in readings.axes)
        return None
    codes = [
        runs.several.get(at, ((int(runs.first[at]), int(runs.last[at])),)) if runs.known[at] else None
        for runs in readings.axes
    ]
    assert all(
        its is None or its[0] == (runs.first[at], runs.last[at])
        for its, runs in zip(codes, readings.axes, strict=True)
    )
    return Reading(float(readings.span[at]), *codes)


def check_alike(
    cells: Sequence[Sequence[str | None]], ruler: Ruler, read: Callable[..., Reading | None]
) -> int:
    """Compare bit by bit; how many cells fit."""
    width = len(cells[0])
    frame = pl.DataFrame(
        [list(one) for one in cells], schema={str(at): pl.String for at in range(width)}, orient="row"
    )
    readings = read_cells(frame, ruler)
    for at, texts in enumerate(cells):
        known, found = read(*texts), one_of(readings, at)
        assert repr(found) == repr(known), (texts, ruler)
    up_to = np.r_[0, np.cumsum(np.arange(1, 20))]
    for at, many in enumerate(readings.axes[0].records(up_to).tolist()):
        runs = None if (one := read(*cells[at])) is None else one.codes
        assert many == (-1 if runs is None else sum(up_to[last + 1] - up_to[first] for first, last in runs))
    return int((~readings.unfit).sum())


def all_texts(seed: int) -> list[str | None]:
    """Every text alone, and many pairs in every form."""
    luck = random.Random(seed)
    made = [cell for one in TEXTS for cell in [*paired(one, one), f"[0, {one}]", f"[2020-01-01, {one}]"]]
    made += [f"[-{one}, {one}]" for one in NUMBERS_TRIED]
    for pool in (NUMBERS_TRIED, DATES_TRIED, TEXTS):
        made += [cell for _ in range(150) for cell in paired(luck.choice(pool), luck.choice(pool))]
    return [None, *dict.fromkeys([*TEXTS, *made])]


@pytest.mark.parametrize("kind", ["number", "date"])
def test_nasty_ranges_are_read_together_as_one_by_one(kind: str) -> None:
    cells = [(cell,) for cell in all_texts(1)]
    for ruler in rulers(kind):
        assert check_alike(cells, ruler, ruler.read) > 1


@pytest.mark.parametrize("kind", ["number", "date"])
def test_nasty_bounds_are_read_together_as_one_by_one(kind: str) -> None:
    luck = random.Random(2)
    pool = [None, *TEXTS]
    cells = [(one, one) for one in pool] + [(luck.choice(pool), luck.choice(pool)) for _ in range(1500)]
    for ruler in rulers(kind):
        assert check_alike(cells, ruler, ruler.read_ends) > 1


def test_nasty_rectangles_are_read_together_as_one_by_one() -> None:
    luck = random.Random(3)
    pool = [None, *NUMBERS_TRIED[:20], *WORDS]
    texts = [(cell,) for cell in all_texts(3)]
    sides = ["0", "1", "-1.5", "[0, 1]", "[-1.5, 1]", "[9, 11]", "[1, 0]", "", "nan", "[0, 10.000000005]"]
    texts += [(f"{one} x {other}",) for one in sides for other in sides]
    bounds = [tuple(luck.choice(pool) for _ in range(4)) for _ in range(3000)]
    bounds += [(one, one, other, other) for one in pool for other in pool]
    for ruler in places():
        assert check_alike(texts, ruler, ruler.read) > 1
        assert check_alike(bounds, ruler, lambda *ends, by=ruler: by.read_box(ends)) > 1


@pytest.mark.parametrize("ruler", others(), ids=lambda ruler: f"{ruler.published}-{ruler.missing}")
def test_nasty_nodes_sets_values_and_coded_ends_are_read_as_one_by_one(ruler: Ruler) -> None:
    check_alike([(cell,) for cell in all_texts(4)], ruler, ruler.read)


LETTERS = st.text(alphabet="0123456789.-+eE_ ,[]*xTW:\u0663\uff11\n", max_size=24)
ENDS = st.one_of(
    st.sampled_from(TEXTS),
    LETTERS,
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat(sep=" ")),
)
CELLS = st.one_of(
    st.none(),
    LETTERS,
    ENDS,
    st.tuples(ENDS, ENDS, st.integers(0, 14)).map(lambda made: paired(made[0], made[1])[made[2]]),
)


@given(st.lists(CELLS, min_size=1, max_size=30), st.sampled_from(["number", "date", "place"]), st.randoms())
@settings(max_examples=300, deadline=None)
@example(["[1, 2, 3]"], "number", random.Random(0))
@example(["0000-01-01", "+2020-1-01", " 2020-1-01", "2020-01-02 23:59:60"], "date", random.Random(0))
def test_any_text_is_read_together_as_one_by_one(
    cells: list[str | None], kind: str, luck: random.Random
) -> None:
    ruler = luck.choice(places() if kind == "place" else rulers(kind))
    check_alike([(cell,) for cell in cells], ruler, ruler.read)
    if kind != "place":
        check_alike([(cell, luck.choice(cells)) for cell in cells], ruler, ruler.read_ends)


@given(st.lists(CELLS, min_size=1, max_size=30), st.sampled_from(["number", "date"]))
@settings(max_examples=300, deadline=None)
@example(["1e400", "[1, 2, 3]"], "number")
@example(["2020-01-02 23:59:60", "0000-01-01"], "date")
def test_ends_are_those_of_every_text_by_itself(cells: list[str | None], kind: str) -> None:
    low, high = ends_of(pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)}), kind)
    for at, cell in enumerate(cells):
        ends = [number_of(text, kind) for text in parse_range(cell or "")]
        known = [float("nan") if end is None else end for end in ends]
        assert repr([float(low[at]), float(high[at])]) == repr(known)


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("age", "[20, 25, 99]"),
        ("age", "[25, 20]"),
        ("age", "[20, 2_5]"),
        ("age", "[20, nan]"),
        ("age", "[20, 1e3]"),
        ("age", "[1e400, 1e400]"),
        ("born", "[2001-01-01, 2001-01-05, 2001-01-05]"),
        ("born", "[ 2001-1-01, 2001-01-05]"),
        ("born", "[+2001-1-01, 2001-01-05]"),
        ("born", "0000-01-01"),
        ("born", "[2001-01-05, 2001-01-01]"),
        ("born", "2001-02-30"),
    ],
)
def test_both_judges_refuse_a_cell_that_is_none(column: str, cell: str) -> None:
    frame = pl.DataFrame(
        {
            "age": [20 + at % 10 for at in range(40)],
            "born": [f"2001-01-{1 + at % 7:02d}" for at in range(40)],
            "ill": ["yes", "no"] * 20,
        }
    )
    plan = Plan(k=2, quasi=("age", "born"), sensitive=("ill",), kinds={"age": "number", "born": "date"})
    table = shoal.anonymize(frame, plan).table
    columns = encode(frame, plan).columns

    def judged(made: pl.DataFrame) -> list[bool]:
        ordered = made.sort(*made.columns, nulls_last=True)
        lines = lambda names=made.columns: iter([ordered.select(names)])  # noqa: E731
        return [
            judge(made, plan, columns, withheld=0).has_passed,
            judge_in_order(lines, made.columns, plan, columns, withheld=0).has_passed,
        ]

    assert judged(table) == [True, True]
    wrong = table.with_columns(
        pl.when(pl.col(column) == table[column][0]).then(pl.lit(cell)).otherwise(column).alias(column)
    )
    assert judged(wrong) == [False, False]
