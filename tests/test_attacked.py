"""What an attacker with fresh eyes found, each mended."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

import shoal
from shoal.cli.screen.page import escape

FRAME = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42], "ill": list("xyzxyz")})


@pytest.fixture
def files(tmp_path):
    return shoal.anonymize(FRAME, k=3, quasi=["age"], sensitive=["ill"]).write(tmp_path / "out.csv")


def test_a_middle_needs_k_persons_and_not_k_rows():
    frame = pl.DataFrame(
        {
            "who": ["a"] * 3 + ["b", "c", "d"],
            "income": [777.25] * 3 + [None] * 3,
            "age": [30, 30, 30, 31, 31, 32],
        }
    )
    release = shoal.anonymize(
        frame, k=3, quasi=["income", "age"], unit="who", method="gather", style="centres"
    )
    assert release.verdict.has_passed
    assert "777" not in str(release.table.rows())


def test_another_certificate_in_the_file_is_told(files):
    true = json.loads(files.certificate.read_text())
    forged = {**true, "k": 50, "release": "0" * 64, "replaces": true}
    files.certificate.write_text(json.dumps(forged))
    found = {one.claim: one for one in shoal.verify(files.table, files.certificate)}
    assert found["first certificate"].holds is None


def test_a_name_that_stands_twice_is_refused(files):
    text = files.certificate.read_text()
    files.certificate.write_text(text.replace("{", '{"k": 50,', 1))
    with pytest.raises(shoal.DataError):
        shoal.verify(files.table, files.certificate)


def test_a_terminal_obeys_no_text():
    assert "\x1b" not in escape("a\x1b[2Jb\x07")
    assert escape("[bold]zip é") == "\\[bold]zip é"


def test_an_objective_is_no_option_of_a_method_that_has_none(files):
    about = shoal.Certificate.of_json(files.certificate.read_text())
    plan = replace(about.plan, options={"objective": "radius"})
    forged = replace(about, plan=plan, objective="radius", value=0.001, bound=0.001, ratio=1.0)
    found = {one.claim: one.holds for one in shoal.verify(files.table, forged)}
    assert found["objective"] is False


def test_centres_claim_no_loss_and_say_whose_they_are():
    release = shoal.anonymize(FRAME, k=3, quasi=["age"], method="gather", style="centres")
    about = release.certificate
    for forged in (
        replace(about, loss=0.0, loss_percent=0.0),
        replace(about, more={**about.more, "centre": "row"}),
    ):
        assert any(one.holds is False for one in shoal.verify(release.table, forged))
    assert not any(one.holds is False for one in shoal.verify(release.table, about))


def test_the_best_possible_is_verified_with_its_receipt(tmp_path):
    release = shoal.anonymize(pl.DataFrame({"age": [3, 39, 40, 41, 57]}), k=2, quasi=["age"])
    files = release.write(tmp_path / "out.csv")
    frame = pl.DataFrame({"age": [3, 39, 40, 41, 57]})
    found = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert {one.claim: one.holds for one in found}["ratio"] is True


@pytest.mark.parametrize("words", [{"seed": 2**64}, {"stop_at": float("inf")}])
def test_what_no_certificate_could_say_is_refused(words):
    with pytest.raises(shoal.PlanError):
        shoal.Plan(k=2, quasi=("age",), **words)


def test_a_middle_of_huge_numbers_is_finite():
    frame = pl.DataFrame({"x": [1.6e308, 1.7e308, 1.65e308, 1.0e308, 1.1e308, 1.2e308]})
    release = shoal.anonymize(frame, k=3, quasi=["x"], cells="middle")
    assert release.table["x"].is_finite().all()
