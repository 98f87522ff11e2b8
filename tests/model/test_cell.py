"""Published cells: what is printed is read back, and nothing is mistaken for something else."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from shoal.model.cell import (
    SUPPRESSED,
    parse_range,
    parse_set,
    parse_value,
    print_range,
    print_set,
    print_value,
)

# every letter that means something, and some that do not; a value is never empty
values = st.text(alphabet="ab ,{}[]*\\\u00e9\u6f22\n\"';", min_size=1, max_size=6)


@given(values)
@example("*")
@example("\\*")
@example("\\")
@example("{a, b}")
@example("[25, 45]")
@example("**")
def test_a_value_reads_back_and_is_no_star_and_no_set(value):
    cell = print_value(value)
    assert parse_value(cell) == value
    assert cell != SUPPRESSED
    assert parse_set(cell) == (value,)


@given(st.lists(st.none() | values, min_size=1, max_size=5, unique=True))
@example([None])
@example([None, "a"])
@example(["a", None])
@example(["\\", "}"])
@example([",", ", "])
@example(["a, b", "a", "b"])
def test_a_set_reads_back(members):
    cell = print_set(members)
    assert parse_set(cell) == tuple(members)
    assert cell != SUPPRESSED


@given(st.lists(st.lists(st.none() | values, min_size=1, max_size=4, unique=True), min_size=2, max_size=2))
def test_different_sets_never_look_alike(two):
    one, other = two
    assert (print_set(one) == print_set(other)) == (one == other)


@given(values)
def test_only_what_could_be_mistaken_is_changed(value):
    plain = value != "*" and not value.startswith(("{", "\\"))
    assert (print_value(value) == value) == plain


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_a_range_reads_back(one, other):
    low, high = sorted((one, other))
    assert parse_range(print_range(str(low), str(high))) == (str(low), str(high))


def test_ranges_of_dates_and_moments_read_back():
    ends = ("2020-03-01 10:00:00", "2020-03-02 00:00:00.000001")
    assert parse_range(print_range(*ends)) == ends
    assert print_range("1e-07", "1e-07") == "1e-07"


def test_no_text_breaks_the_parsers():
    for cell in ("", "{", "}", "{}", "[", "]", "[]", "[1]", "[1, ]", "\\", "{\\", "{a\\}", "{,}", "{, }"):
        parse_value(cell)
        parse_range(cell)
        parse_set(cell)
