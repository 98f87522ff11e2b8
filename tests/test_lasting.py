"""Releases that were written once keep verifying: tests/data has one folder for each format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.model import certificate, receipt

DATA = Path(__file__).parent / "data"
RELEASES = sorted(path.parent for path in DATA.rglob("findings.json"))


def found(folder: Path, way: str) -> dict[str, bool | None]:
    said = json.loads((folder / "out.certificate.json").read_text("utf-8"))["plan"]
    given = {
        "original": {"original": folder.parent / "original.csv"},
        "receipt": {"receipt": folder / "out.receipt.json"},
    }
    given |= {"release": {}, "both": given["original"] | given["receipt"]}
    findings = shoal.verify(
        folder / "out.csv",
        folder / "out.certificate.json",
        hierarchies={
            name: shoal.read_hierarchy(folder.parent / f"{name}.csv")
            for name, text in said["hierarchies"].items()
            if "(" not in text
        },
        missing=["?"] if said["missing"] is not None else [],
        **given[way],
    )
    return {finding.claim: finding.holds for finding in findings}


@pytest.mark.parametrize("way", ["release", "original", "receipt", "both"])
@pytest.mark.parametrize("folder", RELEASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_release_of_long_ago_is_verified_as_it_was_then(folder, way):
    then = json.loads((folder / "findings.json").read_text("utf-8"))[way]
    now = found(folder, way)
    assert False not in now.values()
    known = {claim for claim, holds in then.items() if holds}
    assert {claim for claim in known if now.get(claim) is not True} == set()
    assert then.keys() <= now.keys()


def test_every_format_that_is_written_has_its_folder():
    formats = {path.name for path in DATA.iterdir()}
    assert f"certificate-{certificate.VERSION}" in formats
    for folder in RELEASES:
        version = folder.parent.name.removeprefix("certificate-")
        for name in ("certificate", "receipt"):
            assert json.loads((folder / f"out.{name}.json").read_text("utf-8"))["version"] == version
    assert certificate.VERSION == receipt.VERSION


def test_every_style_and_way_of_writing_cells_is_there():
    plans = [json.loads((one / "out.certificate.json").read_text("utf-8"))["plan"] for one in RELEASES]
    assert {plan["style"] for plan in plans} == {"generalize", "suppress", "centres", "means"}
    assert {plan["cells"] for plan in plans} >= {"text", "bounds", "id"}
    assert any(plan["rules"] for plan in plans)
    assert any(plan["unit"] not in {None, "rows"} for plan in plans)
