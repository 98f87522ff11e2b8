"""Releases over time: a ledger, the chain of certificates, and who may follow whom."""

from __future__ import annotations

import json
from dataclasses import fields

import polars as pl
import pytest

import shoal
from shoal.model.as_run import AsRun
from shoal.model.verdict import ColumnLoss
from silent import said_by

ROWS = 60
FRAME = pl.DataFrame(
    {
        "who": [f"canary-person-{i}" for i in range(ROWS)],
        "age": [20 + i * 7 % 31 for i in range(ROWS)],
        "ill": [["canary-flu", "canary-cold", "canary-pox"][i % 3] for i in range(ROWS)],
    }
)
PLAN = shoal.Plan(
    k=3, quasi=["age"], kinds={"age": "number"}, sensitive=["ill"], rules=["ill: 2-diverse"], unit="who"
)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """Three batches on disk, oldest first."""
    folder = tmp_path_factory.mktemp("ledger")
    files, after = [], None
    for number in range(3):
        batch = FRAME[20 * number : 20 * number + 20]
        words = {"series": "ledger"} if after is None else {"after": after}
        files.append(shoal.anonymize(batch, PLAN, **words).write(folder / f"q{number + 1}.csv"))
        after = files[-1].certificate
    return files


def findings(files, **words):
    return {
        one.claim: one.holds for one in shoal.verify(files.table, files.certificate, **words) if one.claim
    }


def chain(files, **words):
    return {
        claim: holds
        for claim, holds in findings(files, **words).items()
        if claim in {"series", "former releases"} or (claim.startswith("release ") and claim[8:].isdigit())
    }


def test_a_ledger_is_numbered_and_every_batch_is_a_release(ledger):
    for number, files in enumerate(ledger, 1):
        certificate = shoal.Certificate.of_json(files.certificate.read_text())
        assert certificate.series is not None
        assert (certificate.series.mode, certificate.series.number) == ("ledger", number)
        assert False not in findings(files).values()
        assert pl.read_csv(files.table).height == 20


def test_the_chain_is_recomputed_from_the_files(ledger):
    first, second, third = ledger
    assert chain(first) == {"series": True}
    assert chain(third) == {"series": None}
    assert chain(third, before=[second.table]) == {"release 2": True, "series": None}
    whole = {"release 2": True, "release 1": True, "series": True}
    assert chain(third, before=[first.table, second.table]) == whole
    assert chain(third, before=[second.table, first.table]) == whole


def test_a_release_that_this_one_does_not_follow_is_named(ledger):
    first, _, third = ledger
    assert chain(third, before=[first.table])["series"] in {False, None}
    said = shoal.verify(third.table, third.certificate, before=[first.table])
    assert any(one.holds is False and "none that this one follows" in one.detail for one in said)
    alone = shoal.anonymize(FRAME, PLAN)
    said = shoal.verify(alone.table, alone.certificate, before=[first.table])
    assert any(one.claim == "series" and one.holds is False for one in said)


@pytest.mark.parametrize("what", ["number", "mode", "k", "loss", "table"])
def test_a_former_release_that_was_changed_breaks_the_chain(ledger, tmp_path, what):
    first, second, _ = ledger
    table, paper = tmp_path / "q1.csv", tmp_path / "q1.certificate.json"
    raw = json.loads(first.certificate.read_text())
    text = first.table.read_text()
    if what == "table":
        text += text.splitlines()[-1] + "\n"
    elif what == "loss":
        raw["loss"] = 0.0
    elif what == "k":
        raw["plan"]["k"] = 2
    else:
        raw["series"][what] = {"number": 3, "mode": "register"}[what]
    table.write_text(text)
    paper.write_text(json.dumps(raw))
    assert False in chain(second, before=[table]).values()


def test_a_forged_link_must_fit_in_number_and_plan(ledger, tmp_path):
    first, _, _ = ledger
    former = shoal.Certificate.of_json(first.certificate.read_text())
    (tmp_path / "q1.csv").write_bytes(first.table.read_bytes())
    for change in ({"number": 4}, {"mode": "other"}):
        raw = json.loads(first.certificate.read_text())
        raw["series"] |= {"number": 2, "before": former.digest} | change
        (tmp_path / "q1.certificate.json").write_text(first.certificate.read_text())
        forged = shoal.Certificate.of_json(json.dumps(raw))
        said = shoal.verify(first.table, forged, before=[tmp_path / "q1.csv"])
        assert any(one.holds is False and "otherwise" in one.detail for one in said)
    raw = json.loads(first.certificate.read_text())
    raw["series"] |= {"number": 2, "before": former.digest}
    raw["plan"]["k"] = 2
    said = shoal.verify(
        first.table, shoal.Certificate.of_json(json.dumps(raw)), before=[tmp_path / "q1.csv"]
    )
    assert any(one.holds is False and "differ in: k" in one.detail for one in said)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"k": 4}, "k"),
        ({"rules": []}, "rules"),
        ({"unit": "rows"}, "unit"),
        ({"cells": "bounds"}, "cells"),
        ({"sensitive": [], "rules": []}, "sensitive"),
    ],
)
def test_another_plan_does_not_follow(ledger, tmp_path, words, named):
    with pytest.raises(shoal.PlanError) as error:
        shoal.anonymize(FRAME, PLAN, after=ledger[0].certificate, **words).write(tmp_path / "no.csv")
    assert named in said_by(error.value, "canary")
    assert error.value.field is not None
    assert not list(tmp_path.iterdir())


def test_what_stands_by_itself_is_not_followed(tmp_path):
    alone = shoal.anonymize(FRAME, PLAN)
    with pytest.raises(shoal.PlanError, match="stands by itself"):
        shoal.anonymize(FRAME, PLAN, after=alone.certificate)
    with pytest.raises(shoal.PlanError, match="give its file"):
        shoal.anonymize(FRAME, PLAN, after=7)
    with pytest.raises(shoal.DataError, match="cannot be read"):
        shoal.anonymize(FRAME, PLAN, after=tmp_path / "none.json")
    with pytest.raises(shoal.PlanError, match="There is no series 'weekly'"):
        shoal.anonymize(FRAME, PLAN, series="weekly")


def test_a_certificate_of_the_older_format_says_what_it_said(ledger):
    raw = json.loads(ledger[0].certificate.read_text())
    columns = [(ColumnLoss, its) for its in raw["columns"]]
    for kind, its in ((shoal.Certificate, raw), (AsRun, raw["plan"]), *columns):
        for item in fields(kind):
            if "since" in item.metadata:
                its.pop(item.name)
    raw["version"] = "2.0"
    text = json.dumps(raw, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert shoal.Certificate.of_json(text).to_json() == text
