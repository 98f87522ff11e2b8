"""`shoal risk` and `shoal attack`, and that neither says a value."""

from __future__ import annotations

import json

CANARIES = ("zqcitycanary", "73519", "zqillcanary", "zqnamecanary")
TABLE = "name,age,city,ill\nzqnamecanary,73519,zqcitycanary,zqillcanary\n" + "".join(
    f"n{i},{20 + i},c{i % 2},i{i % 3}\n" for i in range(8)
)


def test_risk_says_the_verdict_first_and_no_value(run, folder):
    (folder / "in.csv").write_text(TABLE)
    done = run("risk", "in.csv", "-q", "age,city", "--sampling", "0.1")
    assert done.code == 0
    assert done.out.startswith("HIGH RISK. 9 of 9 records")
    assert "Zayatz" in done.out
    assert not any(canary in done.said for canary in CANARIES)
    done = run("risk", "in.csv", "-q", "age,city", "--json")
    facts = json.loads(done.out)
    assert facts["is_high"] is True
    assert facts["risk"]["uniques"] == 9
    assert not any(canary in done.said for canary in CANARIES)


def test_attack_counts_persons_and_says_no_value(run, folder):
    (folder / "in.csv").write_text(TABLE)
    (folder / "city.csv").write_text("zqcitycanary;far;*\nc0;near;*\nc1;near;*\n")
    done = run(
        *("anonymize", "in.csv", "-k", "3", "-q", "age,city", "-s", "ill", "-o", "out.csv"),
        *("--hierarchies", "city=city.csv"),
    )
    assert done.code == 0, done.said
    words = ("--known", "in.csv", "--match", "age=age,city", "-s", "ill", "-k", "3")
    done = run("attack", "out.csv", *words, "--hierarchies", "city=city.csv")
    assert done.code == 0, done.said
    assert done.out.startswith("0 of 9 persons (0.0 %) are pinned to one record.")
    assert not any(canary in done.said for canary in CANARIES)
    done = run("attack", "in.csv", *words, "--json")
    assert json.loads(done.out)["attack"]["one_record"] == 9
    assert not any(canary in done.said for canary in CANARIES)


def test_wrong_words_exit_2(run, folder):
    (folder / "in.csv").write_text(TABLE)
    assert run("risk", "in.csv").code == 2
    assert run("risk", "in.csv", "-q", "nosuch").code == 2
    assert run("attack", "in.csv", "--known", "in.csv", "--match", "nosuch=age").code == 2
