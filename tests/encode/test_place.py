from __future__ import annotations

import math

import polars as pl
import pytest

from shoal.encode import encode
from shoal.errors import DataError, PlanError
from shoal.kernels.distance.spans import distance
from shoal.model.plan import Plan


def coded(lat: list[float | None], lon: list[float | None]):
    frame = pl.DataFrame({"lat": lat, "lon": lon}, schema={"lat": pl.Float64, "lon": pl.Float64})
    return encode(frame, Plan(k=2, quasi=("home",), kinds={"home": "place(lat, lon)"}))


def test_two_axes_share_the_sum_of_both_sides() -> None:
    table = coded([0.0, 1.0, 0.0], [0.0, 0.0, 3.0])
    assert [axis.share for axis in table.columns[0].axes] == [0.25, 0.75]
    assert table.columns[0].denominator == 4.0
    assert distance(table.metric, table.codes[0], table.codes[1]) == pytest.approx(0.75)


def test_a_place_that_lacks_one_coordinate_lacks_both() -> None:
    table = coded([1.0, None, 2.0, math.nan], [5.0, 6.0, None, 7.0])
    assert table.distinct == 2
    assert sorted(table.count.tolist()) == [1, 3]
    assert distance(table.metric, table.codes[0], table.codes[1]) == pytest.approx(1.0)


def test_places_that_are_all_alike_lose_nothing() -> None:
    table = coded([1.0, 1.0], [5.0, 5.0])
    assert table.metric.most.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("lat", "lon", "words"),
    [
        ([95.0, 10.0], [1.0, 2.0], r"1 of 2 latitudes.*swapped: write place\(lon, lat\)"),
        ([120.0, 10.0], [170.0, 2.0], "Give degrees"),
        ([10.0, 10.0], [500.0, 2.0], "1 longitudes"),
    ],
)
def test_coordinates_beyond_their_range_are_counted_and_never_shown(lat, lon, words) -> None:
    with pytest.raises(DataError, match=words) as error:
        coded(lat, lon)
    assert all(str(number) not in str(error.value) for number in (95.0, 120.0, 500.0, 170.0))


def test_a_place_must_name_its_two_columns() -> None:
    with pytest.raises(PlanError, match="names its two number columns"):
        Plan(k=2, quasi=("home",), kinds={"home": "place(lat)"})


def test_a_column_the_table_lacks_is_named() -> None:
    with pytest.raises(DataError, match="no column 'lon'"):
        encode(
            pl.DataFrame({"lat": [1.0, 2.0]}),
            Plan(k=2, quasi=("home",), kinds={"home": "place(lat, lon)"}),
        )
