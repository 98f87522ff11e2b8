"""Nothing of the original in what is written or handed out: bytes are scanned, orders are guessed."""

from __future__ import annotations

import io
import pickle
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.recode.anew import anew

ROWS, FAR = 244, 4
ILL = [f"zqill-{letter}-a-name-of-an-illness" for letter in "dacb"]
GRADES = ["zqgrade-low-and-no-more", "zqgrade-mid-and-no-more", "zqgrade-high-and-no-more"]
UNUSED = "zqunused-a-category-of-nobody"
JOBS = {f"zqjob-{i:02d}-a-leaf-of-the-tree": f"branch {i % 3}" for i in range(12)}
WORDS = {
    "k": 30,
    "quasi": ["age", "job"],
    "sensitive": ["ill", "grade"],
    "keep": ["note", "seen", "cost", "tags"],
    "identifier": ["name"],
    "hierarchies": {"job": shoal.Hierarchy.of_paths([[leaf, up, "*"] for leaf, up in JOBS.items()])},
    "withhold": FAR / ROWS,
    "method": "k-member",
    "improve": True,
}
FILES = ["out.csv", "out.tsv", "out.parquet", "out.arrow", "out.feather", "out.ipc"]


def original() -> pl.DataFrame:
    """Rows by name; the last ones are far from all others, and so are their values."""
    random = np.random.default_rng(7)
    far = np.arange(ROWS) >= ROWS - FAR
    age = np.where(far, 91_003 + 7 * np.arange(ROWS), 71_000 + random.permutation(ROWS) * 7)
    ill = [("zqwithheld-illness" if out else ILL[i % 4]) for i, out in enumerate(far)]
    grade = [GRADES[i % 2] for i in range(ROWS)]
    notes = random.permutation(ROWS)
    return pl.DataFrame(
        {
            "name": [f"zqname-{i:04d}-who-is-who" for i in range(ROWS)],
            "age": age,
            "job": [list(JOBS)[i] for i in random.integers(0, 12, ROWS)],
            "ill": pl.Series(ill, dtype=pl.Categorical),
            "grade": pl.Series(grade, dtype=pl.Enum([UNUSED, *reversed(GRADES)])),
            "note": [
                ("zqwithheld-note-of-a-person" if out else f"zqnote-{note:04d}-in-many-words")
                for note, out in zip(notes, far, strict=True)
            ],
            "seen": [date(2020, 1, 1 + i % 28) if i % 5 else None for i in range(ROWS)],
            "cost": [1.0 + i % 9 if i % 7 else None for i in range(ROWS)],
            "tags": [[f"zqtag-{i % 6}-in-a-list-of-tags"] if i % 4 else None for i in range(ROWS)],
        }
    )


def secrets(release: shoal.Release, table: pl.DataFrame) -> list[bytes]:
    """What nobody may find: names, withheld rows, unused categories, and cells that were made coarser."""
    told = " ".join(release._published.judged["age"].to_list())
    inside = [str(age) for age in table["age"].to_list() if str(age) not in told]
    coarse = set(JOBS) - set(release._published.judged["job"].to_list())
    assert len(inside) > 100
    assert len(coarse) > 3
    words = ["zqname-", "zqwithheld", UNUSED, GRADES[2], *inside, *coarse]
    return [form for word in words for form in (word.encode(), word.encode("utf-16-le"))]


def anonymized(table: pl.DataFrame, kind: str = "polars") -> shoal.Release:
    frame = {"polars": lambda: table, "pandas": table.to_pandas, "arrow": table.to_arrow}[kind]()
    release = shoal.anonymize(frame, **WORDS)
    assert release.certificate.withheld == FAR
    return release


def written(release: shoal.Release, folder, name: str) -> bytes:
    return release.write(folder / name).table.read_bytes()


def handed_out(release: shoal.Release) -> dict[str, bytes]:
    """The table that a user holds, in every form in which it can leave the process."""
    table = release.table
    ways = {"pickle": pickle.dumps(table)}
    if isinstance(table, pl.DataFrame):
        ways["serialize"] = table.serialize()
        for verb in ("write_ipc", "write_ipc_stream", "write_parquet"):
            ways[verb] = sunk(getattr(table, verb), compression="uncompressed")
        ways["codes"] = pickle.dumps(table.select(pl.col(pl.Enum, pl.Categorical).to_physical()).rows())
        table = table.to_arrow()
    elif isinstance(table, pd.DataFrame):
        ways["parquet"] = sunk(table.drop(columns="tags").to_parquet, compression=None)
        ways["codes"] = pickle.dumps([table[name].cat.codes.tolist() for name in ("ill", "grade")])
        ways["attributes"] = pickle.dumps((table.attrs, table.index, table.columns.name))
        table = pa.Table.from_pandas(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    ways["stream"] = sink.getvalue().to_pybytes()
    return ways


def sunk(write, **words) -> bytes:
    sink = io.BytesIO()
    write(sink, **words)
    return sink.getvalue()


@pytest.fixture
def unpacked(monkeypatch):
    """Files as they are, but that no compression hides their bytes."""
    for verb in ("write_parquet", "write_ipc"):
        write = getattr(pl.DataFrame, verb)
        monkeypatch.setattr(
            pl.DataFrame,
            verb,
            lambda self, path, write=write, **words: write(self, path, **words, compression="uncompressed"),
        )


@pytest.mark.usefixtures("unpacked")
@pytest.mark.parametrize("name", FILES)
def test_no_byte_of_a_file_tells_what_was_not_published(name, tmp_path):
    table = original()
    if name.endswith("sv"):  # which hold no lists
        table = table.with_columns(tags=pl.lit("zqtag-0-in-a-list-of-tags"))
    release = anonymized(table)
    content = written(release, tmp_path, name)
    assert b"zqnote-0007-in-many-words" in content  # the test can see
    assert [secret for secret in secrets(release, table) if secret in content] == []


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_no_byte_of_the_table_handed_out_tells_what_was_not_published(kind):
    table = original()
    release = anonymized(table, kind)
    for way, content in handed_out(release).items():
        if way not in {"codes", "attributes"}:
            assert b"zqnote-0007-in-many-words" in content, way
        assert [secret for secret in secrets(release, table) if secret in content] == [], way


@pytest.mark.parametrize("change", ["order", "names", "left out"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_same_whatever_the_order_and_the_names_were(name, change, tmp_path):
    tables = [original(), changed(original(), change)]
    if name.endswith("sv"):
        tables = [table.with_columns(tags=pl.lit("x")) for table in tables]
    one, other = (written(anonymized(table), tmp_path, f"{i}{name}") for i, table in enumerate(tables))
    assert one == other


@pytest.mark.parametrize("change", ["order", "names", "left out"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_the_table_handed_out_is_the_same_whatever_the_order_and_the_names_were(kind, change):
    one = handed_out(anonymized(original(), kind))
    other = handed_out(anonymized(changed(original(), change), kind))
    assert [way for way in one if one[way] != other[way]] == []


def changed(table: pl.DataFrame, change: str) -> pl.DataFrame:
    """The same people in another order of rows and categories, under other names, or with more columns."""
    if change == "order":
        order = pl.Series(np.random.default_rng(3).permutation(ROWS))
        ill = pl.Series("ill", table["ill"].cast(pl.String))[order]
        return table[order].with_columns(ill.cast(pl.Categorical(pl.Categories.random())))
    if change == "names":
        return table.with_columns(pl.col("name").str.replace("zqname", "another").reverse())
    return table.with_columns(more=pl.Series([f"column that nobody named {i}" for i in range(ROWS)]))


def test_texts_of_an_arrow_file_lie_in_published_order(tmp_path):
    release = anonymized(original())
    table = pa.ipc.open_file(release.write(tmp_path / "out.arrow").table).read_all()
    for name in ("note", "job"):
        cells = table[name].combine_chunks()
        assert cells.type == pa.string_view()
        views = np.frombuffer(cells.buffers()[1], dtype=np.int32).reshape(-1, 4)[: len(cells)]
        places = [(buffer, start) for size, _, buffer, start in views.tolist() if size > 12]
        assert places == sorted(places)
    held = table["note"].combine_chunks().buffers()[2:]
    assert sum(buffer.size for buffer in held) == sum(map(len, table["note"].to_pylist()))


def test_a_parquet_file_says_no_more_than_its_cells(tmp_path):
    release = anonymized(original())
    about = pq.ParquetFile(release.write(tmp_path / "out.parquet").table)
    assert about.metadata.num_row_groups == 1
    assert set(about.metadata.metadata) <= {b"ARROW:schema"}
    for at in range(about.metadata.num_columns):
        column = about.metadata.row_group(0).column(at)
        if column.statistics is None or not column.statistics.has_min_max:
            continue
        series = release.table[column.path_in_schema.partition(".")[0]]
        if not series.dtype.is_nested():
            assert column.statistics.num_values == series.len() - series.null_count()
            ends = {str(series.cast(pl.String).min()), str(series.cast(pl.String).max())}
            assert {str(column.statistics.min), str(column.statistics.max)} <= ends | set(
                map(str, (series.min(), series.max()))
            )


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series(["zqsecret-under-a-null", "b"]),
        pl.Series([0x7A71736563726574, 1]),
        pl.Series([b"zqsecret-under-a-null", b"b"]),
        pl.Series([["zqsecret-under-a-null"], ["b"]]),
        pl.Series([{"a": "zqsecret-under-a-null"}, {"a": "b"}]),
        pl.Series([["zqsecret-under-a-null"], ["b"]], dtype=pl.Array(pl.String, 1)),
    ],
    ids=["text", "number", "bytes", "list", "struct", "array"],
)
def test_nothing_stands_under_missing_cells(cells):
    cells = cells.gather([0, 1] * 50).alias("x")
    hidden = pl.select(pl.when(pl.int_range(100) % 2 == 1).then(cells).alias("x"))
    shown = anew(hidden)
    assert shown.equals(hidden)
    secret = [b"zqsecret", b"terceszq", b"tercesqz"]
    for buffer in buffers(shown["x"].to_arrow()):
        assert not any(word in buffer for word in secret)


def buffers(array: pa.Array) -> list[bytes]:
    return [buffer.to_pybytes() for buffer in array.buffers() if buffer is not None]


def test_categories_are_those_that_stand_in_the_table():
    table = original()
    published = anonymized(table).table
    assert published.schema["ill"] == pl.String  # codes of a Categorical tell who came first
    assert published["grade"].dtype.categories.to_list() == [GRADES[1], GRADES[0]]
    in_pandas = anonymized(table, "pandas").table
    assert list(in_pandas["ill"].cat.categories) == sorted(ILL)
    assert not in_pandas["ill"].cat.ordered
    assert list(in_pandas["grade"].cat.categories) == [GRADES[1], GRADES[0]]
    assert in_pandas["grade"].cat.ordered
    in_arrow = anonymized(table, "arrow").table
    assert in_arrow["ill"].chunk(0).dictionary.to_pylist() == sorted(ILL)
    assert in_arrow["grade"].chunk(0).dictionary.to_pylist() == [GRADES[1], GRADES[0]]
    assert in_arrow.schema.metadata is None
    assert all(field.metadata is None for field in in_arrow.schema)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("role", ["keep", "identifier"])
def test_a_type_that_cannot_be_made_anew_is_refused_before_any_work(engine, role):
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "x": pl.Series([1, 2, 3, 4], dtype=pl.Int128)})
    words = {"k": 2, "quasi": ["age"], role: ["x"], "engine": engine, "method": "mondrian"}
    for given in (frame, frame.lazy()):
        with pytest.raises(shoal.DataError, match="'x' is of the type Int128") as refused:
            shoal.anonymize(given, **words)
        assert refused.value.column == "x"


def test_texts_that_stand_often_are_copied_once():
    cells = pl.Series(
        "x", [*["zq-one-of-a-few-texts", "zq-another-of-a-few", None] * 20, "zq-what-is-withheld"]
    )
    newest = pl.CompatLevel.newest()
    assert any(b"withheld" in buffer for buffer in buffers(cells.head(60).to_arrow(compat_level=newest)))
    shown = anew(pl.DataFrame([cells.head(60)]))
    assert shown["x"].equals(cells.head(60), null_equal=True)
    held = buffers(shown["x"].to_arrow(compat_level=newest))
    assert b"".join(held).count(b"zq-one-of-a-few-texts") == 1
    assert not any(b"withheld" in buffer for buffer in held)
    views = np.frombuffer(held[1], dtype=np.int32).reshape(-1, 4)
    assert not views[2::3].any()  # zeros under missing cells


def test_a_column_without_any_text_is_made_anew():
    nothing = pl.DataFrame({"x": pl.Series([None] * 20, dtype=pl.String)})
    assert anew(nothing).equals(nothing)


def test_lines_of_a_class_share_their_cells():
    table = anonymized(original()).table
    classes = table.select("age", "job").n_unique()
    assert classes < table.height / 8
    cells = table["age"].to_arrow(compat_level=pl.CompatLevel.newest())
    texts = table.unique(["age", "job"])["age"].str.len_bytes().sum()
    held = [buffer.size for buffer in cells.buffers()[2:]]
    assert 0 < sum(held) <= texts
