"""What is given to `verify` beside a release: a wrong hierarchy says nothing against an honest one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal

AGES = [str(age) for age in range(20, 100, 2)] * 3


def release() -> shoal.Release:
    frame = pl.DataFrame({"age": AGES, "sex": ["f", "m", "f"] * 40, "flu": ["yes", "no"] * 60})
    trees = {"age": shoal.top(85) + shoal.bins(5, 10), "sex": shoal.flat()}
    return shoal.anonymize(frame, k=3, quasi=["age", "sex"], sensitive=["flu"], hierarchies=trees)


def other_tree() -> shoal.Hierarchy:
    return shoal.Hierarchy.of_paths([[age, f"{age[0]}x", "*"] for age in sorted(set(AGES))], column="age")


def test_another_hierarchy_than_the_builder_that_was_used_is_not_looked_at(tmp_path: Path) -> None:
    files = release().write(tmp_path / "out.csv")
    findings = shoal.verify(files.table, files.certificate, hierarchies={"age": other_tree()})
    said = {one.claim: one for one in findings}
    assert False not in {one.holds for one in findings}
    assert said["hierarchy of age"].holds is None
    assert "top(85) + bins(5, 10)" in said["hierarchy of age"].detail
    assert said["ends of age"].holds is True


def test_the_tree_that_the_builder_makes_is_taken(tmp_path: Path) -> None:
    builder = shoal.bins(5, 10)
    frame = pl.DataFrame({"age": AGES, "flu": ["yes", "no"] * 60})
    made = shoal.anonymize(frame, k=3, quasi=["age"], sensitive=["flu"], hierarchies={"age": builder})
    files = made.write(tmp_path / "out.csv")
    built = builder.build(sorted(set(AGES)), column="age")
    said = {
        one.claim: one for one in shoal.verify(files.table, files.certificate, hierarchies={"age": built})
    }
    assert "hierarchy of age" not in said or said["hierarchy of age"].holds is not False
    assert said["loss"].holds is True


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_kept_column_that_tells_rows_apart_is_pointed_out(engine: str) -> None:
    frame = pl.DataFrame({"age": AGES, "note": [f"n{i}" for i in range(120)], "flu": ["yes", "no"] * 60})
    made = shoal.anonymize(
        frame, k=3, quasi=["age"], keep=["note", "flu"], kinds={"age": "number"}, engine=engine
    )
    said = [one for one in made.notes if "published as it is" in one]
    assert len(said) == 1
    assert "'note'" in said[0]
    assert "120 different values in 120 rows" in said[0]
