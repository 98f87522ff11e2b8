from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from shoal.encode import code, encode, missing_to_null, survey
from shoal.errors import DataError, PlanError, TooFewRows
from shoal.model.days import calendar
from shoal.model.hierarchy import Hierarchy, bins, flat, prefixes
from shoal.model.plan import Plan
from silent import said_by

CANARY = "Zyxwvut73"
TREE = Hierarchy.of_paths([("a", "A"), ("b", "A"), ("c", "C"), ("d", "C"), ("e",)])


def coded(cells, k: int = 2, **words):
    frame = pl.DataFrame({"x": cells})
    return encode(frame, Plan(k=k, quasi=("x",), **words))


def only(cells, **words):
    """The one column of a coded table, and its code per row."""
    result = coded(cells, **words)
    return result.columns[0], result.codes[result.row, 0].tolist()


def refusal(cells, **words) -> str:
    with pytest.raises(DataError) as caught:
        coded(cells, **words)
    return said_by(caught.value, CANARY)


def test_numbers_are_ranked_and_measured_by_their_range():
    column, codes = only([30, 10, 20, 10])
    assert (column.kind, column.form, column.denominator) == ("number", "integer", 20.0)
    assert codes == [2, 0, 1, 0]
    assert column.axes[0].position.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["1", "20", "+3"], "integer"),
        (["1", "2.0"], "float"),
        (["1", "1e3"], "float"),
        ([1.0, 2.0], "float"),
        (pl.Series([1, 2], dtype=pl.UInt8), "integer"),
        (["2020-01-01", "2020-01-02"], "date"),
        ([date(2020, 1, 1), date(2020, 1, 2)], "date"),
        (["2020-01-01 10:30", "2020-01-02"], "datetime"),
        ([datetime(2020, 1, 1, 10), datetime(2020, 1, 2)], "datetime"),
    ],
)
def test_a_column_remembers_how_its_numbers_were_written(cells, form):
    assert only(cells)[0].form == form


def test_numbers_keep_their_order_as_text_and_beyond_zero():
    column, codes = only(["10", "9", "-1", " 2 ", "100"])
    assert column.numbers[0].tolist() == [-1.0, 2.0, 9.0, 10.0, 100.0]
    assert codes == [3, 2, 0, 1, 4]


def test_minus_zero_is_zero():
    column, codes = only([0.0, -0.0, 1.0])
    assert codes == [0, 0, 1]
    assert column.numbers[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_empty_text_and_null_are_the_same_missing_value(blank):
    for cells, kind in ((["1", blank, "3"], "number"), (["a", blank, "c"], "label")):
        column, codes = only(cells, kinds={"x": kind})
        assert column.has_missing
        assert codes == [0, 2, 1]
        assert column.axes[0].missing == 2


def test_named_marks_are_missing_in_every_kind():
    assert only(["1", "?", "3"], missing=["?"])[0].kind == "number"
    assert only(["a", " ? ", "?"], missing=["?"])[1] == [0, 1, 1]
    assert only([1, -9, 3], missing=["-9"])[1] == [0, 2, 1]
    assert only([1.0, float("nan"), 3.0])[1] == [0, 2, 1]
    assert only(["a", "?", "c"], missing=["?"], hierarchies={"x": TREE})[1] == [0, 5, 2]
    text = missing_to_null(pl.Series(["?", "b"], dtype=pl.Categorical), Plan(k=2, quasi="x", missing="?"))
    assert text.to_list() == [None, "b"]


def test_a_number_mark_means_the_number_however_it_is_written():
    assert only([1, 99, 3], missing=["99"])[1] == [0, 2, 1]
    assert only([1.5, 99.0, 3.0], missing=["99"])[1] == [0, 2, 1]


def test_a_column_that_is_wholly_missing_has_one_code():
    for dtype, kind in (
        (pl.String, "label"),
        (pl.Float64, "number"),
        (pl.Date, "date"),
        (pl.String, "number"),
    ):
        column, codes = only(pl.Series("x", [None, None], dtype=dtype), kinds={"x": kind})
        assert codes == [0, 0]
        assert column.axes[0].size == 1
        assert column.axes[0].share == 0.0


def test_dates_are_days_whatever_they_came_as():
    days = [date(2020, 3, 1), date(2020, 2, 28), None]
    as_dates = only(days)
    for cells, kind in (
        (["2020-03-01", "2020-02-28", ""], "date"),
        (["01.03.2020", "28.02.2020", None], "date(%d.%m.%Y)"),
        (["03/01/20", "02/28/20", None], "date(%m/%d/%y, from 1930)"),
    ):
        column, codes = only(cells, kinds={"x": kind})
        assert codes == as_dates[1]
        assert column.numbers[0].tolist() == as_dates[0].numbers[0].tolist() == [18320.0, 18322.0]
        assert column.denominator == 2.0


def days_of(cells, kind) -> list[date]:
    column, _ = only(cells, kinds={"x": kind})
    return [date(1970, 1, 1) + timedelta(days=int(day)) for day in column.numbers[0]]


def test_two_digits_stand_for_the_hundred_years_that_were_named():
    cells = ["01.03.45", "01.03.29", "01.03.30", "29.02.00", "01.03.99", None]
    expected = [date(1930, 3, 1), date(1945, 3, 1), date(1999, 3, 1), date(2000, 2, 29), date(2029, 3, 1)]
    assert days_of(cells, "date(%d.%m.%y, from 1930)") == expected
    assert [day.year for day in days_of(["450301", "000301"], "date(%y%m%d from 1880)")] == [1900, 1945]
    moments, _ = only(["03/01/45 10:30"] * 2, kinds={"x": "date(%D %H:%M, from 1900)"})
    moment = datetime(1970, 1, 1) + timedelta(microseconds=moments.numbers[0][0])
    assert moment == datetime(1945, 3, 1, 10, 30)


def test_a_day_that_the_named_century_lacks_does_not_read():
    with pytest.raises(DataError, match="1 of 2 values do not read") as caught:
        only(["29.02.00", "01.03.00"], kinds={"x": "date(%d.%m.%y, from 1850)"})
    said_by(caught.value, "29.02.00", "1900")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["03.02.45", "04.03.1987", "05.06.0045"], "date(%d.%m.%Y)"),
        (["45-02-03", "1987-03-04", "0045-06-05"], "date"),
    ],
)
def test_a_short_year_is_no_year_of_antiquity(cells, kind):
    with pytest.raises(DataError, match="1 of 3 values have years of fewer than four digits") as caught:
        only(cells, kinds={"x": kind})
    said_by(caught.value, "03.02.45", "45-02-03")


def test_a_time_of_day_is_kept_however_it_is_written():
    for cells, form in (
        (["01.03.2020 05:30 PM", "01.03.2020 05:31 AM"], "%d.%m.%Y %I:%M %p"),
        (["01.03.2020 17:30", "01.03.2020 05:31"], "%d.%m.%Y %R"),
    ):
        column, _ = only(cells, kinds={"x": f"date({form})"})
        assert (column.form, column.numbers[0].size) == ("datetime", 2)


def test_dates_that_no_calendar_prints_are_refused():
    for days in (4_000_000, -800_000):
        series = pl.Series([days, 0], dtype=pl.Int32).cast(pl.Date)
        for cells in (series, series.cast(pl.Datetime("us"))):
            with pytest.raises(DataError, match="1 of 2 dates outside the years 1 to 9999"):
                only(cells)


def test_moments_are_microseconds_whatever_they_came_as():
    expected = only([datetime(2020, 1, 1, 10, 30), datetime(2020, 1, 1)])[0].numbers[0].tolist()
    for cells, kind in (
        (["2020-01-01 10:30", "2020-01-01"], "date"),
        (["2020-01-01T10:30:00", "2020-01-01T00:00:00.000"], "date"),
        (["01.01.2020 10:30", "01.01.2020 00:00"], "date(%d.%m.%Y %H:%M)"),
        (
            pl.Series([datetime(2020, 1, 1, 10, 30), datetime(2020, 1, 1)]).dt.replace_time_zone("UTC"),
            "date",
        ),
        (pl.Series([datetime(2020, 1, 1, 10, 30), datetime(2020, 1, 1)]).dt.cast_time_unit("ms"), "date"),
    ):
        assert only(cells, kinds={"x": kind})[0].numbers[0].tolist() == expected


def test_moments_in_a_time_zone_are_what_its_clocks_showed():
    moments = [datetime(2020, 1, 1, 0, 30), datetime(2020, 7, 1, 0, 30)]
    zoned = pl.Series(moments).dt.replace_time_zone("Europe/Berlin")
    assert only(zoned)[0].numbers[0].tolist() == only(moments)[0].numbers[0].tolist()


def test_short_floats_keep_their_digits():
    column, _ = only(pl.Series([0.1, 0.2, None, float("nan")], dtype=pl.Float32))
    assert column.numbers[0].tolist() == [0.1, 0.2]


def test_decimals_are_numbers_and_whole_where_they_have_no_places():
    column, codes = only(pl.Series([Decimal("10.10"), Decimal("9.90"), None]))
    assert (column.kind, column.form, column.numbers[0].tolist()) == ("number", "float", [9.9, 10.1])
    assert codes == [1, 0, 2]
    assert only(pl.Series([Decimal(10), Decimal(9)]))[0].form == "integer"


def test_labels_are_coded_by_name_and_measured_by_step():
    column, codes = only(["pear", "apple", None, "fig", "apple"])
    assert column.values == ("apple", "fig", "pear")
    assert codes == [2, 0, 3, 1, 0]
    assert (column.denominator, column.axes[0].step) == (3.0, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    "cells",
    [
        [True, False, None],
        pl.Series(["b", "a", None], dtype=pl.Categorical),
        pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a"])),
    ],
)
def test_other_types_are_labels_by_their_text(cells):
    column, codes = only(cells)
    assert column.kind == "label"
    assert codes == [1, 0, 2]


def test_numbers_may_be_declared_labels():
    assert only([1, 10, 2], kinds={"x": "label"})[0].values == ("1", "10", "2")
    assert only([1.0, 10.0, 2.5], kinds={"x": "label"})[0].values == ("1.0", "10.0", "2.5")


def test_floats_too_large_for_whole_numbers_stay_floats_as_labels():
    for cells in ([1e300, 1.0], [float("inf"), 1.0], [2.0**60, 1.0]):
        column, codes = only(cells, kinds={"x": "label"})
        assert (len(column.values), sorted(codes)) == (2, [0, 1])


def test_trees_are_coded_depth_first_with_missing_last():
    column, codes = only(["d", None, "a", "e"], hierarchies={"x": TREE})
    assert column.kind == "tree"
    assert column.values == ("a", "b", "c", "d", "e")
    assert codes == [3, 5, 0, 4]
    assert column.denominator == 5.0
    assert column.axes[0].gap.tolist() == [0.2, 1.0, 0.2, 1.0, 1.0]
    assert column.axes[0].levels.tolist() == [[0, 1, 2, 3, 4, 5], [0, 0, 2, 2, 4, 5], [0] * 6]


def test_trees_measure_by_levels_and_by_sets_too():
    by_levels, _ = only(["a", "b"], hierarchies={"x": TREE}, loss="levels")
    assert by_levels.axes[0].gap.tolist() == [0.5, 1.0, 0.5, 1.0]
    by_sets, _ = only(["a", None], hierarchies={"x": TREE}, loss="sets")
    assert by_sets.axes[0].step == pytest.approx(1 / 5)


def test_whole_floats_and_numbers_find_their_leaves():
    tree = Hierarchy.of_paths([("1", "low"), ("2", "low"), ("10", "high")])
    for cells in ([10, 1, 2], [10.0, 1.0, 2.0], ["10", " 1", "2 "]):
        assert only(cells, hierarchies={"x": tree})[1] == [2, 0, 1]


def test_builders_make_trees_of_the_values_there_are():
    assert only(["12345", "12399", "99999"], hierarchies={"x": prefixes(5, 3, 0)})[0].axes[
        0
    ].gap.tolist() == [
        0.5,
        1.0,
    ]
    assert only(["7", "12", None], hierarchies={"x": bins(5, 10)})[1] == [0, 1, 2]
    assert only([date(2020, 1, 1), date(2020, 1, 2)], hierarchies={"x": calendar("month")})[1] == [0, 1]
    assert only(["b", "a"], hierarchies={"x": flat()})[1] == [1, 0]


@pytest.mark.parametrize(
    "cells", [[3, 1, None], ["x", "w", ""], [date(2020, 1, 2), date(2020, 1, 1), None]]
)
def test_under_suppression_every_column_is_a_tree_of_height_1(cells):
    column, codes = only(cells, style="suppress")
    assert codes == [1, 0, 2]
    assert column.axes[0].gap.tolist() == [1.0, 1.0]
    assert column.axes[0].levels.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert column.denominator == 1.0


def test_rows_alike_are_counted_once_and_sorted():
    frame = pl.DataFrame({"x": [2, 1, 2, 1], "y": ["b", "a", "b", "b"]})
    result = encode(frame, Plan(k=2, quasi=("x", "y")))
    assert result.codes.tolist() == [[0, 0], [0, 1], [1, 1]]
    assert result.count.tolist() == [1, 1, 2]
    assert result.row.tolist() == [2, 0, 2, 1]
    assert (result.distinct, result.total, result.weight) == (3, 4, 2.0)
    assert (result.codes.dtype, result.count.dtype, result.row.dtype) == (np.int32, np.int64, np.int32)
    assert result.codes.flags.c_contiguous


def test_a_column_may_count_records():
    frame = pl.DataFrame({"x": [2, 1, 2], "n": ["3", "1", "0"]})
    result = encode(frame, Plan(k=4, quasi="x", count="n"))
    assert result.count.tolist() == [1, 3]
    assert result.records.tolist() == [3, 1, 0]
    with pytest.raises(TooFewRows):
        encode(frame, Plan(k=5, quasi="x", count="n"))


@pytest.mark.parametrize("bad", ["-1", "1.5", CANARY, "", None, "nan", "inf", "1e300"])
def test_a_count_that_is_none_is_refused(bad):
    frame = pl.DataFrame({"x": [2, 1, 2], "n": ["3", "2", bad]})
    with pytest.raises(DataError, match="1 of 3") as caught:
        encode(frame, Plan(k=2, quasi="x", count="n"))
    assert CANARY not in str(caught.value)


def test_many_wide_columns_do_not_overflow_the_key():
    rows = 500
    generator = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{at}": generator.integers(0, 400, rows) for at in range(12)})
    result = encode(pl.concat([frame, frame[::-1]]), Plan(k=2, quasi=tuple(frame.columns)))
    assert sorted(map(tuple, result.codes.tolist())) == list(map(tuple, result.codes.tolist()))
    assert result.distinct == len(set(frame.rows()))
    assert (result.count == 2).all()
    cells = np.array(
        [column.numbers[0][codes] for column, codes in zip(result.columns, result.codes.T, strict=True)]
    )
    assert (cells.T[result.row[:rows]] == frame.to_numpy()).all()


def test_the_order_of_rows_changes_the_rows_place_alone():
    frame = pl.DataFrame(
        {
            "age": ["30", "4", None, "30", "17"],
            "day": ["2020-01-01", "", "2019-05-05", "2020-01-01", "2020-01-01"],
            "kind": ["a", "b", "e", "a", None],
            "word": ["x", "y", "x", "x", "z"],
        }
    )
    plan = Plan(k=2, quasi=tuple(frame.columns), hierarchies={"kind": TREE})
    one = encode(frame, plan)
    order = [3, 1, 4, 0, 2]
    other = encode(frame[order], plan)
    assert (one.codes == other.codes).all()
    assert (one.count == other.count).all()
    assert (one.row[order] == other.row).all()
    for field in one.metric._fields:
        assert (getattr(one.metric, field) == getattr(other.metric, field)).all()


def test_tables_that_do_not_fit_the_plan_are_refused():
    assert "no column 'y'" in refusal([1, 2], sensitive=["y"])
    assert "no rows" in refusal(pl.Series([], dtype=pl.Int64))
    assert "at least 5 rows; the table has 2" in refusal([1, 2], k=5)
    numbers = refusal(["1", CANARY, "3", ""], kinds={"x": "number"})
    assert "1 of 4 values are not numbers" in numbers
    assert "1 of 3" in refusal(["1", "inf", "3"], kinds={"x": "number"})
    assert "Boolean" in refusal([True, False], kinds={"x": "number"})
    assert "2^53" in refusal([2**53 + 1, 1])
    assert "2^53" in refusal([str(2**53 + 1), "1"])
    assert "2^53" in refusal([f"{2**53 + 1}.5", "1"])
    assert "2^53" in refusal(pl.Series([Decimal(10**30), Decimal(1)]))
    assert "1 of 3 values do not read as YYYY-MM-DD" in refusal(
        ["2020-01-01", CANARY, "2020-01-03"], kinds={"x": "date"}
    )
    assert "%d.%m.%Y" in refusal(["01.01.2020", CANARY], kinds={"x": "date(%d.%m.%Y)"})
    assert "1 of 3 values" in refusal(["2020-01-01 10:00", "2020-01-01", CANARY * 2], kinds={"x": "date"})
    assert "its type is Int64" in refusal([1, 2], kinds={"x": "date"})
    assert "2 of 4 cells" in refusal(["a", CANARY, CANARY, None], hierarchies={"x": TREE})
    assert "1 distinct values" in refusal(["5", CANARY], hierarchies={"x": bins(5)})
    assert "1 of 2" in refusal(["5", CANARY], kinds={"x": "number"}, style="suppress")


def test_large_numbers_that_are_floats_by_nature_are_measured():
    for cells in (["1e300", "1"], [1e300, 1.0]):
        assert only(cells)[0].numbers[0].tolist() == [1.0, 1e300]


def test_numbers_too_far_apart_for_a_float_are_refused():
    assert "too far apart" in refusal([-1.7e308, 1.7e308])
    assert "too far apart" in refusal(["-1.7e308", "1.7e308"])


@pytest.mark.parametrize("form", ["%Q", "%", "%d.%m", "x"])
def test_a_format_that_reads_no_date_is_refused_in_words(form):
    assert "date" in refusal(["01.02.2020", "02.02.2020"], kinds={"x": f"date({form})"})


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([[CANARY], ["x"]]),
        pl.Series([[CANARY], ["x"]], dtype=pl.List(pl.Enum([CANARY, "x"]))),
        pl.Series([{"a": CANARY}, {"a": "x"}]),
        pl.Series([b"\xff", CANARY.encode()]),
        pl.Series([timedelta(1), timedelta(2)]),
        pl.Series([CANARY, 2], dtype=pl.Object),
    ],
)
def test_types_that_cannot_be_published_are_refused(cells):
    assert "Convert it first" in refusal(cells)
    assert "Convert it first" in refusal(cells, style="suppress")
    for kind in ("number", "date"):
        assert "onvert it first" in refusal(cells, kinds={"x": kind})


def test_numbers_closer_than_one_over_them_can_say_are_told_apart() -> None:
    frame = pl.DataFrame({"x": [0.0, 2.2e-311, 1.1e-311]})
    coded = encode(frame, Plan(k=2, quasi=("x",), kinds={"x": "number"}))
    (axis,) = coded.columns[0].axes
    assert axis.position == pytest.approx([0.0, 0.5, 1.0])


@pytest.mark.parametrize(
    ("cells", "kind", "taken"),
    [
        ("bounds", "number", "x_low"),
        ("bounds", "number", "x_high"),
        ("bounds", "place(lat, lon)", "lat_low"),
        ("middle", "place(lat, lon)", "lon_size"),
    ],
)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "count"])
def test_cells_whose_names_are_taken_are_refused(cells, kind, taken, role):
    frame = pl.DataFrame({"x": [1, 2], "lat": [1, 2], "lon": [3, 4], taken: [1, 1]})
    words = {"k": 2, "quasi": ["x"], "kinds": {"x": kind}, "cells": cells}
    words |= {"quasi": ["x", taken]} if role == "quasi" else {role: taken if role == "count" else [taken]}
    if role == "quasi":
        words["kinds"] = {"x": kind, taken: "label"}
    with pytest.raises(PlanError, match=f"two columns named '{taken}'"):
        encode(frame, Plan(**words))
    encode(frame, Plan(**{**words, "cells": "text"}))


def test_a_part_of_a_table_is_coded_as_in_the_whole():
    frame = pl.DataFrame(
        {
            "age": ["30", " 7", "30", "", "?"],
            "zip": ["b", "a", "a", "c", "b"],
            "lat": [1.0, -0.0, 0.0, 2.0, None],
        }
    )
    plan = Plan(k=2, quasi=("age", "zip", "lat"), missing=("?",))
    known = survey(frame, plan)
    whole = code(frame, known, plan)
    for rows in ([0, 1], [4, 2, 3], [1, 3, 0, 2, 4]):
        part = code(frame[rows], known, plan)
        assert part.codes[part.row].tolist() == whole.codes[whole.row[rows]].tolist()


def test_messages_count_cells_and_not_different_ones():
    frame = pl.DataFrame({"age": ["1", "x", "x", "x", "2"]})
    with pytest.raises(DataError, match="3 of 5 values are not numbers"):
        survey(frame, Plan(k=2, quasi=("age",), kinds={"age": "number"}))
