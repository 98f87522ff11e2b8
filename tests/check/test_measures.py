"""Diversity, closeness and risk against their definitions and worked examples."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import astuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.check import diversity
from shoal.check.kanonymity import classes_of, records_of
from shoal.check.mix import mix_of
from shoal.errors import DataError, PlanError


def by_class(rows):
    classes = defaultdict(list)
    for face, value in rows:
        classes[face].append(value)
    return list(classes.values())


def ordered(values, whole):
    """Earth mover's distance on a line of the table's distinct values, step by step."""
    domain = sorted(set(whole))
    if len(domain) < 2:
        return 0.0
    p, q, moved = 0.0, 0.0, 0.0
    for value in domain[:-1]:
        p += values.count(value) / len(values)
        q += whole.count(value) / len(whole)
        moved += abs(p - q)
    return moved / (len(domain) - 1)


def equal(values, whole):
    return sum(abs(values.count(v) / len(values) - whole.count(v) / len(whole)) for v in set(whole)) / 2


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6)), min_size=1, max_size=25),
    st.sampled_from(["number", "text", "date"]),
)
def test_measurements_follow_their_definitions(rows, written):
    faces = [face for face, _ in rows]
    values = [value for _, value in rows]
    series = pl.Series("s", values, dtype=pl.Int64)
    if written == "text":
        series = series.cast(pl.String)
    elif written == "date":
        series = series.cast(pl.Date)
    frame = pl.DataFrame({"q": faces, "s": series})
    verdict = shoal.check_table(frame, quasi=["q"], sensitive=["s"], k=2)
    classes = by_class(rows)
    sizes = [len(values) for values in classes]
    found = verdict.sensitive[0]
    counts = [Counter(values).most_common() for values in classes]
    assert found.distinct == min(len(count) for count in counts)
    entropies = [
        -sum(c / sum(n for _, n in count) * math.log(c / sum(n for _, n in count)) for _, c in count)
        for count in counts
    ]
    assert found.entropy == pytest.approx(math.exp(min(entropies)))
    assert found.largest_share == pytest.approx(
        max(count[0][1] / size for count, size in zip(counts, sizes, strict=True))
    )
    least = max(
        count[0][1] / (size - count[0][1]) if size > count[0][1] else math.inf
        for count, size in zip(counts, sizes, strict=True)
    )
    assert found.recursive == pytest.approx(least)
    assert found.closeness_equal == pytest.approx(max(equal(c, values) for c in classes), abs=1e-12)
    assert found.closeness_ordered == pytest.approx(max(ordered(c, values) for c in classes), abs=1e-12)
    assert verdict.records == len(rows)
    assert verdict.classes == len(classes)
    assert verdict.smallest_class == min(sizes)
    assert verdict.largest_class == max(sizes)
    assert verdict.mean_class == pytest.approx(len(rows) / len(classes))
    assert verdict.discernibility == sum(size**2 for size in sizes)
    assert verdict.risk.prosecutor_highest == pytest.approx(1 / min(sizes))
    mean = sum(1 / size for size in sizes for _ in range(size)) / len(rows)
    assert verdict.risk.prosecutor_mean == pytest.approx(mean)
    assert verdict.risk.marketer == pytest.approx(len(classes) / len(rows))
    assert verdict.risk.uniques == sum(size == 1 for size in sizes)
    assert verdict.has_passed == (min(sizes) >= 2)


def test_the_salaries_of_the_t_closeness_paper():
    """Li, Li, Venkatasubramanian 2007, section 4: {3,4,5}k is 0.375 away from 3k..11k, {6,8,11}k 0.167.

    The nine rows are the paper's own salary table, three to a class.
    """
    faces = ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    salary = [3, 4, 5, 6, 8, 11, 7, 9, 10]
    frame = pl.DataFrame({"zip": faces, "salary": salary})
    first = shoal.check_table(frame, quasi=["zip"], sensitive=["salary"]).sensitive[0]
    assert first.closeness_ordered == pytest.approx(0.375)
    assert ordered([6, 8, 11], salary) == pytest.approx(1 / 6, abs=1e-3)
    mixed = pl.DataFrame({"zip": faces, "salary": [6, 8, 11, 3, 7, 9, 4, 5, 10]})
    measured = shoal.check_table(mixed, quasi=["zip"], sensitive=["salary"]).sensitive[0]
    classes = [[6, 8, 11], [3, 7, 9], [4, 5, 10]]
    assert measured.closeness_ordered == pytest.approx(max(ordered(c, salary) for c in classes))


def test_the_inpatients_of_the_l_diversity_paper():
    """Machanavajjhala et al. 2007, figure 3: the 3-diverse release of twelve inpatients."""
    faces = ["1305*, <=40"] * 4 + ["1485*, >40"] * 4 + ["1306*, <=40"] * 4
    ill = ["heart", "viral", "cancer", "cancer", "cancer", "heart", "viral", "viral"]
    ill += ["heart", "viral", "cancer", "cancer"]
    frame = pl.DataFrame({"face": faces, "ill": ill})
    verdict = shoal.check_table(frame, quasi="face", sensitive="ill", k=4)
    assert verdict.has_passed
    found = verdict.sensitive[0]
    assert found.distinct == 3
    assert found.entropy == pytest.approx(math.exp(1.5 * math.log(2)))  # halves, quarters: 2.83
    assert found.recursive == pytest.approx(1.0)
    assert found.largest_share == pytest.approx(0.5)
    assert found.closeness_ordered is None


def test_missing_is_one_value_however_it_is_written():
    frame = pl.DataFrame({"q": ["", None, "a", "a"], "s": ["", None, "x", "y"]})
    verdict = shoal.check_table(frame, quasi=["q"], sensitive=["s"], k=2)
    assert verdict.classes == 2
    assert verdict.has_passed
    assert verdict.sensitive[0].distinct == 1


def test_a_count_column_counts_and_rows_of_none_are_in_no_class():
    frame = pl.DataFrame({"q": ["a", "a", "b", "c"], "n": ["2", "3", "4", "0"]})
    verdict = shoal.check_table(frame, quasi=["q"], count="n", k=4)
    assert (verdict.records, verdict.classes, verdict.smallest_class) == (9, 2, 4)
    assert verdict.has_passed


def test_pandas_frames_are_judged_too():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"q": ["a", "a", "b"], "s": [1, 2, 3]})
    verdict = shoal.check_table(frame, quasi=["q"], sensitive=["s"], k=2)
    assert not verdict.has_passed
    assert "1 of 2 classes hold fewer than k = 2 records" in verdict.reasons[0]


def test_with_its_original_a_strangers_table_is_measured():
    original = pl.DataFrame({"age": [1, 2, 9, 10, 11], "ill": list("abcde")})
    table = pl.DataFrame({"age": ["[1, 2]", "[1, 2]", "[9, 10]", "[9, 10]"], "ill": list("abcd")})
    verdict = shoal.check_table(table, quasi=["age"], sensitive=["ill"], k=2, original=original)
    assert verdict.has_passed
    assert verdict.withheld == 1
    assert verdict.loss == pytest.approx(4 * 0.1 + 1)
    with pytest.raises(DataError, match="right original"):
        shoal.check_table(table, quasi=["age"], sensitive=["ill"], original=original[:2])


def test_what_cannot_be_judged_is_said_without_values():
    frame = pl.DataFrame({"q": ["secret"], "n": ["many"], "s": [[1]]})
    with pytest.raises(PlanError, match="no quasi-identifier"):
        shoal.check_table(frame, quasi=[])
    with pytest.raises(PlanError, match="named twice"):
        shoal.check_table(frame, quasi=["q"], sensitive=["q"])
    with pytest.raises(PlanError, match="at least 1"):
        shoal.check_table(frame, quasi=["q"], k=0)
    with pytest.raises(PlanError, match="takes no weights"):
        shoal.check_table(frame, quasi=["q"], weights={"q": 1})
    with pytest.raises(DataError, match="no column 'z'"):
        shoal.check_table(frame, quasi=["z"])
    with pytest.raises(DataError, match="1 of 1 of its values") as error:
        shoal.check_table(frame, quasi=["q"], count="n")
    assert "many" not in str(error.value)
    with pytest.raises(DataError, match="plain type"):
        shoal.check_table(frame, quasi=["q"], sensitive=["s"])


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=60),
    st.integers(1, 5),
    st.sampled_from(["number", "text"]),
)
def test_many_classes_are_measured_some_at_a_time(rows, some, written):
    frame = pl.DataFrame(rows, schema=["face", "value"], orient="row")
    if written == "text":
        frame = frame.with_columns(pl.format("v {}", "value").alias("value"))
    classes = classes_of(frame, ["face"], records_of(frame, None))
    whole = diversity.measure(frame["value"], classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diversity, "SOME", some)
        parts = diversity.measure(frame["value"], classes)
    for one, other in zip(astuple(whole), astuple(parts), strict=True):
        assert one == (other if isinstance(other, str | int) or other is None else pytest.approx(other))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 900)), min_size=1, max_size=60))
def test_pairs_of_class_and_value_are_counted_where_there_are_many_values(rows):
    frame = pl.DataFrame(rows, schema=["face", "value"], orient="row")
    classes = classes_of(frame, ["face"], records_of(frame, None))
    mix = mix_of(classes, frame["value"].to_numpy(), 901)
    expected = sorted(Counter(zip(classes.label.tolist(), frame["value"].to_list(), strict=True)).items())
    assert mix.value.tolist() == [value for (_, value), _ in expected]
    assert mix.records.tolist() == [records for _, records in expected]
    assert (
        np.diff(mix.start).tolist()
        == frame.group_by("face")
        .agg(pl.n_unique("value"))
        .sort(pl.col("face").replace_strict(dict(zip(frame["face"], classes.label.tolist(), strict=True))))[
            "value"
        ]
        .to_list()
    )
