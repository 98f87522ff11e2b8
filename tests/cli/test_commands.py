"""Whole runs through the command line."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
import yaml

import shoal

BASE = ("anonymize", "in.csv", "-k", "2", "-q", "age,zip,sex", "-s", "ill", "-o", "out.csv")


def rows(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def smallest_class(path, columns):
    head, *body = rows(path)
    places = [head.index(name) for name in columns]
    return min(Counter(tuple(row[place] for place in places) for row in body).values())


def test_one_line_makes_a_release_that_verifies(run, folder):
    ran = run(*BASE, "--identifier", "name")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in folder.iterdir()) == [
        "in.csv",
        "out.certificate.json",
        "out.csv",
        "out.receipt.json",
    ]
    assert smallest_class("out.csv", ["age", "zip", "sex"]) >= 2
    assert rows("out.csv")[0] == ["age", "zip", "sex", "ill"]
    assert "8 of 8 rows" in ran.out
    assert "No release of this table can lose less than" in ran.out
    assert "times what is unavoidable" in ran.out
    assert "born, note, visits" in ran.out  # what was left out
    assert "zip label" in ran.out  # what was guessed
    assert "name repeats: 1 of its values stand in 2 rows" in ran.out
    assert "out.receipt.json" in ran.out
    verified = run("verify", "out.csv", "out.certificate.json")
    assert verified.code == 0, verified.said
    again = run(
        "verify", "out.csv", "out.certificate.json", "--original", "in.csv", "--receipt", "out.receipt.json"
    )
    assert again.code == 0, again.said


def test_cells_like_formulas_are_counted_and_not_shown(run, folder):
    table = (folder / "in.csv").read_text().replace("gout", "=SECRET()")
    (folder / "in.csv").write_text(table)
    ran = run(*BASE)
    assert "Cells that begin like formulas (=, +, -, @), by column: ill 3." in ran.out
    assert "SECRET" not in ran.said
    assert json.loads(run(*BASE, "--json").out)["files"]["formulas"] == {"ill": 3}
    assert "formulas" not in run(*BASE[:-1], "out.parquet").said


def test_what_was_withheld_is_said_after_what_was_published(run, folder):
    ages = [20, 20, 20, 20, 21, 21, 21, 90]
    (folder / "few.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
    ran = run("anonymize", "few.csv", "-k", "3", "-q", "age", "--withhold", "0.2", "-o", "out.csv")
    assert "7 of 8 rows published in 2 classes; the smallest holds 3 (k = 3). Withheld: 1." in " ".join(
        ran.out.split()
    )


def test_a_single_class_is_spoken_of_as_one(run):
    made = run("anonymize", "in.csv", "-k", "8", "-q", "sex", "-o", "out.csv")
    assert "published in 1 class; the smallest holds 8" in made.out
    assert "8 records in 1 class of 8 to 8" in run("check", "out.csv", "-q", "sex").out


def test_what_is_not_said_is_asked_for_in_the_words_of_the_command_line(run):
    for given, lacks in (("-k 5", "quasi"), ("-q age", "k")):
        ran = run("anonymize", "in.csv", *given.split(), "-o", "out.csv")
        assert (ran.code, f"Nothing says {lacks}. Give k and quasi, or a plan." in ran.err) == (2, True)
        assert f"The option for {lacks} is -{lacks[0]}" in ran.err


def test_verifying_without_the_receipt_says_how_to_give_it(run):
    run(*BASE)
    ran = run("verify", "out.csv", "out.certificate.json", "--original", "in.csv")
    assert ran.code == 0
    assert "could not be checked: give --receipt." in ran.out
    assert "Verified" not in ran.out
    strict = ["verify", "out.csv", "out.certificate.json", "--original", "in.csv", "--strict"]
    assert run(*strict).code == 3
    ran = run(*strict, "--receipt", "out.receipt.json")
    assert (ran.code, "Verified: all" in ran.out) == (0, True)


def test_json_is_json_and_nothing_else(run):
    ran = run(*BASE, "--json")
    facts = json.loads(ran.out)
    assert not ran.err
    assert facts["certificate"]["k"] == 2
    assert facts["left_out"] == ["name", "born", "note", "visits"]
    assert json.loads(run("methods", "--json").out)["k-member"]["objective"] == "loss"
    checked = json.loads(run("check", "out.csv", "-q", "age,zip,sex", "-s", "ill", "--json").out)
    assert checked["verdict"]["smallest_class"] == facts["certificate"]["smallest_class"]
    verify = ["verify", "out.csv", "out.certificate.json", "--json"]
    verified = json.loads(run(*verify).out)
    assert (verified["verified"], verified["fails"]) == (False, False)
    verified = json.loads(run(*verify, "--original", "in.csv", "--receipt", "out.receipt.json").out)
    assert (verified["verified"], verified["fails"]) == (True, False)


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.tsv"])
def test_other_formats_verify_too(run, name):
    assert run(*BASE[:-1], name).code == 0
    ran = run("verify", name, "out.certificate.json")
    assert ran.code == 0, ran.said


def test_a_changed_release_is_not_verified(run, folder):
    run(*BASE)
    text = (folder / "out.csv").read_text()
    (folder / "out.csv").write_text(text + text.splitlines()[-1] + "\n")
    ran = run("verify", "out.csv", "out.certificate.json")
    assert ran.code == 3
    assert "NOT VERIFIED" in ran.out


def test_check_fails_below_k(run):
    ran = run("check", "in.csv", "-q", "age,zip", "-k", "2")
    assert ran.code == 3
    assert "NOT ANONYMOUS" in ran.out
    assert run("check", "in.csv", "-q", "sex", "-k", "4").code == 0


def test_a_guessed_plan_runs_and_options_override_it(run, folder):
    ran = run("plan", "in.csv")
    assert ran.code == 0
    (folder / "plan.yaml").write_text(ran.out)
    assert yaml.safe_load(ran.out)["k"] == 5
    ran = run("anonymize", "in.csv", "--plan", "plan.yaml", "-k", "2", "-o", "out.csv", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["certificate"]["k"] == 2


def test_a_typed_role_takes_a_column_from_the_plan(run, folder):
    (folder / "plan.yaml").write_text(
        "k: 4\nquasi: [age, zip]\nsensitive: [ill]\nkeep: [sex]\nkinds: {age: number, zip: label}\n"
        "weights: {age: 2}\n"
    )
    ran = run("anonymize", "in.csv", "--plan", "plan.yaml", "-q", "zip,sex", "-o", "out.csv", "--json")
    assert ran.code == 0, ran.err
    plan = json.loads(ran.out)["certificate"]["plan"]
    assert plan["quasi"] == ["zip", "sex"]
    assert plan["keep"] == []
    assert plan["weights"] == {}
    assert plan["k"] == 4


def test_hierarchies_by_folder_file_and_builder(run, folder):
    (folder / "trees").mkdir()
    (folder / "trees" / "sex.csv").write_text("f;*\nm;*\n")
    (folder / "trees" / "age.csv").write_text("1;*\n")  # not wanted: age is declared a number
    (folder / "ill.csv").write_text("flu;cold or flu;*\ncold;cold or flu;*\ngout;other;*\n")
    ran = run(
        *("anonymize", "in.csv", "-k", "2", "-q", "age", "-q", "zip,sex,ill", "-o", "out.csv", "--json"),
        *("--kind", "age=number", "--hierarchies", "trees", "--hierarchies", "ill=ill.csv"),
        *("--hierarchy", "zip=prefixes(5,3,0)", "--weight", "age=2"),
    )
    assert ran.code == 0, ran.err
    plan = json.loads(ran.out)["certificate"]["plan"]
    assert plan["kinds"] == {"age": "number", "zip": "tree", "sex": "tree", "ill": "tree"}
    assert plan["weights"] == {"age": 2.0}
    ran = run(
        *("verify", "out.csv", "out.certificate.json", "--original", "in.csv", "--hierarchies", "trees"),
        *("--hierarchies", "ill=ill.csv", "--receipt", "out.receipt.json"),
    )
    assert ran.code == 0, ran.said


def test_a_name_with_a_comma_or_an_equals_sign(run, folder):
    (folder / "odd.csv").write_text('"last, first",a=b,x\n1,2,u\n1,3,v\n2,2,w\n2,3,x\n')
    ran = run(
        *("anonymize", "odd.csv", "-k", "2", "-q", "last, first", "-q", "a=b", "--weight", "a=b=3"),
        *("--keep", "x", "-o", "out.csv", "--json"),
    )
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["certificate"]["plan"]["weights"] == {"a=b": 3.0}
    assert json.loads(ran.out)["certificate"]["plan"]["quasi"] == ["last, first", "a=b"]


def test_the_release_keeps_the_delimiter_of_the_table(run, folder):
    text = (folder / "in.csv").read_text().replace(",", ";")
    (folder / "in.csv").write_text(text)
    assert run(*BASE).code == 0
    assert rows("out.csv", ";")[0] == ["age", "zip", "sex", "ill"]
    assert run("verify", "out.csv", "out.certificate.json").code == 0


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_compare_prints_a_table_and_saves_a_plot(run, folder, suffix):
    ran = run(
        *("compare", "in.csv", "-q", "age,zip", "--methods", "k-member,mondrian", "-k", "2,4"),
        *("-o", f"plot.{suffix}"),
    )
    assert ran.code == 0, ran.err
    assert ran.out.count("%") == 8  # the loss of each, and what it still tells apart
    content = (folder / f"plot.{suffix}").read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", f"plot.{suffix}"]


def test_every_method_is_listed(run):
    ran = run("methods")
    assert ran.code == 0
    assert all(name in ran.out for name in shoal.methods())


def test_counted_rows(run):
    ran = run(*BASE, "--count", "persons(visits)", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["certificate"]["records"] == 15


def test_help_is_light_and_every_command_has_an_example(run):
    code = (
        "import sys\nfrom shoal.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numba', 'polars', 'scipy', 'numpy', 'narwhals', 'pandas', 'pyarrow', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    for command in ("anonymize", "plan", "check", "verify", "compare", "methods"):
        assert command in done.stdout
        assert f"Example: shoal {command}" in run(command, "--help").out


def test_what_makes_a_release_does_not_wait_for_linear_programs():
    code = (
        "import sys, shoal.run.anonymize\nfrom shoal import group\ngroup.load('crowd')\n"
        "print(sorted({'scipy.optimize', 'scipy.sparse', 'scipy.integrate'} & set(sys.modules)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_same_seed_gives_the_same_bytes_for_shuffled_rows_and_any_threads(run, folder):
    head, *body = (folder / "in.csv").read_text().splitlines()
    body = [*body, *body, *body[:5]]  # copies are dealt over groups by the seed
    for method in ("mondrian", "k-member"):
        releases = []
        for order, threads in ((body, 1), (body, 2), (body[::-1], 2), (body[3:] + body[:3], 0)):
            (folder / "in.csv").write_text("\n".join([head, *order]) + "\n")
            ran = run(*BASE, "--keep", "note", "--method", method, "--threads", threads, "--seed", 7)
            assert ran.code == 0, ran.err
            releases.append((folder / "out.csv").read_bytes())
        assert len(set(releases)) == 1


def test_a_value_that_a_class_gives_away_is_said(run, folder):
    rows = "".join(f"{20 + 10 * (i // 3)},{'zqflu' if i < 3 else f'zq{i}'},same\n" for i in range(6))
    (folder / "told.csv").write_text(f"age,ill,state\n{rows}")
    words = ("anonymize", "told.csv", "-k", "3", "-q", "age", "-s", "ill,state", "--method", "k-member")
    ran = run(*words, "-o", "told-out.csv")
    assert "In some class everybody has one value of ill" in ran.out
    assert 'The rule "ill: 2-diverse" prevents' in ran.out
    assert "one value of state" not in ran.out  # the whole table has one: no rule could help
    assert "zq" not in ran.said
    ruled = run(*words, "-o", "told-ruled.csv", "--rule", "ill: 2-diverse")
    assert ruled.code == 0, ruled.err
    assert "In some class" not in ruled.out
