"""Rules and units hold in the release of every method, judged by plain Python."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import naive_rules
import shoal
from naive_rules import classes, holds
from shoal.errors import DataError, PlanError
from shoal.group import METHODS, facts
from shoal.model.hierarchy import Hierarchy
from tables import frame_of
from test_every_method import columns_of, k_of, kinds_of, random_table, style_of

PATHS = [("flu", "lung", "*"), ("cold", "lung", "*"), ("ulcer", "gut", "*"), ("reflux", "gut", "*")]
RULES = (
    "illness: 2-diverse",
    "illness: 3-diverse",
    "illness: entropy 2-diverse",
    "illness: (1.5, 2)-diverse",
    "illness: (2, 3)-diverse",
    "illness: at most 50%",
    "illness: 0.3-close",
    "cost: ordered 0.2-close",
    "illness: 0.25-close by hierarchy",
    "illness: 0-close",
)
every_method = pytest.mark.parametrize("method", METHODS)
POINTS = [(50 + i / 7, 4 + i % 5 / 3) for i in range(17)]


def table_of(method: str, rows: int, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table that the method takes, with an illness, a cost and a person behind each row."""
    luck = random.Random(seed)
    if facts(method).takes == {"place"}:
        places = [luck.choice(POINTS) for _ in range(rows)]
        frame = pl.DataFrame({"lat": [p[0] for p in places], "lon": [p[1] for p in places]})
        words: dict[str, Any] = {"quasi": ["spot"], "kinds": {"spot": "place(lat, lon)"}}
    elif not set(kinds_of(method)):
        pytest.skip("takes none of our kinds")
    else:
        table = random_table(method, rows, seed=seed)
        names = list(table.cells)[: columns_of(method)]
        frame = frame_of(table).select(names)
        trees = {name: Hierarchy.of_paths(table.paths[name]) for name in names if name in table.paths}
        kinds = {name: table.kinds[name] for name in names}
        words = {"quasi": names, "kinds": kinds, "hierarchies": trees}
    common = luck.choice([["flu"], ["flu"] * 4, ["flu"] * 9, []])
    pool = [*common, *luck.sample(["flu", "cold", "ulcer", "reflux", None], luck.randint(1, 5))]
    frame = frame.with_columns(
        pl.Series("illness", [luck.choice(pool) for _ in range(rows)], dtype=pl.String),
        pl.Series("cost", [luck.choice([10, 20, 25, 90]) for _ in range(rows)]),
        pl.Series("who", [f"p{luck.randint(1, luck.choice([3, rows]))}" for _ in range(rows)]),
    )
    words |= {"sensitive": ["illness", "cost"], "style": style_of(method), "method": method, "seed": seed}
    return frame, words


def with_rules(words: dict[str, Any], rules: tuple[str, ...]) -> dict[str, Any]:
    trees = dict(words.get("hierarchies", {}))
    if any(rule.endswith("by hierarchy") for rule in rules):
        trees["illness"] = Hierarchy.of_paths(PATHS)
    return {**words, "rules": rules, "hierarchies": trees}


def obeys(rows: list[dict[str, Any]], everyone: list[dict[str, Any]], rule: str) -> bool:
    name = rule.partition(":")[0]
    return holds(rule, [row[name] for row in rows], [row[name] for row in everyone], PATHS)


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_rules_hold_or_the_whole_table_breaks_them(method: str, seed: int) -> None:
    assert_rules_hold(method, seed, random.Random(seed).sample(RULES, 4))


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("seed", range(3, 15))
def test_every_rule_holds_or_the_whole_table_breaks_it(method: str, seed: int) -> None:
    assert_rules_hold(method, seed, list(RULES))


def assert_rules_hold(method: str, seed: int, each: list[str]) -> None:
    if facts(method).obeys == "none":
        pytest.skip("takes no rules")
    luck = random.Random(seed)
    k = k_of(method, luck.randint(2, 4))
    frame, words = table_of(method, luck.randint(k, 40), seed)
    everyone = frame.to_dicts()
    for rules in [(rule,) for rule in each] + [tuple(luck.sample(RULES, 3))]:
        possible = all(obeys(everyone, everyone, rule) for rule in rules)
        asked = with_rules(words, rules)
        if not possible:
            with pytest.raises(DataError, match="No release can obey"):
                shoal.anonymize(frame, k=k, **asked)
            continue
        release = shoal.anonymize(frame, k=k, **asked)
        assert release.verdict.has_passed, release.verdict.reasons
        assert release.certificate.factor is None
        assert [ruling.rule for ruling in release.certificate.rules] == list(rules)
        faces = [name for name in release.table.columns if name not in {"illness", "cost"}]
        published = release.table.to_dicts()
        assert sorted(map(repr, (row["illness"] for row in published))) == sorted(
            map(repr, (row["illness"] for row in everyone))
        )
        for rows in classes(published, faces):
            assert len(rows) >= k
            assert all(obeys(rows, published, rule) for rule in rules)


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_k_counts_persons_where_a_unit_is_named(method: str, seed: int) -> None:
    if facts(method).obeys == "none":
        pytest.skip("takes no unit")
    luck = random.Random(seed)
    k = k_of(method, luck.randint(2, 4))
    frame, words = table_of(method, luck.randint(k, 40), seed)
    persons = frame["who"].n_unique()
    if persons < k:
        with pytest.raises(DataError, match=f"the whole table has {persons}"):
            shoal.anonymize(frame, k=k, unit="who", **words)
        return
    release = shoal.anonymize(frame, k=k, unit="who", **words)
    assert release.verdict.has_passed, release.verdict.reasons
    assert "who" not in release.table.columns
    # every published row came from its source: same values, and k persons stand in each class
    source = release.groups.source
    assert sorted(source) == list(range(frame.height))
    behind = frame[source].to_dicts()
    faces = [name for name in release.table.columns if name not in {"illness", "cost"}]
    told = [
        {**row, "who": from_["who"]} for row, from_ in zip(release.table.to_dicts(), behind, strict=True)
    ]
    for row, from_ in zip(told, behind, strict=True):
        assert (row["illness"], row["cost"]) == (from_["illness"], from_["cost"])
    for rows in classes(told, faces):
        assert len({row["who"] for row in rows}) >= k


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("seed", range(3, 9))
def test_rules_and_persons_hold_together_or_the_whole_table_breaks_them(method: str, seed: int) -> None:
    if facts(method).obeys == "none":
        pytest.skip("takes no rules")
    luck = random.Random(seed)
    k = k_of(method, luck.randint(2, 4))
    frame, words = table_of(method, luck.randint(k, 40), seed)
    everyone = frame.to_dicts()
    for rules in [(), *(tuple(luck.sample(RULES, many)) for many in (1, 1, 2))]:
        possible = all(obeys(everyone, everyone, rule) for rule in rules)
        asked = with_rules(words, rules)
        if not possible or frame["who"].n_unique() < k:
            with pytest.raises(DataError, match=r"No release can obey|the whole table has"):
                shoal.anonymize(frame, k=k, unit="who", **asked)
            continue
        release = shoal.anonymize(frame, k=k, unit="who", **asked)
        assert release.verdict.has_passed, release.verdict.reasons
        faces = [name for name in release.table.columns if name not in {"illness", "cost"}]
        behind = frame[release.groups.source]["who"].to_list()
        told = [{**row, "who": who} for row, who in zip(release.table.to_dicts(), behind, strict=True)]
        assert sorted(release.groups.source) == list(range(frame.height))
        for rows in classes(told, faces):
            assert len({row["who"] for row in rows}) >= k
            assert all(obeys(rows, told, rule) for rule in rules)


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
    published = release.table.to_dicts()
    found = classes(published, ["age"])
    assert len(found) > 5
    for rows in found:
        assert len(rows) >= 4
        assert obeys(rows, published, "illness: 3-diverse")
        assert obeys(rows, published, "illness: at most 60%")


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


def test_the_error_has_figures_and_no_values() -> None:
    canary = "Zyxwvut73"
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5], "illness": [canary] * 4 + ["b"]})
    words: dict[str, Any] = {"k": 2, "quasi": "age", "sensitive": "illness"}
    for rule, figures in (
        ("illness: 3-diverse", "5 rows hold 2 different values"),
        ("illness: entropy 2-diverse", "that of 1.649 equally frequent values"),
        ("illness: (2, 2)-diverse", "in 4 of 5 rows, and all but the 1 commonest in 1"),
        ("illness: at most 50%", r"in 4 of 5 rows \(80 %\)"),
    ):
        with pytest.raises(DataError, match=figures) as caught:
            shoal.anonymize(frame, **words, rules=rule)
        assert canary not in str(caught.value)


def test_an_ordered_rule_needs_an_order() -> None:
    frame = pl.DataFrame({"age": [1, 2], "illness": ["a", "b"]})
    with pytest.raises(DataError, match="neither numbers nor dates"):
        shoal.anonymize(frame, k=2, quasi="age", sensitive="illness", rules="illness: ordered 0.2-close")


def test_a_hierarchy_must_know_every_value() -> None:
    frame = pl.DataFrame({"age": [1, 2], "illness": ["flu", "gout"]})
    with pytest.raises(DataError, match="1 of 2 cells whose value is not in its hierarchy"):
        shoal.anonymize(
            frame,
            k=2,
            quasi="age",
            sensitive="illness",
            rules="illness: 0.2-close by hierarchy",
            hierarchies={"illness": Hierarchy.of_paths(PATHS)},
        )


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
        frame, k=3, quasi="age", count="n", sensitive="illness", rules="illness: at most 75%"
    )
    assert release.verdict.has_passed
    for rows in classes(release.table.to_dicts(), ["age"]):
        values = [row["illness"] for row in rows for _ in range(row["n"])]
        assert naive_rules.largest_share(values) <= 0.75


def test_a_method_that_takes_no_rules_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from shoal.group import mondrian

    monkeypatch.setattr(mondrian, "FACTS", replace(mondrian.FACTS, obeys="none"))
    frame = pl.DataFrame({"age": [1, 2], "illness": ["flu", "gout"]})
    with pytest.raises(PlanError, match="takes neither rules nor a unit"):
        shoal.anonymize(
            frame, k=2, quasi="age", sensitive="illness", rules="illness: 2-diverse", method="mondrian"
        )


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
    from shoal.group import rules

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
        found = classes(published, ["age", "town"])
        assert len(found) > 5
        for rows in found:
            assert len(rows) >= 3
            assert all(obeys(rows, published, rule) for rule in asked)


def test_records_trade_places_where_that_loses_less() -> None:
    import numpy as np

    from shoal.encode import encode
    from shoal.group.rules import enforce
    from shoal.model.grouping import Grouping
    from shoal.model.plan import Plan
    from shoal.model.task import Task

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
