"""What the holder of a table may look at: hierarchies tried, columns before and after, steps."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import polars as pl
import pytest

import shoal

TABLE = pl.DataFrame(
    {
        "age": [str(20 + 3 * row % 60) for row in range(60)],
        "born": [f"{1950 + row % 40}-03-0{1 + row % 9}" for row in range(60)],
        "city": [("Oslo", "Turku", "Rome", " Rome", "", "?")[row % 6] for row in range(60)],
    }
)


def test_values_without_a_place_are_named_with_their_rows():
    tree = shoal.parse_outline("north\n  Oslo\n  Turku\nBern")
    tried = shoal.preview_hierarchy(TABLE, "city", tree, missing=["?"])
    assert (tried.values, tried.unplaced, tried.unplaced_rows) == (3, ("Rome",), 20)
    assert [level.names for level in tried.levels] == [3, 2, 1]
    assert dict(tried.levels[1].largest) == {"north": 20, "Bern": 0}
    assert "Rome" not in repr(tried)


def test_a_builder_places_what_it_can():
    tried = shoal.preview_hierarchy(TABLE, "city", shoal.bins(5))
    assert set(tried.unplaced) == {"Oslo", "Turku", "Rome", "?"}
    assert tried.levels == ()
    ages = shoal.preview_hierarchy(TABLE, "age", shoal.bins(5, 10))
    assert ages.unplaced == ()
    assert sum(rows for _, rows in ages.levels[-1].largest) == 60


def test_no_column_no_preview():
    with pytest.raises(shoal.DataError, match="no column 'nix'"):
        shoal.preview_hierarchy(TABLE, "nix", shoal.flat())


@pytest.mark.parametrize(("column", "kind"), [("age", "number"), ("born", "date")])
def test_ranges_hold_all_rows_before_and_after(column, kind):
    release = shoal.anonymize(TABLE, k=5, quasi=["age", "born"], kinds={column: kind}, unit="rows")
    seen = shoal.profile(TABLE, release, column)
    assert sum(bar.before for bar in seen.bars) == pytest.approx(60)
    assert sum(bar.after for bar in seen.bars) == pytest.approx(60)
    assert seen.distinct_before == TABLE[column].n_unique()
    assert seen.distinct_after == release.table[column].n_unique()
    assert seen.coarser == sum("[" in cell for cell in release.table[column])
    assert "19" not in repr(seen).replace(str(seen.distinct_before), "")


def test_values_are_counted_as_they_are_published():
    release = shoal.anonymize(TABLE, k=5, quasi=["city"], missing=["?"], unit="rows")
    seen = shoal.profile(TABLE, release, "city")
    shown = release.table["city"].to_list()
    assert {bar.label: bar.before for bar in seen.bars} == {"Rome": 20, "Oslo": 10, "Turku": 10}
    assert all(bar.after == shown.count(bar.label) for bar in seen.bars)
    coarse = shoal.profile(TABLE, shoal.anonymize(TABLE, k=25, quasi=["city"], unit="rows"), "city")
    assert coarse.coarser > 0


def test_published_middles_have_a_profile_too():
    release = shoal.anonymize(TABLE, k=5, quasi=["age"], cells="middle", unit="rows")
    assert shoal.profile(TABLE, release, "age").distinct_before == 20


def test_steps_tell_loss_and_floor_as_numbers():
    told = []
    release = shoal.anonymize(
        TABLE,
        k=3,
        quasi=["age", "born"],
        unit="rows",
        effort="5s",
        progress=lambda *one: told.append(one),
    )
    words = [what for what, _ in told]
    assert words[0] == "encoding"
    assert all(isinstance(what, shoal.Doing) for what in words)
    improving = [what for what in words if what.startswith("improving, ")]
    assert improving
    assert all(what.loss >= what.least > 0 for what in improving)
    assert improving[-1].loss == pytest.approx(release.certificate.loss_percent, rel=0.2)
    assert words[-1].least == improving[-1].least


def test_a_run_tells_its_floor_before_it_improves():
    told = []
    release = shoal.anonymize(
        TABLE, k=4, quasi=["age"], unit="rows", progress=lambda what, _: told.append(what)
    )
    first = next(at for at, what in enumerate(told) if what.least is not None)
    assert all(what.loss is None for what in told[:first])
    assert {what.least for what in told[first:]} == {told[first].least}, "proved once"
    assert told[first].least <= release.certificate.loss_percent


def test_the_verdict_knows_the_sizes_of_classes():
    release = shoal.anonymize(TABLE, k=5, quasi=["age", "city"], unit="rows")
    counted: dict[int, int] = {}
    rows = release.table.select("age", "city").rows()
    for size in (rows.count(row) for row in set(rows)):
        counted[size] = counted.get(size, 0) + 1
    assert release.verdict.sizes == tuple(sorted(counted.items()))
    assert sum(size * classes for size, classes in release.verdict.sizes) == 60


def drawn(text):
    """An SVG, whole and without script, style or anything that is loaded."""
    tree = ElementTree.fromstring(text)
    tags = {one.tag for one in tree.iter()}
    assert tags <= {"svg", "rect", "text", "line", "polyline", "circle"}
    assert not [one for one in tree.iter() if {"style", "onclick", "href"} & set(one.attrib)]
    return tree.attrib["aria-label"], [one.text for one in tree.iter("text")]


def test_drawings_say_their_numbers():
    release = shoal.anonymize(TABLE, k=5, quasi=["age", "city"], unit="rows", effort="quick")
    label, words = drawn(shoal.svg(release.certificate))
    assert all(one.name in words for one in release.certificate.columns)
    label, words = drawn(shoal.svg(release.verdict))
    assert {f"{size}" for size, _ in release.verdict.sizes} <= set(words)
    label, words = drawn(shoal.svg(shoal.profile(TABLE, release, "city")))
    assert "Rows of city before and after" in label
    found = shoal.compare(TABLE, methods=["mondrian"], ks=[2, 5], quasi=["age", "city"], unit="rows")
    label, words = drawn(shoal.svg(found))
    assert label.count(" at k = ") == 2
    assert {"2", "5"} <= set(words)
    label, words = drawn(shoal.svg(shoal.Fall(((0.0, 9.0), (1.0, 7.5)), 5.25)))
    assert "no release can lose less: 5.25 %" in words
    assert shoal.svg(shoal.Fall(())) == ""
    with pytest.raises(shoal.PlanError, match="no drawing of a int"):
        shoal.svg(3)


def test_many_sizes_are_drawn_in_few_ranges():
    verdict = shoal.anonymize(TABLE, k=5, quasi=["age"], unit="rows", effort="quick").verdict
    many = dataclasses.replace(verdict, sizes=tuple((size, 1) for size in range(5, 205)))
    label, _ = drawn(shoal.svg(many))
    assert 20 <= label.count(" of ") <= 24


def test_a_rule_that_nobody_can_obey_is_told_with_its_field():
    with pytest.raises(shoal.DataError, match="No release can obey") as error:
        shoal.anonymize(
            TABLE, k=5, quasi=["age"], sensitive=["city"], rules=["city: 9-diverse"], unit="rows"
        )
    assert (error.value.field, error.value.column) == ("rules", "city")
