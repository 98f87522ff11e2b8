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


def test_check_judges_rules_and_persons_and_says_no_value(run, folder):
    lines = [
        "face,ill,who",
        *(f"a,i{i},p{i}" for i in range(3)),
        *(f"b,zqillcanary,p{i % 2}" for i in range(3)),
    ]
    (folder / "any.csv").write_text("\n".join(lines) + "\n")
    words = ("check", "any.csv", "-q", "face", "-k", "3")
    assert run(*words).code == 0
    done = run(*words, "--rule", "ill: 2-diverse", "--rule", "ill: 0.9-close")
    assert done.code == 3
    assert "ill: 2-diverse: fails in 1 classes; the worst class measures 1." in done.out
    assert "ill: 0.9-close: holds" in done.out
    assert "zqillcanary" not in done.said
    done = run(*words, "--unit", "who", "--json")
    assert done.code == 3
    assert json.loads(done.out)["verdict"]["rules"][0]["measured"] == 2
    assert run("check", "any.csv", "-q", "face", "-k", "2", "--unit", "who").code == 0
    assert run("check", "any.csv", "-q", "face", "--rule", "ill: 0.9-close by hierarchy").code == 2
    (folder / "ill.csv").write_text("i0;x;*\ni1;x;*\ni2;x;*\nzqillcanary;y;*\n")
    tree = ("--hierarchies", "ill=ill.csv")
    done = run("check", "any.csv", "-q", "face", "--rule", "ill: 0.9-close by hierarchy", *tree)
    assert done.code == 0, done.said
