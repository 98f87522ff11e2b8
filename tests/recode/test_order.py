from __future__ import annotations

import numpy as np
import polars as pl

from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode.faces import Faces, cells_of, faces_of
from shoal.recode.generalize import generalize
from shoal.recode.order import InOrder, ranks_of


def cells(coded: Coded, faces: Faces) -> pl.DataFrame:
    return pl.DataFrame([cells_of(column, faces, axis) for axis, column in enumerate(coded.columns)])


def test_classes_stand_in_the_order_of_their_texts(grouped: tuple[Plan, Coded, Grouping]) -> None:
    plan, coded, grouping = grouped
    faces, _ = faces_of(coded, grouping)
    rank, one = ranks_of(coded.columns, faces)
    texts = generalize(coded, grouping, plan)
    classes = cells(coded, faces.take(one))
    assert classes.equals(texts.unique().sort(texts.columns, nulls_last=True))
    assert classes[pl.Series(rank)].equals(texts)


def test_fields_stand_in_the_order_of_texts_and_give_them_back(
    grouped: tuple[Plan, Coded, Grouping],
) -> None:
    _, coded, grouping = grouped
    faces, _ = faces_of(coded, grouping)
    in_order = InOrder(coded.columns)
    told = in_order.tell(faces)
    texts = cells(coded, faces)
    assert pl.DataFrame(in_order.texts(told)).equals(texts)
    lines = texts.with_columns(pl.Series(f"\0{at}", one) for at, one in enumerate(told))
    fields = [f"\0{at}" for at in range(len(told))]
    assert lines.sort(texts.columns, nulls_last=True).equals(lines.sort(fields, nulls_last=True))
    assert lines.select(fields).n_unique() == texts.n_unique()
    some = np.arange(0, faces.groups, 3)  # a group says the same whoever else is there
    for mine, all_ in zip(in_order.tell(faces.take(some)), told, strict=True):
        assert pl.Series(mine).equals(pl.Series(all_).gather(some))


def test_more_columns_than_one_number_holds_take_several(grouped: tuple[Plan, Coded, Grouping]) -> None:
    _, coded, grouping = grouped
    faces, _ = faces_of(coded, grouping)
    axes = [0, 1, 2, 3] * 4
    wide = [coded.columns[axis] for axis in axes]
    more = Faces(
        tuple(faces.low[axis] for axis in axes),
        tuple(faces.high[axis] for axis in axes),
        faces.size,
        tuple(faces.sets[axis] for axis in axes),
    )
    in_order = InOrder(wide)
    assert len(in_order.fields) > 1
    found = in_order.texts(in_order.tell(more))
    expected = [cells_of(column, more, axis) for axis, column in enumerate(wide)]
    assert all(one.equals(other, null_equal=True) for one, other in zip(found, expected, strict=True))


def test_numbers_that_begin_alike_stand_in_the_order_of_texts() -> None:
    values = [-10.5, -1.0, 1.0, 5.0, 10.0, 15.0, 50.0, 100.0, 1e16, None]
    coded = encode(pl.DataFrame({"x": values}), Plan(k=2, quasi=("x",)))
    low, high = np.triu_indices(len(values))
    faces = Faces((low,), (high,), np.ones(low.size, dtype=np.int64), ((),))
    texts = cells_of(coded.columns[0], faces, 0)
    rank, one = ranks_of(coded.columns, faces)
    assert texts.gather(one).equals(texts.unique().sort(nulls_last=True))
    assert rank.max() + 1 == texts.n_unique()
    in_order = InOrder(coded.columns)
    (told,) = in_order.tell(faces)
    assert pl.Series(told).gather(one).is_sorted()
    assert in_order.texts([told])[0].equals(texts, null_equal=True)
