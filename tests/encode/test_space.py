"""The four distances, against formulas on raw cells, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from shoal.encode import encode
from shoal.errors import DataError, PlanError
from shoal.kernels.distance.rows import apart
from shoal.model.plan import Plan
from tables import coded_of, tables


def distances(coded):
    """The distance of every two input rows."""
    return [[apart(coded.space, i, j) for j in coded.row] for i in coded.row]


def space_of(frame, matrix=None, **words):
    plan = Plan(k=2, quasi=tuple(frame.columns), **words)
    return encode(frame, plan, matrix=matrix)


def haversine(one, other):
    """Kilometres over the ground by the textbook."""
    (lat, lon), (lat2, lon2) = ([math.radians(x) for x in place] for place in (one, other))
    half = (
        math.sin((lat2 - lat) / 2) ** 2 + math.cos(lat) * math.cos(lat2) * math.sin((lon2 - lon) / 2) ** 2
    )
    return 2 * 6371.0088 * math.asin(math.sqrt(min(1.0, half)))


@given(tables(least=2, most=6))
def test_span_is_the_sum_of_weighted_spans(table):
    found = distances(coded_of(table, 2))
    wanted = [[naive.distance(table, i, j) for j in range(table.rows)] for i in range(table.rows)]
    assert np.allclose(found, wanted, atol=1e-12)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 9)), min_size=2, max_size=7))
def test_euclidean_scales_each_column_to_its_range_and_weight(rows):
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    found = distances(space_of(frame, distance="euclidean", weights={"b": 2.0}))
    ranges = [max(column) - min(column) or 1 for column in zip(*rows, strict=True)]
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            parts = [w * (x - y) / r for x, y, r, w in zip(one, other, ranges, (1, 2), strict=True)]
            assert found[i][j] == pytest.approx(math.hypot(*parts), abs=1e-12)


@given(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=2, max_size=7))
@pytest.mark.parametrize("as_place", [False, True])
def test_great_circle_is_in_kilometres(as_place, rows):
    frame = pl.DataFrame(rows, schema=["lat", "lon"], orient="row")
    words = {"quasi": ("home",), "kinds": {"home": "place(lat, lon)"}} if as_place else {}
    plan = Plan(k=2, distance="great-circle", **{"quasi": ("lat", "lon"), **words})
    found = distances(encode(frame, plan))
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            assert found[i][j] == pytest.approx(haversine(one, other), rel=1e-6, abs=2e-3)
            assert found[i][j] == found[j][i]


def test_half_way_round_the_earth():
    frame = pl.DataFrame({"lat": [0.0, 0.0, 90.0], "lon": [0.0, 180.0, 0.0]})
    found = distances(space_of(frame, distance="great-circle"))
    assert found[0][1] == pytest.approx(math.pi * 6371.0088)
    assert found[0][2] == pytest.approx(math.pi / 2 * 6371.0088)


def test_a_matrix_is_taken_as_it_is_whatever_the_order_of_the_rows():
    frame = pl.DataFrame({"name": ["d", "b", "d", "a"]})
    matrix = [[0, 2, 0, 3], [2, 0, 2, 4], [0, 2, 0, 3], [3, 4, 3, 0]]
    assert distances(space_of(frame, matrix, distance="matrix")) == matrix


@pytest.mark.parametrize(
    ("matrix", "what"),
    [
        ([[0, 1], [1, 0]], "is 2 x 2; the table has 3 rows"),
        ([[0, 1, 1], [1, 0, math.inf], [1, 1, 0]], "1 entries are not finite"),
        ([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], "2 entries are below 0"),
        ([[1, 1, 1], [1, 0, 1], [1, 1, 0]], "1 entries on the diagonal are not 0"),
        ([[0, 1, 1], [2, 0, 1], [1, 1, 0]], "2 entries differ from their mirror"),
        ([[0, 1, 9], [1, 0, 1], [9, 1, 0]], "2 entries are longer than a way over a third row"),
        ([["x", 1, 9], [1, 0, 1], [9, 1, 0]], "not a number"),
    ],
)
def test_a_matrix_that_is_no_metric_is_refused(matrix, what):
    with pytest.raises(DataError, match=what):
        space_of(pl.DataFrame({"a": [1, 2, 3]}), matrix, distance="matrix")


def test_a_matrix_may_not_part_rows_that_look_alike():
    with pytest.raises(DataError, match="1 rows have the same quasi-identifiers"):
        space_of(pl.DataFrame({"a": [1, 1, 3]}), [[0, 1, 1], [1, 0, 1], [1, 1, 0]], distance="matrix")


def test_a_matrix_comes_from_the_library_and_alone():
    frame = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(PlanError, match="only the library can take"):
        space_of(frame, distance="matrix")
    with pytest.raises(PlanError, match="Give one distance"):
        space_of(frame, [[0, 1], [1, 0]], distance="euclidean")


@pytest.mark.parametrize("distance", ["euclidean", "great-circle"])
def test_coordinates_are_numbers_without_gaps(distance):
    with pytest.raises(PlanError, match="column 'b' is not measured along a line"):
        space_of(pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), distance=distance)
    with pytest.raises(DataError, match="Column 'b' has 2 missing cells"):
        space_of(pl.DataFrame({"a": [1, 2, 3], "b": [1, None, None]}), distance=distance)


def test_great_circle_takes_two_numbers_within_the_globe():
    with pytest.raises(PlanError, match="the plan names 3 quasi-identifiers: number, number, number"):
        space_of(pl.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]}), distance="great-circle")
    with pytest.raises(DataError, match="'a' is the latitude, but 2 of its values lie beyond 90 degrees"):
        space_of(pl.DataFrame({"a": [91, 2, 91], "b": [1, 2, 1]}), distance="great-circle")
    with pytest.raises(DataError, match="'b' is the longitude, but 1 of its values lie beyond 180"):
        space_of(pl.DataFrame({"a": [1, 2], "b": [1, -181]}), distance="great-circle")
