"""`shoal tabulate` counts what is published."""

from __future__ import annotations

import json


def test_a_release_is_counted_on_screen_and_as_json(run):
    assert run("anonymize", "in.csv", "-k", 2, "-q", "age,sex", "-s", "ill", "-o", "out.csv").code == 0
    ran = run("tabulate", "out.csv", "--by", "sex")
    assert ran.code == 0
    assert "expected" in ran.out
    assert "8 records." in ran.out
    found = json.loads(run("tabulate", "out.csv", "--by", "age", "--widths", "age=10", "--json").out)
    lines = found["tabulation"]["lines"]
    assert sum(one["expected"] for one in lines) == 8
    assert lines[0]["values"] == ["[30, 40)"]
    assert run("tabulate", "in.csv", "--by", "age").code == 2


def test_a_builder_is_refused_and_nodes_alone_are_not_known(run, tmp_path):
    trees = ("--hierarchies", "age=bins(20, 40)")
    words = ("-k", 2, "-q", "age,sex", "-s", "ill", "--no-improve", *trees)
    assert run("anonymize", "in.csv", *words, "-o", "out.csv").code == 0
    ran = run("tabulate", "out.csv", "--by", "age", *trees)
    assert ran.code == 2
    assert "a file with one path per value" in " ".join(ran.err.split())
    ran = run("tabulate", "out.csv", "--by", "age", "--plan", "out.certificate.json")
    assert ran.code == 0
    assert "Give --hierarchies" in " ".join(ran.out.split())
    assert "not known" in ran.out
