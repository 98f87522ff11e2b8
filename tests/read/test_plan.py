from __future__ import annotations

from dataclasses import fields

import polars as pl
import pytest
import yaml

from shoal.errors import DataError, PlanError
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Plan
from shoal.read.first_plan import guess_plan
from shoal.read.plan import READERS, plan_words

CANARY = "Zyxwvut73"


@pytest.fixture
def write(tmp_path):
    def put(text: str, name: str = "plan.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return put


def test_a_whole_plan_is_read(write):
    write("China;Asia\n", "trees/land.csv")
    words = plan_words(
        write(
            """
            k: 5
            quasi: [age, land, zip, sex]
            sensitive: disease
            keep: []
            identifier: [name]
            kinds: {age: number}
            hierarchies:
              land: trees/land.csv
              zip: prefixes(5, 3, 0)
              sex: {known: [m, f], other: [d]}
            weights: {age: 2, zip: 0.5}
            missing: ["?", -9, NA]
            count:
            loss: leaves
            method: mondrian
            options: {most: 20, fast: true, name: x, list: [1, 2.5]}
            style: generalize
            withhold: 0.05
            effort: 60s
            improve: yes
            stop_at: 1.1
            seed: 7
            """
        )
    )
    trees = words.pop("hierarchies")
    assert words == {
        "k": 5,
        "quasi": ("age", "land", "zip", "sex"),
        "sensitive": ("disease",),
        "keep": (),
        "identifier": ("name",),
        "kinds": {"age": "number"},
        "weights": {"age": 2.0, "zip": 0.5},
        "missing": ("?", "-9", "NA"),
        "loss": "leaves",
        "method": "mondrian",
        "options": {"most": 20, "fast": True, "name": "x", "list": [1, 2.5]},
        "style": "generalize",
        "withhold": 0.05,
        "effort": "60s",
        "improve": True,
        "stop_at": 1.1,
        "seed": 7,
    }
    assert isinstance(trees["land"], Hierarchy)
    assert isinstance(trees["zip"], Builder)
    assert trees["sex"].leaves == ("m", "f", "d")
    assert Plan(**words, hierarchies=trees).k == 5


def test_hierarchies_may_be_a_folder_of_the_plans_own(write):
    write("China;Asia\n", "trees/land.csv")
    write("a;A\na;B\n", "trees/unused.csv")
    words = plan_words(write("k: 2\nquasi: [land, age]\nhierarchies: trees\n"))
    assert set(words["hierarchies"]) == {"land"}


def test_names_stay_as_they_are_written(write):
    words = plan_words(write("quasi: [no, 007, 1990, ~, 'a: b', yes]\nkinds: {no: label, 007: label}\n"))
    assert words["quasi"] == ("no", "007", "1990", "", "a: b", "yes")
    assert words["kinds"] == {"no": "label", "007": "label"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("just text", "not a plan"),
        ("- a\n- b\n", "not a plan"),
        ("k: 5\nquasy: [a]\n", "'quasy'.*quasi"),
        ("k: 5\nk: 6\n", "stands twice"),
        ("k: [5]\n", "'k', in line 1, must be a whole number"),
        ("k: 5.5\n", "whole number"),
        ("k: many\n", "whole number"),
        ("seed: x\n", "whole number"),
        ("withhold: much\n", "a number"),
        ("improve: perhaps\n", "true or false"),
        ("quasi: {a: b}\n", "a list of names"),
        ("quasi: [[a]]\n", "a list of names"),
        ("kinds: [a]\n", "a mapping"),
        ("kinds: {a: [number]}\n", "one word"),
        ("weights: {a: heavy}\n", "a number"),
        ("options: 5\n", "a mapping"),
        ("method: [a]\n", "one word"),
        ("hierarchies: [a]\n", "a mapping"),
        ("hierarchies: absent\n", "no folder"),
        ("hierarchies: {a: absent.csv}\n", "no file"),
        ("hierarchies: {a: }\n", "is empty"),
        ("hierarchies: {a: suffixes(3)}\n", "prefixes"),
        ("hierarchies: {a: {A: [x], B: [x]}}\n", "two paths"),
        ("k: 5\n  quasi: [\n", "not YAML"),
        ("options: {a: !!python/name:os.system }\n", "cannot be read"),
    ],
)
def test_what_no_plan_has_is_refused(write, text, words):
    with pytest.raises(PlanError, match=words):
        plan_words(write(text))


def test_a_table_given_as_a_plan_is_refused_without_its_cells(write, tmp_path):
    for text in (f"name,age\n{CANARY},3\n", f'a: "{CANARY}\n', f"a: b: {CANARY}\n", f"\t{CANARY}: [\n"):
        with pytest.raises(PlanError) as caught:
            plan_words(write(text))
        assert CANARY not in str(caught.value)
        assert caught.value.__cause__ is None
    with pytest.raises(PlanError, match="no plan file"):
        plan_words(tmp_path / "absent.yaml")
    (tmp_path / "latin.yaml").write_bytes("quasi: [größe]".encode("latin-1"))
    with pytest.raises(PlanError, match="UTF-8"):
        plan_words(tmp_path / "latin.yaml")


ROWS = 40
PEOPLE = pl.DataFrame(
    {
        "Name": [f"{CANARY} {at}" for at in range(ROWS)],
        "patientId": [f"{CANARY}-{at // 2}" for at in range(ROWS)],
        "token": [f"{CANARY}{at:x}" for at in range(ROWS)],
        "serial": [str(7300 + 13 * at) for at in range(ROWS)],
        "Geburtsdatum": [f"{1 + at % 28:02}.03.19{at % 90 + 10}" for at in range(ROWS)],
        "age": [str(20 + at % 30) if at % 9 else "?" for at in range(ROWS)],
        "zip code": [f"0{at % 7}23{at % 5}" for at in range(ROWS)],
        "Sexe": ["m", "f"] * (ROWS // 2),
        "Diagnose (ICD)": [f"{CANARY}{at % 4}" for at in range(ROWS)],
        "annual_income": [f"{at * 1.5 + 73}" for at in range(ROWS)],
        "stage": [f"{CANARY}{at % 3}" for at in range(ROWS)],
        "placebo: yes/no #1": [None if at % 2 else " " for at in range(ROWS)],
        'odd "word"\n\t\\ ü': [f"{CANARY}{at % 3}" for at in range(ROWS)],
        "- no": ["x"] * ROWS,
        "first seen": pl.Series(["2020-01-02"] * ROWS).str.to_date(),
        "events": [[1, 2]] * ROWS,
    }
)


def test_roles_and_kinds_are_guessed(write):
    words = plan_words(write(guess_plan(PEOPLE, path="people.csv")))
    assert words["identifier"] == ("Name", "patientId", "token", "serial")
    assert words["quasi"] == ("Geburtsdatum", "age", "zip code", "Sexe", "first seen")
    assert words["sensitive"] == ("Diagnose (ICD)", "annual_income")
    assert words["keep"] == ()
    assert words["kinds"] == {
        "Geburtsdatum": "date(%d.%m.%Y)",
        "age": "number",
        "zip code": "tree",
        "Sexe": "label",
        "first seen": "date",
    }
    assert Plan(**words).k == 5


def test_every_column_is_named_with_counts_and_no_value_is_shown():
    text = guess_plan(PEOPLE, path=f"/home/me/{'people'}.csv")
    assert CANARY not in text
    for cell in ("7313", "01.03", "1.5", "0023"):
        assert cell not in text
    assert "CHECK" in text
    assert "/home" not in text
    for name in ("stage", "events", "- no"):
        assert any(
            line.startswith("#  - ") and name in line and "no role" in line for line in text.splitlines()
        )
    assert "placebo: yes/no #1" in text
    assert "0 distinct, 40 empty" in text
    assert "age  # 5 cells" in text


def test_columns_with_odd_names_read_back(write):
    names = [
        *PEOPLE.columns,
        "~",
        "null",
        "yes",
        "1.5",
        "é",
        "",
        "a: b",
        "[x]",
        "*a",
        "&a",
        "!t",
        "\u2028",
        "\x7f",
    ]
    frame = pl.DataFrame({name: ["2020-01-01", "2020-01-02"] for name in names})
    words = plan_words(write(guess_plan(frame)))
    assert sorted(sum((words[role] for role in ("identifier", "quasi", "sensitive")), ())) == sorted(names)
    assert yaml.safe_load(guess_plan(frame))["k"] == 5


def test_names_of_other_languages_are_understood(write):
    frame = pl.DataFrame({name: ["a", "b"] for name in ("Patienten-Nr", "Größe (cm)", "Gewicht", "Poids")})
    words = plan_words(write(guess_plan(frame)))
    assert words["identifier"] == ("Patienten-Nr",)
    assert words["quasi"] == ("Größe (cm)", "Gewicht", "Poids")


def test_a_guess_is_made_for_any_frame_and_refused_for_none(write):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, None], "x": ["a", "b"]})
    words = plan_words(write(guess_plan(frame)))
    assert (words["quasi"], words["kinds"]) == (("age",), {"age": "number"})
    with pytest.raises(DataError, match="not a frame"):
        guess_plan("a,b")


def test_a_table_without_anything_to_guess_reads_back_and_is_refused_by_the_plan(write):
    words = plan_words(write(guess_plan(pl.DataFrame({"x": ["a", "a"]}))))
    assert words["quasi"] == ()
    with pytest.raises(PlanError, match="no quasi-identifier"):
        Plan(**words)


@pytest.mark.parametrize(
    ("days", "kind"),
    [
        (["31/01/2020", "01/02/2020"], "date(%d/%m/%Y)"),
        (["01/31/2020", "01/02/2020"], "date(%m/%d/%Y)"),
        (["01/02/2020", "03/04/2020"], "label"),
        (["2020/01/31"], "date(%Y/%m/%d)"),
        (["2020-01-31"], "date"),
        (["31.02.2020"], "label"),
    ],
)
def test_formats_of_days_are_guessed_only_where_one_fits(write, days, kind):
    assert plan_words(write(guess_plan(pl.DataFrame({"birth": days}))))["kinds"] == {"birth": kind}


def test_every_field_of_a_plan_is_read_by_its_type():
    for item in fields(Plan):
        is_text = item.type in {"str", "str | None"}
        assert is_text == (item.name not in READERS), f"{item.name} needs a reader of its own"
