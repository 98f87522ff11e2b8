from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from mixed_tables import mixed_table, mixed_words
from shoal.encode import encode, survey
from shoal.encode.batch import Lookup, carried_of, coder_of
from shoal.encode.survey import look_up
from shoal.errors import DataError
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
