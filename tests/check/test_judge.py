"""The stranger's judgement against obvious Python, and on tables broken on purpose."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.check.judge import judge
from shoal.encode import encode
from shoal.model.figures import is_rounded_up
from shoal.model.hierarchy import Hierarchy, flat
from shoal.model.plan import Plan

TREE = Hierarchy.of_paths([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "z")])
ANCESTORS = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"}

rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-3, 6)),
        st.one_of(st.none(), st.sampled_from("abcde")),
        st.one_of(st.none(), st.sampled_from(["p", "q, r", "{s}", "*", "\\", "[t", "é"])),
        st.sampled_from(["flu", "cold", "pox"]),
        st.integers(1, 3),
    ),
    min_size=3,
    max_size=14,
)


def frame_of(lines):
    names = ["age", "code", "word", "ill", "times"]
    types = [pl.Int64, pl.String, pl.String, pl.String, pl.Int64]
    return pl.DataFrame(
        {
            name: pl.Series([line[i] for line in lines], dtype=dtype)
            for i, (name, dtype) in enumerate(zip(names, types, strict=True))
        }
    )


def plan_for(**words):
    given_words = {
        "k": 2,
        "quasi": ("age", "code", "word"),
        "sensitive": ("ill",),
        "hierarchies": {"code": TREE},
        "kinds": {"age": "number", "word": "label"},
        "method": "k-member",
    }
    return Plan(**(given_words | words))


def number_span(values, whole):
    present = [v for v in values if v is not None]
    if len(present) < len(values):
        return 1.0 if present else 0.0
    known = [v for v in whole if v is not None]
    width = max(known) - min(known)
    return (max(present) - min(present)) / width if width else 0.0


def tree_span(values, whole, loss):
    some_missing = None in whole
    distinct = set(values)
    if len(distinct) == 1:
        return 0.0
    leaves = 5 + some_missing
    if loss == "sets":
        return (len(distinct) - 1) / (leaves - 1)
    if None in distinct or len({ANCESTORS[v] for v in distinct}) > 1:
        return 1.0
    return 1 / 2 if loss == "levels" else 1 / (leaves - 1)  # x and y have two leaves each


def set_span(values, whole):
    return (len(set(values)) - 1) / (len(set(whole)) - 1) if len(set(whole)) > 1 else 0.0


@settings(deadline=None, max_examples=60)
@given(lines=rows, loss=st.sampled_from(["leaves", "levels", "sets"]), counted=st.booleans())
def test_loss_and_classes_follow_the_definition(lines, loss, counted):
    frame = frame_of(lines)
    plan = plan_for(loss=loss, count="persons(times)" if counted else None, weights={"age": 2.0})
    release = shoal.anonymize(frame, plan)
    verdict = release.verdict
    assert verdict.has_passed, verdict.reasons
    # groups as published: rebuild each class's members from the published table's own cells
    published = Counter()
    for line in release.table.iter_rows(named=True):
        published[line["age"], line["code"], line["word"]] += line["times"] if counted else 1
    assert verdict.classes == len(published)
    assert verdict.smallest_class == min(published.values())
    assert verdict.discernibility == sum(size**2 for size in published.values())
    # loss by definition from the groups of rows, which the certificate's value must equal
    if not counted:
        members = defaultdict(list)
        for line, label in zip(lines, release.groups.label.tolist(), strict=True):
            members[label].append(line)
        expected = 0.0
        # numbers are divided by the range of what is published: a mix with missing is starred
        shown = [[line[0] for line in group] for group in members.values()]
        seen = [age for ages in shown if None not in ages for age in ages] or [0]
        for group in members.values():
            ages, codes, words = ([line[i] for line in group] for i in range(3))
            expected += len(group) * (
                2.0 * number_span(ages, seen)
                + tree_span(codes, [line[1] for line in lines], loss)
                + set_span(words, [line[2] for line in lines])
            )
        assert verdict.loss == pytest.approx(expected)
    assert verdict.loss == pytest.approx(release.receipt.figures.value)
    assert is_rounded_up(release.certificate.value, verdict.loss)
    weights = 4.0
    assert verdict.loss_percent == pytest.approx(100 * verdict.loss / (verdict.records * weights))
    assert verdict.entropy is not None
    assert -1e-9 <= verdict.entropy <= 1 + 1e-9


@settings(deadline=None, max_examples=30)
@given(lines=rows, style=st.sampled_from(["suppress", "generalize"]), withhold=st.integers(0, 4))
def test_withheld_records_and_stars_count_in_full(lines, style, withhold):
    frame = frame_of(lines)
    plan = plan_for(style=style, hierarchies={}, kinds={"age": "number"})
    coded = encode(frame, plan)
    table = pl.DataFrame({"age": ["*"] * 5, "code": ["*"] * 5, "word": ["*"] * 5, "ill": ["x"] * 5})
    verdict = judge(table, plan, coded.columns, withheld=withhold)
    assert verdict.loss == pytest.approx(3 * (5 + withhold))
    assert verdict.discernibility == 25 + withhold * (5 + withhold)


def small_release(**words):
    frame = frame_of([(i % 5, "abcde"[i % 5], "pq"[i % 2], "flu", 1) for i in range(20)])
    plan = plan_for(k=4, **words)
    release = shoal.anonymize(frame, plan)
    assert release.verdict.has_passed
    return release.table, plan, encode(frame, plan).columns


def test_a_class_below_k_is_said_with_counts():
    table, plan, columns = small_release()
    verdict = judge(table[1:], plan, columns, withheld=0)
    assert not verdict.has_passed
    assert (
        "classes hold fewer than k = 4 records: 3 records in all, the smallest class 3"
        in (verdict.reasons[0])
    )


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("age", "secretvalue"),
        ("age", "[1, secretvalue]"),
        ("age", "[3, 1]"),
        ("age", "[0, 5]"),
        ("age", None),
        ("age", "nan"),
        ("code", "secretvalue"),
        ("code", None),
        ("word", "{p, secretvalue}"),
        ("word", "{p, q, r}"),
        ("word", "{p, }"),
    ],
)
def test_a_cell_that_does_not_fit_is_a_reason_without_its_value(column, cell):
    table, plan, columns = small_release()
    broken = table.with_columns(pl.lit(cell, dtype=pl.String).alias(column))
    verdict = judge(broken, plan, columns, withheld=0)
    text = " ".join(verdict.reasons)
    assert f"Column {column!r}: the cells of 20 of 20 records (1 different cells)" in text
    assert "secretvalue" not in text


def test_a_lost_column_and_a_kept_identifier_are_reasons():
    table, plan, columns = small_release(identifier=("times",), unit="rows")
    broken = table.drop("age").with_columns(pl.lit(1).alias("times"))
    verdict = judge(broken, plan, columns, withheld=0)
    text = " ".join(verdict.reasons)
    assert "lacks the column 'age'" in text
    assert "still holds the identifier 'times'" in text
    assert verdict.loss is None


def test_an_unknown_column_takes_part_in_the_classes():
    table, plan, columns = small_release()
    verdict = judge(table.with_row_index("line"), plan, columns, withheld=0)
    assert verdict.smallest_class == 1
    assert verdict.risk.uniques == 20


def test_an_empty_table_does_not_pass():
    table, plan, columns = small_release()
    verdict = judge(table[:0], plan, columns, withheld=20)
    assert not verdict.has_passed
    assert verdict.loss_percent == pytest.approx(100.0)


def test_typed_bounds_are_read_and_null_counts_in_full():
    table, plan, columns = small_release(cells="bounds")
    verdict = judge(table, plan, columns, withheld=0)
    assert verdict.has_passed
    assert verdict.loss is not None
    frame = frame_of(
        [(None, "a", "p", "flu", 1)] * 4 + [(3, "a", "p", "flu", 1), (7, "a", "p", "flu", 1)] * 2
    )
    release = shoal.anonymize(frame, plan_for(k=4, cells="bounds"))
    assert release.table["age_low"].to_list() == [3, 3, 3, 3, None, None, None, None]
    assert release.verdict.columns[0].loss == pytest.approx(1.0)  # the mixed class cannot be told apart


def test_middles_do_not_tell_the_loss_but_the_other_columns_do():
    table, plan, columns = small_release(cells="middle")
    verdict = judge(table, plan, columns, withheld=0)
    assert verdict.loss is None
    assert verdict.columns[0].loss is None
    assert verdict.columns[1].loss is not None


def test_the_hand_worked_example_of_non_uniform_entropy():
    # a column a, a, a, b: 3 bits-shares of log2(4/3) and one of 2; all starred gives up everything
    frame = pl.DataFrame({"word": ["a", "a", "a", "b"]})
    plan = Plan(k=2, quasi=("word",), hierarchies={"word": flat()})
    columns = encode(frame, plan).columns
    starred = pl.DataFrame({"word": ["*"] * 4})
    half = pl.DataFrame({"word": ["a", "a", "*", "*"]})
    whole = 3 * math.log2(4 / 3) + 2.0
    assert judge(starred, plan, columns, withheld=0).entropy == pytest.approx(1.0)
    assert judge(half, plan, columns, withheld=0).entropy == pytest.approx((math.log2(4 / 3) + 2.0) / whole)
    assert judge(half[:2], plan, columns, withheld=2).entropy == pytest.approx(
        (math.log2(4 / 3) + 2.0) / whole
    )
