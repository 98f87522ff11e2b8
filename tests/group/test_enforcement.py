"""How rules are enforced: what is exchanged, joined, grown anew and traded, and what stays as it was."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_rules
import shoal
from naive_geography import is_connected
from naive_rules import classes
from ruled_tables import assert_obeyed, table_of, with_rules
from shoal.encode import encode
from shoal.errors import DataError
from shoal.group import facts
from shoal.group.rules import enforce as rules
from shoal.group.rules.enforce import enforce
from shoal.model.graph import Graph
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task


@pytest.mark.parametrize("options", [{}, {"passes": 2}, {"small": "withhold"}])
def test_oka_obeys_with_every_option(options: dict[str, object]) -> None:
    from shoal.group import oka

    options = {name: value for name, value in options.items() if name in oka.FACTS.options}
    luck = random.Random(1)
    frame = pl.DataFrame(
        {
            "age": [luck.randint(1, 90) for _ in range(150)],
            "illness": [luck.choice(["flu", "flu", "cold", "ulcer"]) for _ in range(150)],
        }
    )
    release = shoal.anonymize(
        frame,
        k=4,
        quasi="age",
        kinds={"age": "number"},
        sensitive="illness",
        rules=["illness: 3-diverse", "illness: at most 60%"],
        method="oka",
        withhold=0.1 if "small" in options else 0.0,
        **options,
    )
    assert assert_obeyed(release.table.to_dicts(), ["illness: 3-diverse", "illness: at most 60%"], 4) > 5


def test_copies_of_one_tuple_are_dealt_so_that_rules_hold() -> None:
    # one tuple 8 times, 4 of each illness: two groups of 4 with both illnesses lose nothing
    frame = pl.DataFrame({"age": [30] * 8 + [60] * 4, "illness": ["a"] * 4 + ["b"] * 4 + ["a", "b"] * 2})
    release = shoal.anonymize(
        frame, k=4, quasi="age", sensitive="illness", rules="illness: 2-diverse", method="k-member"
    )
    assert release.certificate.loss == 0


def test_a_swap_is_cheaper_than_a_merge() -> None:
    # two groups far apart, one with a single illness; a near third group has one to spare
    frame = pl.DataFrame(
        {"age": [10, 10, 11, 11, 90, 90], "illness": ["a", "a", "b", "b", "a", "b"]},
    )
    release = shoal.anonymize(
        frame, k=2, quasi="age", sensitive="illness", rules="illness: 2-diverse", method="mondrian"
    )
    assert release.certificate.loss == pytest.approx(4 / 80)
    assert release.certificate.classes == 2  # both mixed groups look alike: [10, 11]


def test_withheld_rows_come_back_where_the_rest_would_break_a_rule() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 1, 99], "illness": ["a", "a", "a", "a", "b"]})
    release = shoal.anonymize(
        frame,
        k=2,
        quasi="age",
        sensitive="illness",
        rules="illness: 2-diverse",
        withhold=0.2,
        method="k-member",
    )
    assert release.verdict.has_passed
    assert release.certificate.published == 5


@pytest.mark.parametrize("method", ["fold", "spread", "scheme"])
@pytest.mark.parametrize("seed", range(3))
def test_labels_stay_whole_under_rules(method: str, seed: int) -> None:
    luck = random.Random(seed)
    frame = pl.DataFrame(
        {
            "name": [luck.choice("abcdefghijkl") for _ in range(60)],
            "illness": [luck.choice(["flu", "flu", "cold", "ulcer"]) for _ in range(60)],
        }
    )
    release = shoal.anonymize(
        frame, k=3, quasi="name", sensitive="illness", rules="illness: 3-diverse", method=method
    )
    groups = frame.with_columns(pl.Series("group", release.groups.label)).group_by("name")
    assert (groups.agg(pl.col("group").n_unique())["group"] == 1).all()


@pytest.mark.parametrize("seed", range(3))
def test_boxes_stay_apart_under_rules(seed: int) -> None:
    luck = random.Random(seed)
    rows = 80
    frame = pl.DataFrame(
        {
            "lat": [luck.random() for _ in range(rows)],
            "lon": [luck.random() for _ in range(rows)],
            "age": [luck.randint(1, 60) for _ in range(rows)],
            "illness": [luck.choice(["flu", "flu", "cold", "ulcer"]) for _ in range(rows)],
        }
    )
    for method, quasi, kinds in (
        ("rectangles", ["lat", "lon"], {"spot": "place(lat, lon)"}),
        ("intervals", ["age"], {"age": "number"}),
    ):
        release = shoal.anonymize(
            frame,
            k=3,
            quasi=list(kinds),
            kinds=kinds,
            sensitive="illness",
            rules="illness: 3-diverse",
            method=method,
        )
        boxes = []
        for label in range(release.groups.label.max() + 1):
            mine = frame.filter(pl.Series(release.groups.label == label))
            boxes.append([(mine[name].min(), mine[name].max()) for name in quasi])
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                assert any(a[0] > b[1] or b[0] > a[1] for a, b in zip(one, other, strict=True))


def test_the_order_of_rows_changes_nothing() -> None:
    frame, words = table_of("k-member", 60, 4)
    words = with_rules(words, ("illness: at most 90%", "cost: ordered 0.2-close"))
    one = shoal.anonymize(frame, k=3, unit="who", **words)
    other = shoal.anonymize(frame.sample(fraction=1, shuffle=True, seed=1), k=3, unit="who", **words)
    assert one.table.equals(other.table)


def test_records_of_one_row_may_be_parted() -> None:
    frame = pl.DataFrame({"age": [1, 1, 9, 9], "n": [6, 2, 3, 5], "illness": ["a", "b", "a", "b"]})
    release = shoal.anonymize(
        frame, k=3, quasi="age", count="persons(n)", sensitive="illness", rules="illness: at most 75%"
    )
    assert release.verdict.has_passed
    for rows in classes(release.table.to_dicts(), ["age"]):
        values = [row["illness"] for row in rows for _ in range(row["n"])]
        assert naive_rules.largest_share(values) <= 0.75


def test_closeness_does_not_swallow_the_table() -> None:
    # illness follows sex, so near groups are never close; cuts that keep the mix still part by age
    luck = random.Random(0)
    sexes = [luck.choice("mf") for _ in range(400)]
    frame = pl.DataFrame(
        {
            "age": [luck.randint(1, 90) for _ in sexes],
            "sex": sexes,
            "illness": [luck.choice(["flu", "cold"] if sex == "m" else ["gout", "ulcer"]) for sex in sexes],
        }
    )
    release = shoal.anonymize(
        frame, k=4, quasi=["age", "sex"], sensitive="illness", rules="illness: 0.1-close", method="k-member"
    )
    assert release.verdict.has_passed
    assert release.certificate.classes >= 15
    assert release.certificate.loss_percent < 65


@pytest.mark.parametrize("seed", range(4))
def test_rules_hold_where_groups_are_made_anew(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # large tables give up repairs that join half of the groups; small parts are grown by themselves
    monkeypatch.setattr(rules, "SMALL", 0)
    monkeypatch.setattr(rules, "GROWN", 40)
    monkeypatch.setattr(rules, "LOOKS", 0)
    luck = random.Random(seed)
    frame = pl.DataFrame(
        {
            "age": [luck.randint(1, 90) for _ in range(300)],
            "town": [luck.choice("abcdefgh") for _ in range(300)],
            "illness": [luck.choice(["flu", "flu", "cold", "ulcer", "reflux"]) for _ in range(300)],
            "cost": [luck.choice([10, 20, 25, 90]) for _ in range(300)],
        }
    )
    everyone = frame.to_dicts()
    for asked in (("illness: 0.1-close",), ("illness: entropy 3-diverse", "cost: ordered 0.1-close")):
        release = shoal.anonymize(
            frame,
            k=3,
            quasi=["age", "town"],
            sensitive=["illness", "cost"],
            rules=asked,
            method="k-member",
            seed=seed,
        )
        published = release.table.to_dicts()
        assert sorted(map(repr, (row["illness"] for row in published))) == sorted(
            map(repr, (row["illness"] for row in everyone))
        )
        assert assert_obeyed(published, asked, 3) > 5


def test_records_trade_places_where_that_loses_less() -> None:
    # six records at each end; the groups given take five of one end and one of the other
    ends = pl.DataFrame({"age": [1] * 6 + [51] * 6, "illness": ["a", "b", "c"] * 4})
    plan = Plan(k=6, quasi=("age",), sensitive=("illness",), rules=("illness: 3-diverse",))
    coded = encode(ends, plan)
    crossed = Grouping.of_pieces(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([5, 1, 1, 5]))
    done = enforce(coded, crossed, Task(k=6), facts("k-member"))
    ages = coded.codes[done.distinct, 0]
    assert {len(set(ages[done.group == group])) for group in range(done.groups)} == {1}
    for group in range(done.groups):
        mine = done.group == group
        assert done.count[mine].sum() == 6
        assert len(set(coded.held.value[done.distinct[mine], 0])) == 3


def border(a: int, b: int) -> tuple[str, str]:
    return f"z{a:02}", f"z{b:02}"


@pytest.mark.parametrize("seed", range(6))
def test_regions_stay_connected_under_rules(seed: int) -> None:
    luck = random.Random(seed)
    many = 30
    edges = [(luck.randrange(v), v) for v in range(1, many)]
    edges += [(a, b) for a, b in (sorted(luck.sample(range(many), 2)) for _ in range(8))]
    codes = [luck.randrange(many) for _ in range(200)]
    frame = pl.DataFrame(
        {
            "zip": [f"z{code:02}" for code in codes],
            "illness": [luck.choice(["flu"] * 5 + ["cold", "ulcer"]) for _ in codes],
            "who": [f"p{luck.randrange(60)}" for _ in codes],
        }
    )
    asked = ("illness: 3-diverse", "illness: at most 80%")
    words = {"quasi": "zip", "graphs": {"zip": Graph.of_edges([border(*edge) for edge in edges])}}
    free = shoal.anonymize(frame, k=5, method="regions", **words)
    release = shoal.anonymize(
        frame, k=5, method="regions", sensitive="illness", rules=asked, unit="who", **words
    )
    assert assert_obeyed(release.table.to_dicts(), asked, 5) > 2
    assert release.certificate.classes < free.certificate.classes
    # regions without records may join others: each belongs to one group at most, so spread what is there
    label = dict(zip(codes, release.groups.label.tolist(), strict=True))
    empty = [code for code in range(many) if code not in label]
    for group in set(label.values()):
        mine = [code for code, its in label.items() if its == group]
        assert is_connected([*mine, *_reached(mine, empty, edges)], edges)
        assert len({who for who, at in zip(frame["who"], codes, strict=True) if at in mine}) >= 5


def _reached(mine: list[int], empty: list[int], edges: list[tuple[int, int]]) -> set[int]:
    """The regions without records that hang together with some."""
    found: set[int] = set()
    while True:
        near = {b for one, other in edges for a, b in ((one, other), (other, one)) if a in found | {*mine}}
        if near & {*empty} <= found:
            return found
        found |= near & {*empty}


def test_regions_that_break_a_rule_by_themselves_are_withheld_or_an_error() -> None:
    # two islands: on the second everybody has the flu, on the first there is a choice
    first = pl.DataFrame({"zip": ["z00", "z01", "z02"] * 4, "illness": ["flu", "cold"] * 6})
    second = pl.DataFrame({"zip": ["z03", "z04"] * 2, "illness": ["flu"] * 4})
    frame = pl.concat([first, second])
    graph = Graph.of_edges([border(0, 1), border(1, 2), border(3, 4)])
    words: dict[str, Any] = {
        "k": 2,
        "quasi": "zip",
        "graphs": {"zip": graph},
        "method": "regions",
        "sensitive": "illness",
        "rules": "illness: 2-diverse",
    }
    with pytest.raises(
        DataError, match=r"1 of the graph's connected parts break a rule .* 4 of 16 records"
    ):
        shoal.anonymize(frame, **words)
    release = shoal.anonymize(frame, withhold=0.25, **words)
    assert release.certificate.withheld == 4
    assert assert_obeyed(release.table.to_dicts(), ["illness: 2-diverse"], 2) >= 1
    with pytest.raises(DataError, match="No release can obey"):
        shoal.anonymize(second, **{**words, "withhold": 0.5})
