from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import DataError
from shoal.recode.ids import from_ids

FRAME = pl.DataFrame({"name": ["a"] * 3 + ["b"] * 2 + ["c"] * 2 + [None] * 1 + ["d"] * 4, "n": range(12)})
WORDS = {"k": 3, "quasi": ["name"], "keep": ["n"], "method": "fold"}


def test_sets_get_stable_ids_and_a_lookup_table() -> None:
    release = shoal.anonymize(FRAME, cells="id", **WORDS)
    text = shoal.anonymize(FRAME, **WORDS)
    assert release.verdict == text.verdict
    lookup = release.lookups["name"]
    assert lookup.columns == ["group", "name"]
    assert set(release.table["name"].drop_nulls()) <= {*lookup["group"], "a", "b", "c", "d"}
    assert not release.table["name"].str.contains("{", literal=True).any()
    written = from_ids(release.table, release.lookups)
    assert written.sort(written.columns).equals(text.table.sort(text.table.columns))
    again = shoal.anonymize(FRAME.reverse(), cells="id", **WORDS)
    assert again.table.equals(release.table)


def test_a_release_with_ids_is_written_and_verified_with_its_lookup(tmp_path: Path) -> None:
    release = shoal.anonymize(FRAME, cells="id", **WORDS)
    files = release.write(tmp_path / "out.csv")
    mark = release.certificate.more["lookups"]["name"]
    assert [path.name for path in files.lookups] == [f"out.name-{mark[:10]}.csv"]
    findings = shoal.verify(files.table, files.certificate, original=FRAME, receipt=files.receipt)
    assert all(finding.holds is not False for finding in findings)
    assert {f.claim: f.holds for f in findings}["rows"] is True
    text = files.lookups[0].read_text(encoding="utf-8")
    head, _, lines = text.partition("\n")
    files.lookups[0].write_text(f"{head}\n{lines.replace('a', 'z')}", encoding="utf-8")
    findings = shoal.verify(files.table, files.certificate)
    assert {f.claim: f.holds for f in findings}["lookup of name"] is False
    with pytest.raises(DataError, match="is needed to verify its ids"):
        shoal.verify(release.table, release.certificate)


def test_ids_of_regions_can_be_drawn(tmp_path: Path) -> None:
    nodes = pl.DataFrame({"id": list("abcd"), "lat": [1.0, 2.0, 3.0, 4.0], "lon": [5.0] * 4})
    graph = shoal.read_graph([("a", "b"), ("b", "c"), ("c", "d")], nodes)
    frame = pl.DataFrame({"zip": list("abcd") * 2})
    release = shoal.anonymize(
        frame, k=4, quasi=["zip"], graphs={"zip": graph}, method="regions", cells="id"
    )
    assert release.table["zip"].str.starts_with("zip-").all()
    assert release.draw_map(tmp_path / "map.png").exists()


def test_numbers_and_places_stay_as_they_are_under_ids() -> None:
    frame = pl.DataFrame({"age": [1, 2, 30, 40], "job": ["x", "y", "x", "y"]})
    release = shoal.anonymize(frame, k=2, quasi=["age", "job"], method="mondrian", cells="id")
    assert release.table["age"].str.starts_with("[").all()
