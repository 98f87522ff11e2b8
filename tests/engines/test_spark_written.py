"""What Spark writes, and what is judged before that."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_words
from spark_tables import QUASI

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def test_a_folder_is_written_and_verified(
    frame: pl.DataFrame, known: pl.DataFrame, release: shoal.Release, tmp_path: Path
) -> None:
    files = release.write(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out",
        "out.certificate.json",
        "out.receipt.json",
    ]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names[0] == "_SUCCESS"
    assert all(name.endswith(".parquet") for name in names[1:])
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(known)
    found = shoal.verify(
        files.table,
        files.certificate,
        original=frame.sample(fraction=1.0, shuffle=True, seed=1),
        receipt=files.receipt,
        hierarchies=mixed_words()["hierarchies"],
    )
    assert [one for one in found if one.holds is not True] == []
    with pytest.raises(shoal.PlanError, match="is there already"):
        release.write(tmp_path / "out")
    other = frame.with_columns(pl.col("cost").fill_null(7))
    found = shoal.verify(files.table, files.certificate, original=other, receipt=files.receipt)
    assert [one.holds for one in found if one.claim == "original"] == [False]
    shutil.copy(tmp_path / "out" / "part-00000.parquet", tmp_path / "out" / "part-99999.parquet")
    assert any(one.holds is False for one in shoal.verify(files.table, files.certificate))


def test_what_fails_the_check_or_changed_is_not_written(release: shoal.Release, tmp_path: Path) -> None:
    bad = replace(release, verdict=replace(release.verdict, reasons=("The smallest class has 1 record.",)))
    with pytest.raises(shoal.NotAnonymous):
        bad.write(tmp_path / "out")
    content = [*release._published.content]  # type: ignore[attr-defined]
    changed = replace(release._published, content=[content[0], content[1] + 1, *content[2:]])  # type: ignore[type-var]
    with pytest.raises(shoal.NotAnonymous, match="is not the one that was judged"):
        replace(release, _published=changed).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_class_in_two_places_does_not_pass(spark: Any, frame: pl.DataFrame, known: pl.DataFrame) -> None:
    from shoal.encode import encode
    from shoal.engines.spark.judge import judge_frame
    from shoal.engines.spark.write import content_of

    plan = shoal.Plan(**mixed_words())
    columns = encode(frame, plan).columns

    def judged(*parts: pl.DataFrame) -> tuple[Any, list[int], Any]:
        lines = pl.concat([one.with_columns(task=pl.lit(at)) for at, one in enumerate(parts)])
        rows = spark.createDataFrame(lines.with_row_index("row").cast({"row": pl.Int64}).to_arrow())
        table = (
            rows.repartitionById(len(parts), rows["task"]).sortWithinPartitions("row").drop("row", "task")
        )
        verdict, content = judge_frame(table, known.columns, plan, columns, withheld=0)
        return verdict, content, content_of(table, known.columns)

    heads = known.select(pl.struct(QUASI).rle_id()).to_series()
    cut = int((heads < 100).sum())
    verdict, content, again = judged(known[cut:], known[:cut])  # whole classes, in any order of tasks
    assert verdict.has_passed
    assert content == again
    inside = int(np.flatnonzero(np.diff(heads.to_numpy()) == 0)[200]) + 1
    for parts in (
        (known[:inside], known[inside:]),  # a class of which each holds some
        (known[:cut:2], known[1:cut:2], known[cut:]),
        (known.reverse(),),
    ):
        verdict, other, again = judged(*parts)
        assert not verdict.has_passed
        assert "The lines do not stand in the order" in " ".join(verdict.reasons)
        assert other == again == content  # the same rows in another order
    blank = known.with_columns(
        ill=known["cost"].cast(pl.String), cost=known["ill"].str.len_bytes().cast(pl.Int64)
    )
    assert judged(blank)[1] != content
