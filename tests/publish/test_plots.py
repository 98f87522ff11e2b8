"""Figures of a release: numbers and names of columns, never a cell."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import PlanError


def release() -> shoal.Release:
    rows = [(20 + at // 3, f"zq{at % 4}") for at in range(60)]
    table = pl.DataFrame(rows, schema=["a$ge$", "illness"], orient="row")
    return shoal.anonymize(table, k=5, quasi=["a$ge$"], sensitive=["illness"], seed=1)


def test_a_release_is_drawn_by_its_columns_and_classes(tmp_path: Path) -> None:
    made = release()
    figure = made.plot(tmp_path / "release.svg")
    text = (tmp_path / "release.svg").read_text()
    assert [axes.get_title() for axes in figure.axes] == ["Loss by column", "Classes by size, k = 5"]
    heights = [round(bar.get_height()) for bar in figure.axes[1].patches]
    assert sum(heights) == made.certificate.classes
    assert "a$ge$" in text, "the column's name as it is, not as mathematics"
    assert "zq" not in text


def test_the_same_release_is_drawn_as_the_same_bytes(tmp_path: Path) -> None:
    made = release()
    for name in ("one.svg", "two.svg", "one.png", "two.png"):
        made.plot(tmp_path / name)
    for ending in ("svg", "png"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_another_ending_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"\.png"):
        release().plot(tmp_path / "release.docx")
    assert list(tmp_path.iterdir()) == []
