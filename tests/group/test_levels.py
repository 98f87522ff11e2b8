"""levels: the best choice of one level for each column, held against all choices."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from naive import Table
from naive_levels import all_choices, faces_at
from ruled_tables import RULES, obeys, with_rules
from shoal.bound import value_of
from shoal.errors import DataError, PlanError
from shoal.group.levels import group
from shoal.kernels.levels import cheapest_levels, cost_of
from shoal.kernels.rules.violation import make_tallies
from shoal.model.hierarchy import Hierarchy, bins
from shoal.model.levels import lattice_of, levels_of
from shoal.model.task import Effort, Task, quota
from tables import PATHS, coded_of, frame_of, plan_of

LOSSES = ("leaves", "levels", "sets")


def table_of(luck: random.Random) -> Table:
    """A few rows of every kind, with copies, missing cells, odd weights and a loss of each kind."""
    rows = luck.randint(4, 16)
    pools: dict[str, list[Any]] = {
        "number": [luck.randrange(9) for _ in range(4)],
        "tree": [path[0] for path in PATHS],
        "label": ["red", "green", "blue"],
    }
    kinds = [luck.choice([*pools, "tree"]) for _ in range(luck.randint(1, 4))]
    names = {f"{kind}{at}": kind for at, kind in enumerate(kinds)}
    missing = luck.choice([0.0, 0.0, 0.2])
    cells = {
        name: [None if luck.random() < missing else luck.choice(pools[kind]) for _ in range(rows)]
        for name, kind in names.items()
    }
    weights = {name: luck.choice([1.0, 1.0, 2.5, 0.3]) for name in names}
    if len(names) > 1:
        weights[max(names)] = luck.choice([1.0, 0.0])
    return Table(
        cells=cells,
        kinds=names,
        paths={name: PATHS for name, kind in names.items() if kind == "tree"},
        weights=weights,
        loss=luck.choice(LOSSES),
        copies=tuple(luck.choice([0, 1, 1, 2, 5]) for _ in range(rows)) if luck.random() < 0.4 else None,
    )


def equals_all_choices(seed: int) -> None:
    luck = random.Random(f"levels {seed}")
    table = table_of(luck)
    total = sum(table.counts)
    k = luck.randint(2, 4)
    if total < k:
        return
    share = luck.choice([0.0, 0.1, 0.3, 0.5])
    choices = list(all_choices(table, k, quota(share, total)))
    least = min(choice.loss for choice in choices)
    best = [choice for choice in choices if choice.loss <= least * (1 + 1e-9) + 1e-12]
    coded = coded_of(table, k)
    task = Task(k=k, withhold=quota(share, total))
    grouping = group(coded, task)
    assert grouping.proof is not None
    assert value_of("levels", coded, grouping) == pytest.approx(least)
    assert grouping.proof.bound == pytest.approx(least)
    assert grouping.withheld in {choice.withheld for choice in best}
    assert grouping.groups == 0 or grouping.sizes.min() >= k
    release = shoal.anonymize(frame_of(table), plan_of(table, k, method="levels", withhold=share))
    figures = release.receipt.figures
    assert figures.value == pytest.approx(least)
    assert figures.bound == pytest.approx(least)
    assert release.verdict.has_passed
    if table.loss != "sets":
        published = sorted(
            str(face)
            for face, n in zip(
                release.table.select(*table.cells).rows(), _records(release.table), strict=True
            )
            for _ in range(n)
        )
        assert published in [_published(table, choice.level, k) for choice in best]


def _records(table: pl.DataFrame) -> list[int]:
    return table["n"].to_list() if "n" in table.columns else [1] * table.height


def _published(table: Table, level: tuple[int, ...], k: int) -> list[str]:
    """The cells of a choice but for classes below k; a chain of only children has its lowest name."""
    rows = faces_at(table, level)
    held: dict[Any, int] = {}
    for (face, _), count in zip(rows, table.counts, strict=True):
        held[face] = held.get(face, 0) + count
    lowest = {"c-": "c", "f-": "f", "g-": "g"}
    return sorted(
        str(tuple(None if cell is None else lowest.get(str(cell), str(cell)) for cell in face))
        for (face, _), count in zip(rows, table.counts, strict=True)
        if held[face] >= k
        for _ in range(count)
    )


def test_the_release_is_the_best_of_all_choices() -> None:
    for seed in range(200):
        equals_all_choices(seed)


@pytest.mark.slow
def test_the_release_is_the_best_of_all_choices_at_length() -> None:
    for seed in range(200, 2200):
        equals_all_choices(seed)


def test_a_search_that_is_cut_short_says_a_bound_that_holds() -> None:
    gaps = 0
    for seed in range(40):
        luck = random.Random(seed)
        rows = 120
        cells = {f"tree{at}": [luck.choice(PATHS)[0] for _ in range(rows)] for at in range(5)}
        table = Table(cells=cells, kinds=dict.fromkeys(cells, "tree"), paths=dict.fromkeys(cells, PATHS))
        lattice = lattice_of(coded_of(table, 3), 3)
        whole = cheapest_levels(lattice, 3, 6, 1e12)
        assert whole.bound == whole.cost
        for work in (1, 1_000, 10_000):
            cut = cheapest_levels(lattice, 3, 6, work)
            assert cut.bound <= whole.cost * (1 + 1e-9)
            assert whole.cost <= cut.cost * (1 + 1e-9)
            assert cost_of(lattice, make_tallies(lattice.rules), cut.level, 3, 6) == pytest.approx(cut.cost)
            gaps += cut.bound < cut.cost
    assert gaps > 0


def test_a_release_cut_short_is_not_called_the_best() -> None:
    luck = random.Random(2)
    cells = {f"tree{at}": [luck.choice(PATHS)[0] for _ in range(200)] for at in range(5)}
    table = Table(cells=cells, kinds=dict.fromkeys(cells, "tree"), paths=dict.fromkeys(cells, PATHS))
    cut = shoal.anonymize(frame_of(table), plan_of(table, 3, method="levels", effort="steps=1"))
    whole = shoal.anonymize(frame_of(table), plan_of(table, 3, method="levels"))
    assert cut.receipt.figures.bound < whole.receipt.figures.value * (1 + 1e-9)
    assert whole.certificate.ratio == 1.0
    assert "No release of this table with one level for each column" in whole.certificate.in_words()
    assert "this is the best possible" in whole.certificate.in_words()


def test_many_values_make_keys_that_no_word_holds() -> None:
    """Ten columns of a thousand values: their product is above 2^64, and classes stay apart."""
    luck = random.Random(1)
    cells = {f"number{at}": [luck.randrange(1000) for _ in range(1000)] for at in range(10)}
    table = Table(cells=cells, kinds=dict.fromkeys(cells, "number"))
    coded = coded_of(table, 2)
    found = cheapest_levels(lattice_of(coded, 2), 2, 0, 1e12)
    assert found.bound == found.cost
    grouping = group(coded, Task(k=2))
    assert grouping.sizes.min() >= 2
    assert value_of("levels", coded, grouping) == pytest.approx(found.cost)


def test_every_column_has_one_level() -> None:
    luck = random.Random(0)
    frame = pl.DataFrame(
        {
            "age": [luck.randint(18, 80) for _ in range(400)],
            "job": [luck.choice([*"abcdefg", None]) for _ in range(400)],
            "town": [luck.choice(["A", "B", "C"]) for _ in range(400)],
        }
    )
    trees = {"age": bins(5, 10, 20), "job": Hierarchy.of_paths(PATHS)}
    release = shoal.anonymize(
        frame, k=5, quasi=("age", "job", "town"), hierarchies=trees, withhold=0.05, method="levels"
    )
    ages = release.table["age"].drop_nulls().unique().to_list()
    widths = {"*" if age == "*" else "alone" if age.isdigit() else _width(age) for age in ages}
    assert len(widths) == 1
    jobs = set(release.table["job"].drop_nulls())
    of_level = [{*"abcdefg"}, {"ab", "de", "c", "f", "g"}, {"left", "right"}, {"*"}]
    assert any(jobs <= names for names in of_level)
    assert set(release.table["town"]) <= {"A", "B", "C"} or set(release.table["town"]) == {"*"}


def _width(age: str) -> float:
    low, high = age.strip("[)").split(",")
    return float(high) - float(low)


@pytest.mark.parametrize("cells", ["text", "bounds", "middle", "id"])
@pytest.mark.parametrize("missing", [False, True])
def test_numbers_are_as_they_are_or_all_alike_in_every_kind_of_cells(cells: str, missing: bool) -> None:
    luck = random.Random(4)
    frame = pl.DataFrame(
        {
            "age": [None if missing and luck.random() < 0.1 else luck.randint(0, 60) for _ in range(80)],
            "flag": [luck.choice(["y", "n"]) for _ in range(80)],
        }
    )
    release = shoal.anonymize(
        frame, k=5, quasi=("age", "flag"), method="levels", withhold=0.05, cells=cells
    )
    assert release.verdict.has_passed
    names = [name for name in release.table.columns if name.startswith("age")]
    assert release.table.select(names).unique().height == 1
    if cells in {"text", "id"}:
        assert release.table["age"].unique().to_list() == ["*"]
    findings = shoal.verify(
        release.table, release.certificate, original=frame, receipt=release.receipt, lookups=release.lookups
    )
    assert [finding for finding in findings if finding.holds is False] == []


def test_a_withheld_row_does_not_show_in_what_is_published_of_all() -> None:
    """The oldest is withheld; bounds of all others must not reach that far."""
    ages = [*range(20, 60)] * 2 + [99]
    flags = ["y", "n"] * 40 + ["x"]
    frame = pl.DataFrame({"age": ages, "flag": flags})
    release = shoal.anonymize(
        frame, k=5, quasi=("age", "flag"), method="levels", withhold=0.05, cells="bounds"
    )
    assert release.certificate.withheld == 1
    assert release.table["age_high"].max() == 59


def test_a_verifier_proves_the_bound_again_and_finds_forgeries(tmp_path: Any) -> None:
    table = table_of(random.Random("levels 11"))
    frame = pl.concat([frame_of(replace(table, copies=None))] * 3)
    trees = {name: Hierarchy.of_paths(paths) for name, paths in table.paths.items()}
    words = {"quasi": tuple(table.cells), "kinds": table.kinds, "hierarchies": trees, "loss": "leaves"}
    words["quasi"] = tuple(table.cells)
    release = shoal.anonymize(frame, k=5, method="levels", withhold=0.1, **words)
    release.write(tmp_path / "out.csv")
    given = {"original": frame, "receipt": tmp_path / "out.receipt.json", "hierarchies": trees}

    def failing(certificate: Any) -> set[str]:
        found = shoal.verify(tmp_path / "out.csv", certificate, **given)
        return {finding.claim for finding in found if finding.holds is False}

    honest = release.certificate
    assert honest.value > 0
    assert failing(tmp_path / "out.certificate.json") == set()
    assert "bound" in failing(replace(honest, bound=honest.value * 1.5, value=honest.value * 2))
    assert {"objective", "bound"} <= failing(replace(honest, objective="loss"))
    assert "value" in failing(replace(honest, value=honest.value / 2, bound=honest.value / 2))


def obeys_all_choices(seed: int) -> None:
    """With rules or a person behind each row: the best choice whose unruly classes are withheld whole."""
    luck = random.Random(f"ruled levels {seed}")
    table = table_of(luck)
    rows, k = len(table.counts), luck.randint(2, 3)
    frame = frame_of(table).with_columns(
        illness=pl.Series([luck.choice(["flu", "flu", "cold", "ulcer", None]) for _ in range(rows)]),
        cost=pl.Series([luck.choice([10, 20, 25, 90]) for _ in range(rows)]),
        who=pl.Series([f"p{luck.randint(1, luck.choice([3, rows]))}" for _ in range(rows)]),
    )
    rules = tuple(luck.sample(RULES, luck.choice([0, 1, 1, 2])))
    unit = "who" if table.copies is None and (not rules or luck.random() < 0.3) else None
    share = 0.0 if any("close" in rule for rule in rules) else luck.choice([0.0, 0.2, 0.4])
    people = [row for row, n in zip(frame.to_dicts(), table.counts, strict=True) for _ in range(n)]

    def fine(its: list[int]) -> bool:
        members = frame[its].to_dicts()
        persons = len({row["who"] for row in members}) >= k or unit is None
        return persons and all(obeys(members, people, rule) for rule in rules)

    total = sum(table.counts)
    trees = {name: Hierarchy.of_paths(paths) for name, paths in table.paths.items()}
    words = with_rules({"hierarchies": trees}, rules)
    plan = replace(
        plan_of(table, k, method="levels", withhold=share),
        sensitive=("illness", "cost"),
        unit=unit,
        **words,
    )
    choices = list(all_choices(table, k, quota(share, total), fine))
    if total < k or not fine([row for row, n in enumerate(table.counts) for _ in range(n)]):
        with pytest.raises(DataError):
            shoal.anonymize(frame, plan)
        return
    least = min(choice.loss for choice in choices)
    release = shoal.anonymize(frame, plan)
    figures = release.receipt.figures
    assert figures.value == pytest.approx(least)
    assert figures.bound == pytest.approx(least)
    assert release.verdict.has_passed
    same = {choice.withheld for choice in choices if choice.loss <= least * (1 + 1e-9) + 1e-12}
    assert release.certificate.withheld in same
    cut = shoal.anonymize(frame, replace(plan, effort="steps=1")).receipt.figures
    assert cut.bound <= least * (1 + 1e-9)
    assert cut.value >= least * (1 - 1e-9)
    if seed % 10 == 0:
        found = shoal.verify(
            release.table,
            release.certificate,
            original=frame,
            receipt=release.receipt,
            hierarchies=words["hierarchies"],
        )
        assert [one for one in found if one.holds is False] == []


def test_the_release_under_rules_is_the_best_of_all_choices() -> None:
    for seed in range(50):
        obeys_all_choices(seed)


@pytest.mark.slow
def test_the_release_under_rules_is_the_best_of_all_choices_at_length() -> None:
    for seed in range(50, 2050):
        obeys_all_choices(seed)


def test_values_of_rows_without_a_record_are_no_values_of_the_table() -> None:
    """They would stretch the order of a column, so that classes looked closer than a reader finds them."""
    obeys_all_choices(548)


def test_classes_that_break_a_rule_are_withheld_up_to_the_quota() -> None:
    frame = pl.DataFrame({"town": ["A"] * 6 + ["B"] * 4, "ill": ["flu", "cold"] * 3 + ["flu"] * 4})
    words = {"k": 2, "quasi": ("town",), "sensitive": ("ill",), "method": "levels"}
    kept = shoal.anonymize(frame, rules=("ill: 2-diverse",), withhold=0.4, **words)
    assert kept.table["town"].unique().to_list() == ["A"]
    assert kept.certificate.withheld == 4
    assert "with one level for each column, withholding whole classes," in kept.certificate.in_words()
    lifted = shoal.anonymize(frame, rules=("ill: 2-diverse",), withhold=0.3, **words)
    assert lifted.table["town"].unique().to_list() == ["*"]
    assert lifted.certificate.withheld == 0


def test_closeness_and_withheld_rows_are_refused_together() -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    words = {"k": 2, "quasi": ("age",), "sensitive": ("ill",), "method": "levels"}
    with pytest.raises(PlanError, match=r"cannot withhold rows under 'ill: 0\.2-close'"):
        shoal.anonymize(frame, rules=("ill: 0.2-close",), withhold=0.1, **words)
    assert shoal.anonymize(frame, rules=("ill: 0.2-close",), **words).verdict.has_passed


def test_levels_of_a_column_are_runs_that_only_grow_and_cost_more() -> None:
    for seed in range(60):
        table = table_of(random.Random(seed))
        if sum(table.counts) < 2:
            continue
        for column in coded_of(table, 2).columns:
            first, last, cost = levels_of(column)
            np.testing.assert_array_equal(first[0], np.arange(first.shape[1]))
            np.testing.assert_array_equal(first[0], last[0])
            assert (cost[0] == 0).all()
            assert (first[1:] <= first[:-1]).all()
            assert (last[1:] >= last[:-1]).all()
            assert (np.diff(cost, axis=0) >= 0).all()
            assert cost[-1] == pytest.approx(column.axes[0].share)


def test_effort_bounds_the_search_and_repeats() -> None:
    assert Effort.parse("steps=7").steps == 7
    table = table_of(random.Random(9))
    coded = coded_of(table, 2)
    one, other = (group(coded, Task(k=2, effort=Effort.parse("2s"))) for _ in range(2))
    np.testing.assert_array_equal(one.group, other.group)
