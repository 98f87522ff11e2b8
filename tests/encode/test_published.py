"""Figures are in the unit of what is published: a hidden extreme is in none of them."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.encode import encode
from shoal.encode.published import as_published, published_places, ranges_of
from shoal.model.figures import round_down
from shoal.model.grouping import Grouping

PAY = 4_183_250


def payroll(rows: int = 40, *, boss: int = PAY) -> pl.DataFrame:
    luck = random.Random(3)
    frame = pl.DataFrame(
        {
            "age": [luck.randrange(20, 60) for _ in range(rows)],
            "pay": [luck.randrange(30_000, 90_000) for _ in range(rows)],
            "ill": [luck.choice("abc") for _ in range(rows)],
        }
    )
    return pl.concat([frame, pl.DataFrame({"age": [40], "pay": [boss], "ill": ["a"]})])


def numbers_in(value: object) -> list[float]:
    """Every number that stands anywhere in a JSON value."""
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [float(value)]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [number for one in inner for number in numbers_in(one)]


@pytest.mark.parametrize("cells", ["text", "bounds", "middle"])
@pytest.mark.parametrize("method", ["auto", "gather", "cellular"])
def test_a_certificate_does_not_tell_the_pay_of_a_person_who_was_left_out(tmp_path, method, cells):
    words = {"k": 4, "quasi": ["age", "pay"], "sensitive": ["ill"], "withhold": 0.05, "cells": cells}
    release = shoal.anonymize(payroll(), method=method, **words)
    assert release.certificate.withheld
    files = release.write(tmp_path / "out.csv")
    said = json.loads(files.certificate.read_text())
    for number in numbers_in(said):
        assert not math.isclose(number, PAY, rel_tol=0.05)
    denominators = [column["denominator"] for column in said["columns"]]
    assert (denominators == [None, None]) is (cells == "middle")


def test_every_public_figure_is_the_same_whatever_the_hidden_extreme_is():
    words = {"k": 4, "quasi": ["age", "pay"], "sensitive": ["ill"], "withhold": 0.03}
    one, other = (shoal.anonymize(payroll(boss=boss), **words) for boss in (PAY, PAY + 300_000))
    assert one.certificate.withheld == other.certificate.withheld == 1
    assert one.table.equals(other.table)
    # no figure of the certificate knows which of the two it was
    plain = [json.loads(release.certificate.to_json()) for release in (one, other)]
    assert plain[0] == plain[1]


def test_a_starred_extreme_is_not_told_either():
    frame = pl.DataFrame({"pay": [PAY, None, None, 10, 11, 12, 13, 14, 15], "x": ["a"] * 3 + ["b"] * 6})
    release = shoal.anonymize(frame, k=3, quasi=["pay", "x"], kinds={"pay": "number"}, method="k-member")
    assert "*" in release.table["pay"].to_list()
    column = release.certificate.columns[0]
    assert column.denominator == 5.0
    assert column.loss == pytest.approx((3 * 1 + 6 * 2 / 5) / 9, rel=5e-3)


def test_where_nothing_is_hidden_all_figures_are_those_of_the_original():
    frame = payroll()
    plan = shoal.Plan(k=4, quasi=("age", "pay"), method="k-member")
    coded = encode(frame, plan)
    release = shoal.anonymize(frame, plan)
    places = release.receipt.figures.places
    assert as_published(coded, ranges_of(coded.columns, places)) is coded
    assert [column.denominator for column in release.certificate.columns] == [
        float(frame[name].max() - frame[name].min()) for name in ("age", "pay")
    ]


def test_a_place_is_measured_by_both_published_sides():
    luck = random.Random(5)
    frame = pl.DataFrame(
        {
            "lat": [*(luck.uniform(50, 51) for _ in range(20)), -80.0],
            "lon": [*(luck.uniform(7, 9) for _ in range(20)), 170.0],
        }
    )
    words = {"k": 4, "quasi": ["home"], "kinds": {"home": "place(lat, lon)"}, "withhold": 0.1}
    release = shoal.anonymize(frame, **words)
    assert release.certificate.withheld >= 1
    assert release.certificate.columns[0].denominator < 3.0
    findings = shoal.verify(release.table, release.certificate, original=frame, receipt=release.receipt)
    assert not [finding for finding in findings if finding.holds is False]


def partitions(rows: list[int], k: int, quota: int):
    """Every way to put rows into groups of at least k and to leave out at most `quota`."""

    def grow(at: int, groups: list[list[int]], out: list[int]):
        if at == len(rows):
            if all(len(group) >= k for group in groups):
                yield [list(group) for group in groups], list(out)
            return
        for group in groups:
            group.append(rows[at])
            yield from grow(at + 1, groups, out)
            group.pop()
        yield from grow(at + 1, [*groups, [rows[at]]], out)
        if len(out) < quota:
            yield from grow(at + 1, groups, [*out, rows[at]])

    yield from grow(0, [], [])


def loss_in(frame: pl.DataFrame, groups: list[list[int]], out: list[int], units: list[float]) -> float:
    """Total loss of a release, each column divided by its unit, no cell losing more than all of it."""
    total = float(len(out) * frame.width)
    for column, unit in zip(frame.iter_columns(), units, strict=True):
        for group in groups:
            cells = [column[row] for row in group]
            present = [cell for cell in cells if cell is not None]
            if present and len(present) < len(cells):
                total += len(group)
            elif present:
                width = max(present) - min(present)
                total += len(group) * (0.0 if width == 0 else min(1.0, width / unit) if unit > 0 else 1.0)
    return total


cell = st.one_of(st.none(), st.integers(0, 6), st.integers(900, 1000))


@settings(deadline=None, max_examples=80)
@given(
    lines=st.lists(st.tuples(cell, cell), min_size=5, max_size=7),
    withhold=st.sampled_from([0.0, 0.2, 0.3]),
    method=st.sampled_from(["threshold", "auto"]),
    names=st.sampled_from([["a"], ["a", "b"]]),
)
def test_no_release_beats_the_bound_in_the_unit_of_what_is_published(lines, withhold, method, names):
    frame = pl.DataFrame(lines, schema={"a": pl.Int64, "b": pl.Int64}, orient="row").select(names)
    kinds = dict.fromkeys(names, "number")
    words = {"k": 2, "quasi": names, "kinds": kinds, "withhold": withhold, "method": method}
    release = shoal.anonymize(frame, effort="quick", **words)
    exact = release.receipt.figures
    units = [column.denominator for column in exact.columns]
    quota = int(withhold * frame.height + 1e-9)
    best = min(
        loss_in(frame, groups, out, units)
        for groups, out in partitions(list(range(frame.height)), 2, quota)
    )
    assert exact.bound <= best * (1 + 1e-9) + 1e-9
    assert release.certificate.bound <= best * (1 + 1e-7) + 1e-9
    assert best <= exact.value * (1 + 1e-9) + 1e-9
    label = release.groups.label.tolist()
    own = [[row for row, group in enumerate(label) if group == g] for g in range(max(label) + 1)]
    out = [row for row, group in enumerate(label) if group < 0]
    assert exact.value == pytest.approx(loss_in(frame, own, out, units))
    assert release.certificate.bound in {round_down(exact.bound), round_down(exact.value * (1 + 1e-9))}
    findings = shoal.verify(release.table, release.certificate, original=frame, receipt=release.receipt)
    assert not [finding for finding in findings if finding.holds is False]


def test_places_are_of_rows_that_stand_in_cells_that_say_what_they_cover():
    frame = pl.DataFrame({"a": [1, 2, None, 5, 6, 900]})
    plan = shoal.Plan(k=2, quasi=("a",), kinds={"a": "number"}, withhold=0.2, method="auto")
    coded = encode(frame, plan)
    # distinct rows are sorted, missing last: 5 and 900 stand with it, 6 is withheld, 1 and 2 are left
    grouping = Grouping(
        distinct=np.arange(6, dtype=np.int32),
        group=np.array([0, 0, 1, -1, 1, 1], dtype=np.int32),
        count=np.ones(6, dtype=np.int64),
    )
    assert published_places(coded, grouping, plan) == {"a": ((0, 1),)}
    means = replace(plan, style="means")  # of two that have a value, which k = 2 allows
    assert published_places(coded, grouping, means) == {"a": ((0, 4),)}
    means = replace(plan, style="means", k=3)  # and none of fewer than k
    assert published_places(coded, grouping, means) == {"a": (None,)}
    rows = replace(plan, style="centres", method="gather", options={"centre": "row"})
    around = replace(grouping, centre=np.array([1, 5], dtype=np.int32))  # the second has no value
    assert published_places(coded, around, rows) == {"a": ((0, 1),)}
