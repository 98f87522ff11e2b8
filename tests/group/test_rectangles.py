from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import naive_geography as naive
import shoal
from shoal.bound.largest_group import largest_bound
from shoal.encode import encode
from shoal.group.rectangles import group
from shoal.model.plan import Plan
from shoal.model.task import Task

KINDS = {"home": "place(lat, lon)"}


def grouped(points: list[tuple[float, float]], weight: list[int], k: int) -> list[list[int]]:
    """The groups of the points, by place in the list."""
    frame = pl.DataFrame({"lat": [p[0] for p in points], "lon": [p[1] for p in points], "n": weight})
    coded = encode(frame, Plan(k=k, quasi=("home",), kinds=KINDS, count="n"))
    label = group(coded, Task(k=k)).group[coded.row]
    return [[i for i in range(len(points)) if label[i] == g] for g in range(label.max() + 1)]


def against_brute_force(tables: int) -> None:
    random = np.random.default_rng(11)
    for table in range(tables):
        many = int(random.integers(4, 10 if table % 25 == 0 else 9))
        side = int(random.integers(2, 7))
        spots = random.permutation(side * side)[:many]
        points = [(float(spot // side), float(spot % side)) for spot in spots]
        weight = random.integers(1, 6, size=len(points)).tolist()
        k = int(random.integers(2, max(3, sum(weight) // 2)))
        best = naive.least_largest(weight, k, lambda groups, p=points: naive.boxes_are_apart(groups, p))
        groups = grouped(points, weight, k)
        levels = [sum(weight[i] for i in members) for members in groups]
        assert sorted(i for members in groups for i in members) == list(range(len(points)))
        assert min(levels) >= k
        assert naive.boxes_are_apart(groups, points)
        assert best is not None
        assert largest_bound(np.array(weight), k) <= best <= max(levels) <= 5 * best
        assert max(levels) <= 4 * (k - 1) + max(weight)


def test_rectangles_hold_their_factor_against_brute_force() -> None:
    against_brute_force(200)


@pytest.mark.slow
def test_rectangles_hold_their_factor_against_brute_force_at_length() -> None:
    against_brute_force(1000)


def test_points_without_copies_come_close_to_k() -> None:
    random = np.random.default_rng(2)
    frame = pl.DataFrame({"lat": random.random(3000), "lon": random.random(3000)})
    coded = encode(frame, Plan(k=10, quasi=("home",), kinds=KINDS))
    assert group(coded, Task(k=10)).sizes.tolist() == [10] * 300


def test_a_heavy_point_between_four_light_ones_is_no_worse_than_the_paper_says() -> None:
    points = [(1.0, 1.0), (0.0, 1.0), (2.0, 1.0), (1.0, 0.0), (1.0, 2.0)]
    # no cut leaves 5 on both sides: 4 (k - 1) + the heaviest, the worst there is
    assert grouped(points, [5, 4, 4, 4, 4], 5) == [[0, 1, 2, 3, 4]]


def test_copies_of_a_place_are_not_split() -> None:
    assert grouped([(1.0, 1.0), (2.0, 2.0)], [9, 9], 3) == [[0], [1]]
    assert grouped([(1.0, 1.0)], [9], 3) == [[0]]


def test_missing_places_stand_apart_or_suppress_their_group() -> None:
    frame = pl.DataFrame({"lat": [1.0, 1.1, None, None], "lon": [5.0, 5.1, 3.0, None]})
    release = shoal.anonymize(frame, k=2, quasi=["home"], kinds=KINDS, method="rectangles")
    assert release.table["home"].to_list() == ["[1.0, 1.1] x [5.0, 5.1]"] * 2 + [None] * 2
    release = shoal.anonymize(frame[:3], k=2, quasi=["home"], kinds=KINDS, method="rectangles")
    assert release.table["home"].to_list() == ["*"] * 3
    assert release.certificate.loss_percent == 100.0


def frame_of(rows: int) -> pl.DataFrame:
    random = np.random.default_rng(4)
    return pl.DataFrame({"lat": random.uniform(50, 55, rows), "lon": random.uniform(-3, 1, rows)})


@pytest.mark.parametrize("cells", ["text", "bounds", "middle"])
def test_a_release_of_places_passes_the_check_and_its_boxes_hold_the_points(cells: str) -> None:
    frame = frame_of(400)
    release = shoal.anonymize(frame, k=7, quasi=["home"], kinds=KINDS, method="rectangles", cells=cells)
    assert release.verdict.has_passed
    assert release.verdict.smallest_class >= 7
    assert release.certificate.objective == "largest"
    assert release.certificate.bound is not None
    assert release.certificate.bound <= release.certificate.value
    if cells == "bounds":
        boxes = release.table.select("lat_low", "lat_high", "lon_low", "lon_high").rows()
        for lat, lon in frame.rows():
            assert any(a <= lat <= b and c <= lon <= d for a, b, c, d in boxes)
    if cells == "middle":
        assert release.table.columns == ["lat", "lat_size", "lon", "lon_size"]


def test_the_loss_of_places_is_the_sum_of_both_sides() -> None:
    frame = pl.DataFrame({"lat": [0.0, 1.0, 0.0, 1.0], "lon": [0.0, 0.0, 3.0, 3.0]})
    release = shoal.anonymize(frame, k=2, quasi=["home"], kinds=KINDS, method="rectangles")
    # two boxes of 1 by 0 in a table of 1 by 3
    assert release.verdict.loss_percent == pytest.approx(100 * 1 / 4)
    assert release.certificate.loss == pytest.approx(4 * 1 / 4)


@pytest.mark.parametrize("method", ["k-member", "mondrian"])
def test_a_place_among_others_is_grouped_by_any_method(method: str) -> None:
    frame = frame_of(60).with_columns(pl.Series("age", np.arange(60) % 17))
    release = shoal.anonymize(frame, k=4, quasi=["home", "age"], kinds=KINDS, method=method)
    assert release.verdict.has_passed
    assert release.verdict.loss == pytest.approx(release.receipt.figures.loss)


def test_a_place_under_suppression_is_a_value_or_a_star() -> None:
    frame = pl.DataFrame({"lat": [1.0, 1.0, 2.0, 3.0], "lon": [5.0, 5.0, 6.0, 7.0]})
    release = shoal.anonymize(frame, k=2, quasi=["home"], kinds=KINDS, method="k-member", style="suppress")
    assert set(release.table["home"]) <= {"*", "1.0 x 5.0"}
    assert release.verdict.has_passed


@pytest.mark.slow
def test_uk_accidents_are_at_most_twice_k(shared) -> None:
    frame = pl.read_csv(shared / "points" / "uk_road_accidents.csv.gz", new_columns=["lat", "lon"])
    for k in (10, 100):
        coded = encode(frame, Plan(k=k, quasi=("home",), kinds=KINDS))
        sizes = group(coded, Task(k=k)).sizes
        assert sizes.min() >= k
        assert sizes.max() <= 2 * k
