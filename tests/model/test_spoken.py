"""What `check`, `risk` and `attack` find shows itself in a shell and in a notebook, without a cell."""

from __future__ import annotations

from html.parser import HTMLParser

import polars as pl
import pytest

import shoal

CANARY = "zqcanary"
FRAME = pl.DataFrame(
    {
        "<age>": [20 + row for row in range(30)],
        "town": [f"{CANARY}{row % 10}" for row in range(30)],
        "ill": [f"{CANARY}-{row % 4}" for row in range(30)],
        "who": [f"p{row % 28}" for row in range(30)],
    }
)
QUASI = ["<age>", "town"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append(tag)


def release() -> shoal.Release:
    return shoal.anonymize(FRAME, k=3, quasi=QUASI, sensitive=["ill"], unit="rows", method="mondrian")


FOUND = {
    "risk": lambda: shoal.risk(FRAME, quasi=QUASI),
    "risk of a sample": lambda: shoal.risk(FRAME, quasi=QUASI, unit="who", sampling=0.1),
    "check": lambda: shoal.check_table(FRAME, k=3, quasi=QUASI, sensitive=["ill"]),
    "check of persons": lambda: shoal.check_table(
        FRAME, k=3, quasi=QUASI, sensitive=["ill"], unit="who", rules=["ill: 2-diverse"]
    ),
    "attack": lambda: shoal.attack(release(), FRAME, sensitive=["ill"]),
    "attack of several": lambda: shoal.attack_series(
        [release().table] * 2,
        [FRAME.unique("who")] * 2,
        match={name: name for name in QUASI},
        sensitive=["ill"],
        unit="who",
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_it_says_what_was_found_without_a_cell(what):
    found = FOUND[what]()
    shown, page = repr(found), found._repr_html_()
    assert found.in_words() in shown
    for note in found.notes:
        assert note in shown
    assert CANARY not in shown + page
    parser = Tags()
    parser.feed(page)
    assert set(parser.seen) <= {"div", "b", "br", "ul", "li", "table", "tr", "td"}  # names are escaped
    assert parser.seen.count("tr") == len(found.figures()) > 0
    assert parser.seen.count("li") == len(found.notes)


def test_notes_say_what_the_screen_says():
    risk = FOUND["risk of a sample"]()
    assert risk.on_sampling() in risk.notes
    assert any("singles out most by itself: '<age>'" in note for note in risk.notes)
    verdict = FOUND["check of persons"]()
    assert not verdict.has_passed
    assert "NOT ANONYMOUS" in repr(verdict)
    assert any("ill: 2-diverse: fails" in note for note in verdict.notes)
    # records that may be few persons
    doubted = shoal.check_table(FRAME.with_columns(patient_id="who"), quasi=["ill"])
    assert doubted.doubt
    assert doubted.doubt in doubted.notes


def test_a_register_with_several_rows_of_a_person_is_counted_by_rows():
    twice = pl.concat([FRAME, FRAME])
    found = shoal.attack(release(), twice.rename({"who": "patient_id"}), sensitive=["ill"])
    assert found.by_row
    assert "rows" in found.in_words()
    assert "persons" not in found.in_words()
    assert found.figures()[0][0] == "rows in the register"


def test_words_on_sampling_go_by_the_larger_and_need_somebody_alone():
    from dataclasses import replace

    risk = shoal.risk(FRAME, quasi=["<age>"], sampling=0.1, unit="rows")
    less = replace(risk, uniques=3, population_uniques=risk.records, marketer=0.0)
    assert "fewer, since" in less.on_sampling()
    assert "by chance" not in less.on_sampling()
    assert "by chance" in replace(less, population_uniques=0.0, marketer=0.5).on_sampling()
    assert not [note for note in replace(less, uniques=0).notes if "two estimates" in note]
