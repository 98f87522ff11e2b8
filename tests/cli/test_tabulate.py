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
