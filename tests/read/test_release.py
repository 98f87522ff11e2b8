"""Whoever receives a release gets typed columns, and counts with the width that cells leave."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

import shoal

FRAME = pl.DataFrame(
    {
        "age": [21, 22, 35, None, 36, 60, 61, 62],
        "zip": ["02139", "02138", "90210", "90211", "90213", "10115", "10117", "10119"],
        "sex": ["f", "m", "f", "f", "m", "m", "f", None],
        "born": [date(1990, 1, day) for day in range(1, 9)],
        "ill": ["a", "b", "a", "c", "b", "a", "c", "b"],
    }
)
WORDS = {"k": 2, "quasi": ["age", "zip", "sex", "born"], "sensitive": ["ill"]}


def written(tmp_path, ending="csv", **more):
    trees = {"zip": shoal.prefixes(5, 3, 0)}
    release = shoal.anonymize(FRAME, **WORDS, hierarchies=trees, **more)
    return release, release.write(tmp_path / f"out.{ending}")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("cells", ["text", "bounds"])
def test_ranges_become_typed_bounds(ending, cells, tmp_path):
    _, files = written(tmp_path, ending, cells=cells)
    frame = shoal.read_release(files.table).frame
    assert frame.schema["age_low"] == pl.Int64
    assert frame.schema["born_high"] == pl.Date
    told = frame.drop_nulls("age_low")
    assert (told["age_low"] <= told["age_high"]).all()
    assert frame["born_low"].min() == FRAME["born"].min()
    assert frame.height == 8


def test_nodes_have_levels_where_the_hierarchy_is_known(tmp_path):
    _, files = written(tmp_path)
    assert "zip_level" not in shoal.read_release(files.table).frame.columns
    tree = shoal.prefixes(5, 3, 0).build(FRAME["zip"].to_list(), column="zip")
    frame = shoal.read_release(files.table, hierarchies={"zip": tree}).frame
    for node, level in frame.select("zip_node", "zip_level").rows():
        assert level == {0: 0, 2: 1}.get(node.count("*"), tree.height if node == "*" else None)


def test_sets_are_lists_and_missing_is_one_of_their_values(tmp_path):
    release, files = written(tmp_path)
    sets = shoal.read_release(files.table).frame["sex_set"].to_list()
    texts = release.table["sex"].to_list()
    for members, text in zip(sets, texts, strict=True):
        assert (members is None) == (text == "*")
        if text == "{f, m}":
            assert members == ["f", "m"]


def test_expected_counts_sum_to_the_records_and_the_truth_lies_between(tmp_path):
    _, files = written(tmp_path)
    for by in (["sex"], ["age"], ["born"], ["ill", "sex"]):
        found = shoal.tabulate(files.table, by=by, widths={"age": 10} if by == ["age"] else None)
        assert sum(one.expected for one in found.lines) == pytest.approx(8)
        assert all(one.least <= one.expected + 1e-9 <= one.most + 2e-9 for one in found.lines)
    lines = {one.values: one for one in shoal.tabulate(files.table, by="sex").lines}
    for sex in ("f", "m"):
        true = FRAME.filter(pl.col("sex") == sex).height
        assert lines[sex,].least <= true <= lines[sex,].most
    tree = shoal.prefixes(5, 3, 0).build(FRAME["zip"].to_list(), column="zip")
    by_leaf = shoal.tabulate(files.table, by="zip", hierarchies={"zip": tree})
    assert {one.values[0] for one in by_leaf.lines} == set(FRAME["zip"])
    assert all(one.least <= 1 <= one.most for one in by_leaf.lines)


def test_what_cannot_be_read_or_counted_is_refused(tmp_path):
    _, files = written(tmp_path)
    with pytest.raises(shoal.PlanError, match="by which columns"):
        shoal.tabulate(files.table, by=[])
    with pytest.raises(shoal.ShoalError, match="'ag'"):
        shoal.tabulate(files.table, by=["ag"])
    with pytest.raises(shoal.PlanError, match="a width"):
        shoal.tabulate(files.table, by=["sex"], widths={"sex": 2})
    files.certificate.unlink()
    with pytest.raises(shoal.DataError, match="There is no certificate"):
        shoal.read_release(files.table)


def test_columns_that_are_published_as_they_are_have_their_types(tmp_path):
    cells = {
        "age": [21, 22, 35, 36],
        "cost": [1.5, 2.25, None, 3.0],
        "visits": [1, 2, 3, 4],
        "seen": [date(2020, 1, day) for day in range(1, 5)],
        "ward": ["007", "008", "009", "010"],
        "note": ["a", "1", "b", None],
    }
    words = {"k": 2, "quasi": ["age"], "sensitive": ["cost", "visits"], "keep": ["seen", "ward", "note"]}
    files = shoal.anonymize(pl.DataFrame(cells), **words).write(tmp_path / "out.csv")
    read = shoal.read_release(files.table)
    assert dict(read.frame.select("cost", "visits", "seen", "ward", "note").schema) == {
        "cost": pl.Float64,
        "visits": pl.Int64,
        "seen": pl.Date,
        "ward": pl.String,
        "note": pl.String,
    }
    assert sorted(read.frame["cost"].drop_nulls()) == [1.5, 2.25, 3.0]
    assert read.frame["cost"].null_count() == read.frame["note"].null_count() == 1
    assert [line.values for line in shoal.tabulate(read, by="ward").lines] == [
        *(("007",), ("008",), ("009",), ("010",))
    ]


def test_nodes_without_a_hierarchy_are_never_counted_falsely(tmp_path):
    _, files = written(tmp_path)
    found = shoal.tabulate(files.table, by=["zip", "sex"])
    assert found.unknown == ("zip",)
    assert all(one.expected is None and one.most is None for one in found.lines)
    assert "not known" in repr(found)
    assert "Give hierarchies" in repr(found)
    flat = shoal.anonymize(FRAME, **WORDS, hierarchies={"zip": "flat()"}).write(tmp_path / "flat.csv")
    assert shoal.tabulate(flat.table, by="zip").unknown == ()
    wrong = {"zip": {"021**": ["02139", "02138"]}}
    with pytest.raises(shoal.PlanError, match="does not have"):
        shoal.tabulate(files.table, by="zip", hierarchies=wrong)


def test_hierarchies_are_given_as_files_and_never_as_builders(tmp_path):
    _, files = written(tmp_path)
    tree = tmp_path / "zip.csv"
    tree.write_text("".join(f"{zip};{zip[:3]}**;*\n" for zip in FRAME["zip"]))
    for given in (tree, str(tree)):
        assert "zip_level" in shoal.read_release(files.table, hierarchies={"zip": given}).frame.columns
    for given in (shoal.prefixes(5, 3, 0), "prefixes(5, 3, 0)"):
        with pytest.raises(shoal.PlanError, match="Give the tree") as raised:
            shoal.read_release(files.table, hierarchies={"zip": given})
        assert raised.value.column == "zip"


def test_middles_have_no_ends(tmp_path):
    _, files = written(tmp_path, cells="middle")
    frame = shoal.read_release(files.table).frame
    assert "age_low" not in frame.columns
    assert frame["age_middle"].dtype.is_numeric()
    assert frame.schema["born_middle"].is_temporal()
    with pytest.raises(shoal.PlanError, match="middles"):
        shoal.tabulate(files.table, by="age")
    measured = shoal.utility(files.table, FRAME, beside=False)
    assert measured.tables[0].marginals["age"] < 1


def test_a_release_as_it_was_made_is_counted_measured_and_verified(tmp_path):
    release, files = written(tmp_path)
    tree = shoal.prefixes(5, 3, 0).build(FRAME["zip"].to_list(), column="zip")
    for by in ("zip", "age", "sex"):
        made = shoal.tabulate(release, by=by)
        assert made == shoal.tabulate(files.table, by=by, hierarchies={"zip": tree})
    assert shoal.utility(release, FRAME) == shoal.utility(files.table, FRAME)
    assert not [one for one in shoal.verify(release, original=FRAME) if one.holds is False]
    for call in (lambda: shoal.tabulate(FRAME, by="sex"), lambda: shoal.utility(FRAME, FRAME)):
        with pytest.raises(shoal.DataError, match="Give the path"):
            call()
    with pytest.raises(shoal.DataError, match=r"shoal\.read_table"):
        shoal.anonymize("in.csv", **WORDS)
    with pytest.raises(shoal.DataError, match="Did you mean 'born'"):
        shoal.anonymize(FRAME, k=2, quasi=["borne"], sensitive=["ill"])


@pytest.mark.parametrize(("style", "method"), [("means", "mdav"), ("centres", "gather")])
def test_cells_that_stand_for_a_class_are_not_counted_as_values(style, method):
    words = {"quasi": ["age"], "sensitive": ["ill"], "style": style, "method": method}
    release = shoal.anonymize(FRAME, k=2, **words)
    with pytest.raises(shoal.PlanError, match=style):
        shoal.tabulate(release, by="age")
    if style == "means":  # whose sensitive cells are those of the records
        assert shoal.tabulate(release, by="ill").records == 8
    else:
        with pytest.raises(shoal.PlanError, match=style):
            shoal.tabulate(release, by="ill")


def test_rows_that_stand_for_several_records_count_as_such(tmp_path):
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "n": [10, 20, 30, 40], "ill": ["a", "b", "a", "b"]})
    release = shoal.anonymize(frame, k=5, quasi=["age"], sensitive=["ill"], count="persons(n)")
    for one in (release, release.write(tmp_path / "out.csv").table):
        found = shoal.tabulate(one, by="ill")
        assert found.records == 100
        assert [(line.least, line.most) for line in found.lines] == [(40, 40), (60, 60)]
