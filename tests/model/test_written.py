"""Certificates and receipts are read by the version of their format."""

from __future__ import annotations

import json
from dataclasses import fields

import polars as pl
import pytest

import shoal
from shoal.model import certificate as certificates
from shoal.model import receipt as receipts
from shoal.model.as_run import AsRun
from shoal.model.certificate import Certificate
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt

FRAME = pl.DataFrame({"age": [1, 1, 2, 2, 7, 8], "x": list("uvuvuv")})
PLAN = {
    "k": 2,
    "quasi": ["age"],
    "sensitive": ["x"],
    "rules": ["x: 2-diverse"],
    "weights": {"age": 2},
    "withhold": 0,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return shoal.anonymize(FRAME, **PLAN).write(tmp_path_factory.mktemp("out") / "out.csv")


def newer(text: str, version: str = "2.7") -> str:
    """What a newer Shoal may write: more of everything."""
    raw = json.loads(text)
    raw |= {"version": version, "coming": {"a": [1]}}
    for name in ("plan", "figures"):
        if name in raw:
            raw[name]["coming"] = 1
    for name in ("columns", "rules"):
        for one in raw.get(name, ()):
            one["coming"] = name
    return json.dumps(raw)


def claims(*args, **given):
    return {finding.claim: finding for finding in shoal.verify(*args, **given)}


def test_a_version_has_a_major_and_a_minor_part(files):
    for path, version in ((files.certificate, certificates.VERSION), (files.receipt, receipts.VERSION)):
        assert json.loads(path.read_text())["version"] == version == "2.3"


def test_what_is_written_is_read_and_written_again_to_the_byte(files):
    for kind, path in ((Certificate, files.certificate), (Receipt, files.receipt)):
        assert kind.of_json(path.read_text()).to_json() == path.read_text()


@pytest.mark.parametrize(("kind", "name"), [(Certificate, "certificate"), (Receipt, "receipt")])
def test_a_newer_minor_version_is_read_and_loses_nothing(files, kind, name):
    text = newer(getattr(files, name).read_text())
    read = kind.of_json(text)
    assert json.loads(read.to_json()) == json.loads(text)
    again = json.loads(read.to_json(replaces=read))
    assert again.pop("replaces") == again == json.loads(text)


@pytest.mark.parametrize(("kind", "name"), [(Certificate, "certificate"), (Receipt, "receipt")])
@pytest.mark.parametrize(
    ("version", "advice"), [("3.0", "a newer Shoal"), ("1.4", "the Shoal that wrote it")]
)
def test_another_major_version_is_refused_and_says_what_to_use(files, kind, name, version, advice):
    text = newer(getattr(files, name).read_text(), version)
    with pytest.raises(shoal.DataError, match=rf"^The {name} has the format {version}; .* Use {advice}\.$"):
        kind.of_json(text)


@pytest.mark.parametrize("version", [2, 2.0, "2", "", "2.0.0", "-2.0", "2.x", "².0", "2.٣", None, ["2.0"]])
def test_a_version_that_is_none_is_refused(files, version):
    for kind, path in ((Certificate, files.certificate), (Receipt, files.receipt)):
        raw = json.loads(path.read_text()) | {"version": version}
        with pytest.raises(shoal.DataError, match="its 'version' is missing or is not"):
            kind.of_json(json.dumps(raw))


def test_a_certificate_of_a_newer_shoal_is_verified_as_far_as_we_know(files):
    certificate = Certificate.of_json(newer(files.certificate.read_text()))
    # the newer Shoal sealed all that it wrote
    receipt = json.loads(newer(files.receipt.read_text())) | {"certificate": certificate.digest}
    receipt = Receipt.of_json(json.dumps(receipt))
    known = claims(files.table, files.certificate, original=FRAME, receipt=files.receipt)
    findings = claims(files.table, certificate, original=FRAME, receipt=receipt)
    assert findings["fields"].holds is None
    assert "Written by a newer Shoal, in format 2.7" in findings["fields"].detail
    assert "columns.coming, coming, plan.coming, rules.coming." in findings["fields"].detail
    assert known.pop("fields").holds
    assert {claim: findings[claim].holds for claim in known} == {
        claim: finding.holds for claim, finding in known.items()
    }


def test_a_field_of_a_newer_shoal_is_sealed_by_the_receipt(files):
    raw = json.loads(newer(files.certificate.read_text()))
    certificate = Certificate.of_json(json.dumps(raw))
    receipt = json.loads(files.receipt.read_text()) | {"certificate": certificate.digest}
    raw["rules"][0]["coming"] = "changed"
    findings = shoal.verify(
        files.table, Certificate.of_json(json.dumps(raw)), receipt=Receipt.of_json(json.dumps(receipt))
    )
    assert {finding.claim: finding.holds for finding in findings}["certificate"] is False


@pytest.mark.parametrize("inside", ["", "plan", "columns", "rules"])
def test_a_field_that_is_lacking_is_named(files, inside):
    whole = json.loads(files.certificate.read_text())
    part = whole[inside] if inside else whole
    for name in part[0] if isinstance(part, list) else part:
        raw = json.loads(files.certificate.read_text())
        part = raw[inside] if inside else raw
        del (part[0] if isinstance(part, list) else part)[name]
        field = f"{inside}.{name}" if inside else name
        if field in {
            "more",
            "rules",
            "release",
            "original",
            "rules.failing",
            "series",
            "plan.series",
            "plan.pseudonym",
            "told_apart_percent",
            "columns.told_apart",
        }:
            assert not getattr(Certificate.of_json(json.dumps(raw)), name, False)
            continue
        with pytest.raises(shoal.DataError, match=f"its '{field}' is missing"):
            Certificate.of_json(json.dumps(raw))


def test_a_plan_as_run_says_all_of_a_plan_but_where_it_runs():
    assert {item.name for item in fields(AsRun)} == {item.name for item in fields(Plan)} - {
        *("threads", "engine", "memory", "scratch", "part", "encoding", "delimiter", "decimal", "sheet")
    }


def test_a_plan_as_run_is_the_plan_again():
    plan = Plan(**PLAN, missing=["?"], kinds={"age": "number"})
    said = AsRun.of(plan, method="auto", kinds={"age": "number"}, mark=lambda text: "salted")
    assert said.missing == "salted"
    assert said.planned(hierarchies={}, graphs={}, missing=("?",)) == plan
