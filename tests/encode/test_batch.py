from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from mixed_tables import mixed_table, mixed_words
from shoal.encode import distinct_lines, encode, survey
from shoal.encode.batch import Lookup, carried_of, coder_of
from shoal.encode.survey import look_up
from shoal.errors import BrokenPromise, DataError
from shoal.model.plan import Plan
from silent import said_by


def coder_for(frame: pl.DataFrame, plan: Plan):
    known = survey(frame, plan)
    counts = {}
    for book in known.books:
        name = book.column.name
        held = frame.group_by(name).len()
        counts[name] = book.cells.join(held, on=name, how="left", nulls_equal=True, maintain_order="left")[
            "len"
        ].to_numpy()
    return known, coder_of(known, counts)


@pytest.mark.parametrize("words_as", ["text", "dictionary"])
def test_batches_get_the_codes_of_the_whole_table(words_as: str) -> None:
    frame, plan = mixed_table(500), Plan(**mixed_words(missing=("{town} 1", "40")))
    known, coder = coder_for(frame, plan)
    expected = np.stack([look_up(frame, book)[0] for book in known.books], axis=1)
    table = frame.to_arrow()
    if words_as == "dictionary":
        for name in ("job", "town"):
            table = table.set_column(table.column_names.index(name), name, table[name].dictionary_encode())
    found = [coder.codes_of(batch) for batch in table.to_batches(max_chunksize=70)]
    assert np.array_equal(np.concatenate(found), expected)
    assert np.array_equal(coder.codes_of(table), expected)
    whole = encode(frame, plan)
    for one, other in zip(coder.columns, whole.columns, strict=True):
        assert np.array_equal(one.counts[0], other.counts[0])
    coded = coder.coded(whole.codes, whole.count, plan)
    assert all(np.array_equal(a, b) for a, b in zip(coded.metric, whole.metric, strict=True))


def test_a_cell_that_was_not_there_before_is_refused_without_a_word_about_it() -> None:
    frame, plan = mixed_table(50), Plan(**mixed_words())
    _, coder = coder_for(frame, plan)
    for name, cell in (("town", "canary"), ("income", 987654), ("height", 87.65)):
        other = frame.with_columns(pl.lit(cell).cast(frame.schema[name]).alias(name))
        with pytest.raises(DataError, match="changed while it was read") as error:
            coder.codes_of(other.to_arrow())
        said_by(error.value, str(cell))


def test_missing_cells_where_there_were_none_are_refused() -> None:
    lookup = Lookup.of(pl.Series("age", [1, 2]), np.array([0, 1], dtype=np.int32))
    with pytest.raises(DataError, match="'age'"):
        lookup.codes_of(pa.array([1, None]))


def test_carried_values_stand_in_their_order_and_missing_is_last() -> None:
    cells = pl.Series("ill", ["flu", " ? ", "cold", None, ""])
    carried = carried_of(cells, np.array([3, 1, 4, 1, 5]), Plan(k=2, quasi=("a",), missing=("?",)))
    assert carried.records.tolist() == [4, 3, 7]
    assert carried.values.to_list() == ["cold", "flu"]
    assert carried.size == 3
    codes = carried.lookup.codes_of(pa.array(["cold", "flu", None, " ? ", ""]))
    assert codes.tolist() == [0, 1, 2, 2, 2]


def test_texts_are_looked_up_by_a_dictionary_as_by_a_join(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, plan = mixed_table(500), Plan(**mixed_words(missing=("{town} 1", "40")))
    frame = frame.with_columns(pl.when(pl.int_range(500) % 7 > 0).then("job").alias("job"))
    books = survey(frame, plan).books
    found = [look_up(frame, book)[0] for book in books]
    monkeypatch.setattr(sys.modules["shoal.encode.survey"], "OFTEN", 500)  # too few rows for it
    for book, codes in zip(books, found, strict=True):
        assert np.array_equal(look_up(frame, book)[0], codes)


@pytest.mark.parametrize("other", ["zqcanary", None])
def test_a_text_that_was_not_surveyed_is_a_mistake_of_ours_and_not_shown(other: str | None) -> None:
    frame = pl.DataFrame({"job": ["a", "b"] * 20})
    (book,) = survey(frame, Plan(k=2, quasi=["job"], kinds={"job": "label"})).books
    with pytest.raises(BrokenPromise) as caught:
        look_up(pl.DataFrame({"job": [*["a"] * 20, other]}), book)
    said_by(caught.value, "zqcanary")


@pytest.mark.parametrize("sizes", [[3, 4], [2**31 - 1, 2**31 - 1, 5]])
def test_distinct_lines_are_sorted_and_every_row_finds_its_own(sizes: list[int]) -> None:
    random = np.random.default_rng(1)
    codes = [random.integers(0, min(size, 4), 200).astype(np.int32) for size in sizes]
    lines, row = distinct_lines(codes, sizes)
    expected, place = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    assert np.array_equal(lines, expected)
    assert np.array_equal(row, place.ravel())
    assert (lines.dtype, row.dtype) == (np.int32, np.int32)
