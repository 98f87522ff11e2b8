"""`shoal risk` and `shoal attack`, and that neither says a value."""

from __future__ import annotations

import json
import re

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


def test_what_an_attack_cannot_read_is_said(run, folder):
    (folder / "out.csv").write_text('age,town\n"[20, 30]",north\n"[20, 30]",north\n')
    (folder / "in.csv").write_text("age,city\n25,zqcitycanary\n26,zqcitycanary\n")
    words = ("attack", "out.csv", "--known", "in.csv")
    done = run(*words, "--match", "age,town=city")
    assert done.code == 0
    assert "None of 2 persons has a candidate" in done.out
    assert "a hierarchy that was not given" in " ".join(done.out.split())
    (folder / "town.csv").write_text("zqcitycanary;north;*\nzqother;south;*\n")
    done = run(*words, "--match", "age,town=city", "--hierarchies", "town=town.csv")
    assert done.out.startswith("0 of 2 persons (0.0 %) are pinned to one record.")
    for wrong, said in (
        (("--match", "age", "-k", "0"), "k = 0 counts nobody"),
        (("--match", "town=age+city"), "none of its cells is a place"),
        (("--match", "age=name"), "The register has no column 'name'"),
        (("--match", "age", "-s", "ill"), "The release has no column 'ill'"),
    ):
        done = run(*words, *wrong)
        assert done.code == 2
        assert said in " ".join(done.said.split())
        assert "canary" not in done.said


def test_dates_of_a_register_are_read_as_said(run, folder):
    run(
        "anonymize", "in.csv", "-k", "2", "-q", "born", "-s", "ill", "-o", "out.csv", "--method", "k-member"
    )
    text = (folder / "in.csv").read_text()
    (folder / "register.csv").write_text(re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text))
    ask = ("attack", "out.csv", "--known", "register.csv", "--match", "born")
    refused = run(*ask)
    assert (refused.code, "shows ranges of dates" in refused.err) == (2, True)
    assert "05.01.1990" not in refused.said
    done = run(*ask, "--kind", "born=date(%d.%m.%Y)", "--json")
    assert json.loads(done.out)["attack"]["found"] == 8


def test_a_register_may_be_written_otherwise_than_the_release(run, folder):
    (folder / "out.csv").write_text("city,ill\nK\u00f6ln,a\nK\u00f6ln,b\nBonn,c\n", encoding="utf-8")
    (folder / "known.csv").write_bytes("name;city\nzqn;K\u00f6ln\nzqm;Bonn\n".encode("latin-1"))
    words = ("attack", "out.csv", "--known", "known.csv", "--match", "city")
    done = run(*words)
    assert done.code == 2
    assert "known.csv is not written in UTF-8" in " ".join(done.said.split())
    done = run(*words, "--encoding", "latin-1", "--json")
    assert done.code == 0, done.said
    found = json.loads(done.out)["attack"]
    assert (found["found"], found["one_record"]) == (2, 1)
    (folder / "none.csv").write_text("name,city\n")
    assert run("attack", "out.csv", "--known", "none.csv", "--match", "city").code == 2


def test_rules_that_cannot_be_leave_nothing_behind(run, folder):
    (folder / "in.csv").write_text(TABLE)
    before = sorted(folder.iterdir())
    words = ("anonymize", "in.csv", "-k", "3", "-q", "age,city", "-s", "ill", "-o", "out.csv")
    for wrong, said in (
        (("--rule", "city: 2-diverse"), "'city', which is a quasi-identifier"),
        (("--rule", "nosuch: 2-diverse"), "which is not sensitive"),
        (("--rule", "ill: 2 diverse"), "cannot be read"),
        (("--rule", "ill: 9-diverse"), "hold 4 different values"),
        (("--rule", "ill: at most 5%"), "in 3 of 9 rows (33.33 %)"),
        (("--rule", "ill: ordered 0.2-close"), "neither numbers nor dates"),
        (
            ("--rule", "ill: 0.2-close by hierarchy"),
            "The option for hierarchies is --hierarchies or --hierarchy.",
        ),
        (("--unit", "nosuch"), "no column 'nosuch'"),
        (("--unit", "age"), "Give it one role"),
        (("-k", "10", "--unit", "name"), "9"),
    ):
        done = run(*words, *wrong)
        assert done.code == 2, wrong
        assert said in " ".join(done.said.split())
        assert not any(canary in done.said for canary in CANARIES)
        assert sorted(folder.iterdir()) == before


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
    assert "ill: 2-diverse: fails in 1 class; the worst class measures 1." in done.out
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


def test_two_estimates_of_a_sample_come_with_a_sentence(run):
    words = ("risk", "in.csv", "-q", "age,sex", "--unit", "rows")
    ran = run(*words, "--sampling", "0.1")
    assert "The two estimates answer two questions. Of the 8 records alone here, 8 are" in " ".join(
        ran.out.split()
    )
    assert "The two estimates" not in run(*words).out
