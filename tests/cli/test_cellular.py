"""cellular from the command line: its centres, its certificate held against the original, its errors."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

from shoal.model.figures import is_rounded_up


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("-k", "9"), "k = 9 needs at least 9 rows; the table has 4"),
        (("-k", "2", "--withhold", "1"), "withhold"),
        (("-k", "2", "--withhold", "-0.1"), "withhold"),
        (("-k", "2", "--withhold", "nan"), "withhold"),
        (("-k", "2", "--option", "opening=1"), "has no option 'opening'"),
        (("-k", "2", "--distance", "great-circle"), "great-circle"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(run, folder, words, what):
    pl.DataFrame({"a": [1, 2, 3, 471147]}).write_csv(folder / "in.csv")
    before = sorted(folder.iterdir())
    ran = run("anonymize", "in.csv", "-q", "a", "--method", "cellular", "-o", "out.csv", *words)
    assert ran.code == 2
    assert what in " ".join(ran.said.split())
    assert "471147" not in ran.said
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("withhold", ["0", "0.1"])
def test_centres_carry_their_own_radius_and_verify_adds_them_up(run, folder, withhold):
    luck = random.Random(9)
    frame = pl.DataFrame(
        {
            "age": [luck.randrange(20, 60) for _ in range(120)],
            "town": [luck.choice(["A", "B", "C"]) for _ in range(120)],
            "ill": [luck.choice(["flu", "gout"]) for _ in range(120)],
        }
    )
    frame.write_csv(folder / "in.csv")
    words = ["-k", "5", "-q", "age,town", "-s", "ill", "--method", "cellular", "--style", "centres"]
    words += ["--option", "centre=row"]
    assert run("anonymize", "in.csv", *words, "--withhold", withhold, "-o", "out.csv").code == 0
    table = pl.read_csv(folder / "out.csv")
    path = folder / "out.certificate.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    assert said["objective"] == "cellular"
    total = sum(table["group_size"] * table["group_radius"])
    assert is_rounded_up(said["value"], total, tolerance=1e-4)
    assert table["group_radius"].n_unique() > 1  # each its own, not the largest of all
    receipt = next(folder.glob("*receipt*"))
    verify = ["verify", "out.csv", path.name, "--original", "in.csv", "--receipt", receipt.name, "--json"]
    ran = run(*verify)
    findings = {one["claim"]: one["holds"] for one in json.loads(ran.out)["findings"]}
    assert ran.code == 0
    assert findings["value"] is True
    assert findings["bound"] is True
    # a certificate that claims more than can be proved is found out
    said["bound"] *= 1.01
    said["ratio"] = said["value"] / said["bound"]
    path.write_text(json.dumps(said), encoding="utf-8")
    ran = run(*verify)
    findings = {one["claim"]: one["holds"] for one in json.loads(ran.out)["findings"]}
    assert ran.code != 0
    assert findings["bound"] is False
