from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.bound import value_of
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode.faces import Faces, cells_of, faces_of, join_faces
from shoal.recode.generalize import generalize


def cells(coded: Coded, faces: Faces) -> pl.DataFrame:
    return pl.DataFrame([cells_of(column, faces, axis) for axis, column in enumerate(coded.columns)])


def test_cells_are_those_of_a_table_in_memory(grouped: tuple[Plan, Coded, Grouping]) -> None:
    plan, coded, grouping = grouped
    faces, lost = faces_of(coded, grouping)
    assert cells(coded, faces).equals(generalize(coded, grouping, plan))
    assert float(lost @ faces.size) == pytest.approx(value_of("loss", coded, grouping))


def test_faces_of_parts_join_into_those_of_the_whole(grouped: tuple[Plan, Coded, Grouping]) -> None:
    _, coded, grouping = grouped
    faces, _ = faces_of(coded, grouping)
    half = np.arange(faces.groups) < faces.groups // 2
    seen = []
    for kept in (half, ~half):  # each part numbers its sets itself
        some = np.flatnonzero(kept[grouping.group])
        part = Grouping.of_pieces(grouping.distinct[some], grouping.group[some], grouping.count[some])
        seen.append(faces_of(coded, part)[0])
    joined = join_faces(seen)
    assert joined.size.sum() == coded.total
    texts = [cells(coded, one).with_columns(size=pl.Series(one.size)) for one in (faces, joined)]
    assert texts[0].sort(pl.all()).equals(texts[1].sort(pl.all()))
