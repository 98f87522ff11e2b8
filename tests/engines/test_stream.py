"""Tables larger than memory: the same promises, part by part."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.dataset
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal import engines
from shoal.bound import border
from shoal.model.hierarchy import Hierarchy
from silent import said_by
from tables import PATHS

CUTS = {"method": "mondrian", "engine": "stream"}


def sizes(table: pl.DataFrame) -> pl.Series:
    return table.group_by("income", "height", "birth", "job", "town").len()["len"]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return mixed_table(2000)


@pytest.fixture(scope="module")
def release(frame: pl.DataFrame) -> shoal.Release:
    return shoal.anonymize(frame, part=200, **CUTS, **mixed_words())


def test_parts_give_classes_of_k_in_published_order(frame: pl.DataFrame, release: shoal.Release) -> None:
    table = release.table.collect()
    assert release.verdict.has_passed
    assert sizes(table).min() >= 4
    assert table.height == frame.height
    assert table.equals(table.sort(pl.all(), nulls_last=True))
    assert table.schema == shoal.anonymize(frame, method="mondrian", **mixed_words()).table.schema
    for name in ("ill", "cost"):
        assert table[name].sort().equals(frame[name].sort())
    assert release.certificate.bound_name == "border"
    assert 0 < release.certificate.bound < release.certificate.value
    assert release.certificate.loss_percent is not None


@pytest.mark.parametrize("method", ["mondrian", "crowd", "auto"])
def test_a_table_of_few_tuples_is_grouped_as_in_memory(method: str) -> None:
    frame = mixed_table(300, seed=5)
    frame = pl.concat([frame, frame[:200], frame[:90], frame[:90]])
    words = mixed_words(method=method, effort="quick", withhold=0.02)
    known = shoal.anonymize(frame, **words)
    found = shoal.anonymize(frame.lazy(), engine="stream", **words)
    assert found.table.collect().equals(known.table)
    for name in ("value", "bound", "loss_percent", "columns", "classes", "withheld", "rules"):
        assert getattr(found.certificate, name) == getattr(known.certificate, name), name


@pytest.mark.parametrize("files", [1, 2, 7])
def test_files_order_and_threads_change_nothing(
    frame: pl.DataFrame, release: shoal.Release, tmp_path: Path, files: int
) -> None:
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=files)
    for at in range(files):
        mixed[at::files].write_parquet(tmp_path / f"{at}.parquet", row_group_size=90)
    scan = shoal.scan_table(tmp_path)
    found = shoal.anonymize(scan, part=200, threads=1 + files % 2, method="mondrian", **mixed_words())
    assert found.plan.engine == "stream"
    assert found.table.collect().equals(release.table.collect())


def test_datasets_and_text_are_read_batch_by_batch(frame: pl.DataFrame, tmp_path: Path) -> None:
    few = frame[:400].select(pl.exclude("height"))
    words = mixed_words(method="mondrian", quasi=("income", "birth", "job", "town"))
    few.write_parquet(tmp_path / "in.parquet")
    few.write_ipc(tmp_path / "in.arrow")
    few.write_csv(tmp_path / "in.csv")
    known = shoal.anonymize(few, **words).table
    dataset = pyarrow.dataset.dataset(tmp_path / "in.parquet")
    assert shoal.anonymize(dataset, **words).table.collect().equals(known)
    assert shoal.anonymize(shoal.scan_table(tmp_path / "in.arrow"), **words).table.collect().equals(known)
    text = shoal.anonymize(shoal.scan_table(tmp_path / "in.csv"), **words).table.collect()
    in_memory = shoal.anonymize(shoal.read_table(tmp_path / "in.csv").frame, **words).table
    assert text.equals(in_memory)


def test_a_bound_from_rows_that_were_drawn_is_proved_again(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(border, "QUICKLY", 400)
    monkeypatch.setattr(border, "CHANCE", 0.1)  # of so few rows a smaller one leaves nothing
    words = mixed_words()
    release = shoal.anonymize(frame, part=200, effort="quick", **CUTS, **words)
    assert release.certificate.bound_name == "border-drawn"
    assert 0 < release.certificate.bound < release.certificate.value
    files = release.write(tmp_path / "out.parquet")
    more = {"original": frame, "receipt": files.receipt, "hierarchies": words["hierarchies"]}
    found = shoal.verify(files.table, files.certificate, **more)
    assert [one for one in found if one.holds is not True] == []
    assert sum("border-drawn" in one.detail for one in found) == 2  # in the certificate and the receipt


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".arrow"])
def test_what_is_written_is_verified(
    frame: pl.DataFrame, release: shoal.Release, tmp_path: Path, ending: str
) -> None:
    files = release.write(tmp_path / f"out{ending}")
    found = shoal.verify(
        files.table,
        files.certificate,
        original=frame,
        receipt=files.receipt,
        hierarchies=mixed_words()["hierarchies"],
    )
    assert [one for one in found if one.holds is not True] == []
    assert len(list(tmp_path.iterdir())) == 3


def test_withheld_rows_are_counted(frame: pl.DataFrame) -> None:
    words = mixed_words(method="crowd", effort="quick", withhold=0.05)
    found = shoal.anonymize(frame, part=500, engine="stream", **words)
    assert found.verdict.has_passed
    table = found.table.collect()
    assert table.height == frame.height - found.certificate.withheld
    assert found.certificate.withheld <= 0.05 * frame.height
    assert sizes(table).min() >= 4


@pytest.mark.parametrize(
    ("effort", "method"), [("quick", "mondrian"), ("normal", "crowd"), ("thorough", "crowd")]
)
def test_every_effort_has_a_method(frame: pl.DataFrame, effort: str, method: str) -> None:
    found = shoal.anonymize(frame[:600], part=200, engine="stream", effort=effort, **mixed_words())
    assert found.verdict.has_passed
    assert found.certificate.method == method
    assert sizes(found.table.collect()).min() >= 4


def skewed(name: str) -> pl.DataFrame:
    frame = mixed_table(1500, seed=2)
    if name == "half of all rows are one tuple":
        one = pl.concat([frame[:1]] * 1500)
        return pl.concat([frame, one.with_columns(frame["ill"], frame["cost"])])
    if name == "a heavy tuple of different rows":
        one = pl.concat([frame[:1]] * 1500)
        return pl.concat([frame, one.with_columns(pl.int_range(1500).cast(pl.String).alias("ill"))])
    if name == "all rows are alike":
        return pl.concat([frame[3:4]] * 500)
    if name == "a column of very many texts":
        return frame.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("ill"))
    return frame


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("half of all rows are one tuple", {"part": 200}),
        ("a heavy tuple of different rows", {"part": 100}),
        ("all rows are alike", {"part": 100}),
        ("a column of very many texts", {"part": 200}),
        ("k is larger than a part", {"part": 20, "k": 300}),
        ("parts of a handful of rows", {"part": 10}),
    ],
)
def test_skewed_tables(name: str, more: dict[str, Any]) -> None:
    frame = skewed(name)
    words = mixed_words(**CUTS, **more)
    found = shoal.anonymize(frame, **words)
    table = found.table.collect()
    assert found.verdict.has_passed
    assert table.height == frame.height
    assert sizes(table).min() >= words["k"]
    assert table["ill"].sort().equals(frame["ill"].sort())
    shuffled = shoal.anonymize(frame.sample(fraction=1.0, shuffle=True, seed=1), **words)
    assert shuffled.table.collect().equals(table)


def of_texts(rows: int) -> pl.DataFrame:
    """A table with a column in which every text is different."""
    luck = np.random.default_rng(rows)
    return pl.DataFrame(
        {
            "age": luck.integers(0, 90, rows),
            "income": luck.integers(0, 50_000, rows),
            "note": pl.Series(luck.permutation(rows)).cast(pl.String) + " was written of somebody",
        }
    )


@pytest.mark.parametrize("rows", [50_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
def test_a_column_of_texts_that_are_all_different(rows: int, tmp_path: Path) -> None:
    of_texts(rows).write_parquet(tmp_path / "in.parquet")
    scan = shoal.scan_table(tmp_path / "in.parquet")
    words = {"k": 5, "quasi": ["age", "income"], "keep": ["note"], "effort": "quick"}
    found = shoal.anonymize(scan, part=rows // 5, memory="4GB", scratch=str(tmp_path), **words)
    assert found.verdict.has_passed
    table = found.table.collect()
    assert table.group_by("age", "income").len()["len"].min() >= 5
    assert table["note"].n_unique() == table.height == rows


def test_files_and_row_groups_without_rows_change_nothing(
    frame: pl.DataFrame, release: shoal.Release, tmp_path: Path
) -> None:
    for at, some in enumerate([frame[:0], frame[:700], frame[:0], frame[700:], frame[:0]]):
        some.write_parquet(tmp_path / f"{at}.parquet")
    found = shoal.anonymize(shoal.scan_table(tmp_path), part=200, **CUTS, **mixed_words())
    assert found.table.collect().equals(release.table.collect())


def test_labels_and_trees_of_sets_are_published_as_in_memory() -> None:
    luck = random.Random(1)
    frame = pl.DataFrame(
        {
            "job": [luck.choice(PATHS)[0] for _ in range(600)],
            "town": [luck.choice(["a", "b", "c, d", "*", "{e"]) for _ in range(600)],
            "x": [luck.choice(["p", "q", "r", None]) for _ in range(600)],
        }
    )
    words = {"k": 3, "quasi": ("job", "town", "x"), "hierarchies": {"job": Hierarchy.of_paths(PATHS)}}
    found = shoal.anonymize(frame, part=20, **CUTS, **words)
    assert found.verdict.has_passed
    assert found.table.collect().group_by("job", "town", "x").len()["len"].min() >= 3


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"style": "means"}, "style"),
        ({"cells": "bounds"}, "cells"),
        ({"method": "forest"}, "method"),
        ({"stop_at": 1.1}, "stop_at"),
        ({"kinds": {"town": "place(income, height)"}, "quasi": ("town",), "hierarchies": {}}, "kinds"),
        ({"memory": "1MB"}, "memory"),
        ({"memory": "much"}, "memory"),
    ],
)
def test_what_cannot_be_done_in_parts_is_refused(
    frame: pl.DataFrame, more: dict[str, Any], field: str
) -> None:
    with pytest.raises(shoal.PlanError) as error:
        shoal.anonymize(frame, **{"engine": "stream", **mixed_words(), **more})
    assert error.value.field == field


def test_a_folder_for_scratch_must_be_there_and_have_room(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(shoal.DataError) as error:
        shoal.anonymize(frame, scratch=str(tmp_path / "no"), **CUTS, **mixed_words())
    assert error.value.field == "scratch"
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: usage)
    with pytest.raises(shoal.DataError, match="Scratch files of about"):
        shoal.anonymize(frame, part=200, scratch=str(tmp_path), **CUTS, **mixed_words())
    assert list(tmp_path.iterdir()) == []


def test_an_identifier_that_repeats_asks_whom_k_counts(frame: pl.DataFrame) -> None:
    named = frame.with_columns((pl.int_range(pl.len()) // 2).cast(pl.String).alias("who"))
    named = pl.concat([named[::2], named[::2].with_columns(ill=pl.lit("ill 1"))])
    words = mixed_words(identifier=("who",), part=200, **CUTS)
    with pytest.raises(shoal.TooFewPersons, match="'who' repeats") as error:
        shoal.anonymize(named, **words)
    with pytest.raises(shoal.TooFewPersons) as known:
        shoal.anonymize(named, **{**words, "engine": "memory", "part": 10**6})
    assert error.value.field == "unit"
    assert error.value.fewest == known.value.fewest == 2
    found = shoal.anonymize(named, unit="rows", **words)
    assert found.repeats[0].rows == 2000
    assert "who" not in found.table.collect_schema().names()


def test_a_table_that_fails_the_check_is_not_written(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    stream = engines.load("stream")
    honest = stream.check

    def strict(*args: Any, **more: Any) -> Any:
        return replace(honest(*args, **more), reasons=("The smallest class has 1 record.",))

    monkeypatch.setattr(stream, "check", strict)
    bad = shoal.anonymize(frame, part=200, **CUTS, **mixed_words())
    with pytest.raises(shoal.NotAnonymous):
        bad.write(tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_what_was_judged_is_written_or_nothing(release: shoal.Release, tmp_path: Path) -> None:
    from dataclasses import replace

    changed = replace(release, _published=replace(release._published, digest="0" * 64))
    with pytest.raises(shoal.NotAnonymous, match="no longer the one that was judged"):
        changed.write(tmp_path / "out.parquet")
    with pytest.raises(shoal.PlanError, match=r"cannot be written as a \.xlsx"):
        release.write(tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_say_no_cell(frame: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\nzqcanary,1\nzqcanary,2,3\n")
    with pytest.raises(shoal.DataError) as error:
        shoal.scan_table(tmp_path / "in.csv")
    said_by(error.value, "zqcanary")
    frame.write_parquet(tmp_path / "in.parquet")
    data = (tmp_path / "in.parquet").read_bytes()
    (tmp_path / "in.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(shoal.DataError):
        shoal.scan_table(tmp_path / "in.parquet")
    (tmp_path / "other").mkdir()
    frame.write_parquet(tmp_path / "other" / "a.parquet")
    frame.select("job").write_parquet(tmp_path / "other" / "b.parquet")
    with pytest.raises(shoal.DataError, match=r"b.parquet has other columns"):
        shoal.scan_table(tmp_path / "other")


KILLED = """
import importlib, os, signal, sys
from shoal.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
where, name, sign = sys.argv[1:4]
module = importlib.import_module(where)
real = getattr(module, name)
def kill(*given, **more):
    found = real(*given, **more)
    os.write(2, b"reached")
    os.kill(os.getpid(), int(sign))
    return found
setattr(module, name, kill)
main(sys.argv[4:])
"""


@pytest.mark.parametrize(
    ("where", "name", "sign"),
    [
        ("engines.stream.tuples", "cuts_of", signal.SIGTERM),
        ("engines.stream.group", "joined_until", signal.SIGINT),
        ("engines.stream.write", "_send_parts", signal.SIGKILL),
        ("engines.stream", "judge_in_order", signal.SIGKILL),
        ("engines.stream", "prove_in_parts", signal.SIGTERM),
        ("publish.large", "check_large", signal.SIGKILL),
    ],
)
def test_a_kill_leaves_nothing(
    frame: pl.DataFrame, tmp_path: Path, where: str, name: str, sign: signal.Signals
) -> None:
    frame.write_parquet(tmp_path / "in.parquet")
    words = "--engine stream --method mondrian --part 200 -k 4 -q income,birth,town -s ill -o out.parquet"
    done = subprocess.run(
        [
            *(sys.executable, "-c", KILLED, f"shoal.{where}", name, str(int(sign))),
            *("anonymize", "in.parquet", *words.split()),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0, done.stderr
    assert b"reached" in done.stderr
    if sign == signal.SIGKILL:
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] != ".") == ["in.parquet"]
    if name != "check_large":  # while files are written, a kill leaves hidden ones that the next run sweeps
        assert len(list(tmp_path.iterdir())) == 1


def test_a_lazy_result_is_read_in_pieces(release: shoal.Release) -> None:
    lazy = release.table
    table = lazy.collect()
    assert lazy.head(3).collect().equals(table.head(3))
    assert lazy.select("ill").collect().equals(table.select("ill"))
    some = pl.col("job") == table["job"][0]
    assert lazy.filter(some).select("town").collect().equals(table.filter(some).select("town"))
    assert release.groups.label.size == 0
    assert "Release" in repr(release)
    assert "<table" in release._repr_html_()


def test_numbers_of_the_whole_are_those_of_its_parts(release: shoal.Release) -> None:
    figures = release.receipt.figures
    assert figures is not None
    lost = sum(column.loss * column.weight for column in figures.columns)  # type: ignore[operator]
    assert figures.value == pytest.approx(lost * 2000)
    assert np.isfinite(figures.value)
