"""`shoal anonymize` on tables that are read batch by batch."""

from __future__ import annotations

import json

import polars as pl

from mixed_tables import mixed_table

WORDS = ["-k", "4", "-q", "income,birth,town", "-s", "ill", "--keep", "cost", "--effort", "quick"]


def test_a_stream_is_asked_for_or_taken_where_the_file_is_too_large(run, folder):
    frame = mixed_table(600).with_columns(pl.lit("zqcanary").alias("note"))
    frame.write_parquet(folder / "in.parquet")
    ran = run("anonymize", "in.parquet", *WORDS, "--engine", "stream", "-o", "out.parquet")
    assert ran.code == 0, ran.err
    assert "zqcanary" not in ran.said
    assert "too large" not in ran.said
    assert sorted(p.name for p in folder.iterdir() if p.name.startswith((".", "out"))) == [
        *("out.certificate.json", "out.parquet", "out.receipt.json")
    ]
    table = pl.read_parquet(folder / "out.parquet")
    assert table.group_by("income", "birth", "town").len()["len"].min() >= 4
    ran = run("anonymize", "in.parquet", *WORDS, "--memory", "100KB", "-o", "more.parquet")
    assert ran.code == 2  # it is taken for a stream, for which that is too little
    assert "The option for memory is --memory." in ran.err


def test_a_folder_is_a_stream_and_says_so(run, folder):
    (folder / "parts").mkdir()
    frame = mixed_table(600)
    frame[:250].write_parquet(folder / "parts" / "a.parquet")
    frame[250:].write_parquet(folder / "parts" / "b.parquet")
    ran = run("anonymize", "parts", *WORDS, "-o", "out.csv", "--json")
    assert ran.code == 0, ran.err
    assert any("stream" in said for said in json.loads(ran.out)["read"])
    assert run("verify", "out.csv", "out.certificate.json").code == 0


def test_a_file_that_must_be_made_whole_is_refused_before_any_work(run, folder):
    mixed_table(50).write_parquet(folder / "in.parquet")
    ran = run("anonymize", "in.parquet", *WORDS, "--engine", "stream", "-o", "out.xlsx")
    assert ran.code == 2
    assert "cannot be written as a .xlsx file" in ran.err
