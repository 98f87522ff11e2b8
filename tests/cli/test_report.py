"""`shoal report` on the command line: a page, exit codes, and no cell anywhere."""

from __future__ import annotations

import json
import re

import pytest

ROLES = ("-k", "2", "-q", "age,zip,sex", "-s", "ill", "--identifier", "name", "--unit", "rows")
WITH = ("--original", "in.csv", "--receipt", "out.receipt.json")
CELLS = ("Ada", "Gus", "02139", "90210", "gout", "cold", "1990-01-05")


def found_in(text: str) -> list[str]:
    return [cell for cell in CELLS if cell in re.sub("[0-9a-f]{64}", "", text)]


@pytest.fixture
def made(run, folder):
    assert run("anonymize", "in.csv", *ROLES, "-o", "out.csv", "--method", "mondrian").code == 0
    return lambda *more: run("report", "out.csv", "out.certificate.json", "-o", "r.html", *more)


@pytest.mark.parametrize("more", [(), WITH, (*WITH, "--json")], ids=["alone", "with", "json"])
def test_a_report_is_written_and_no_cell_is_in_it(made, folder, more):
    ran = made(*more)
    assert ran.code == 0, ran.err
    assert not found_in(ran.said + (folder / "r.html").read_text("utf-8"))
    if "--json" in more:
        facts = json.loads(ran.out)
        assert facts["holds"] is True
        assert facts["report"]["before"]["total"] > 0
        assert [one["name"] for one in facts["report"]["questions"]] == [
            "Singling out",
            "Linkability",
            "Inference",
        ]
    else:
        assert "holds: every record looks like at least" in ran.out
        assert "r.html" in ran.out


def test_a_release_that_was_changed_is_reported_with_exit_3(made, folder):
    text = (folder / "out.csv").read_text()
    (folder / "out.csv").write_text("".join(text.splitlines(keepends=True)[:-1]))
    ran = made()
    assert ran.code == 3
    assert "DOES NOT HOLD" in ran.out
    page = (folder / "r.html").read_text("utf-8")
    assert "DOES NOT HOLD" in page
    assert not found_in(ran.said + page)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--context", "none.yaml"), "There is no context file"),
        (("--context", "in.csv"), "context"),
        (("--original", "none.csv"), "none.csv"),
        (("--receipt", "out.certificate.json"), "receipt"),
        (("-o", "r.docx"), "no ending Shoal can write"),
        (("-o", "out.csv"), "no ending Shoal can write"),
        (("-o", "no/r.html"), "cannot be written"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_what_is_wrong_is_said_and_nothing_is_written(made, folder, more, told):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ran = made(*more)
    assert ran.code == 2, ran.said
    assert told in ran.err
    assert not found_in(ran.said)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
