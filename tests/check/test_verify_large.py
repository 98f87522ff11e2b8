"""A release that does not fit into memory is verified as one in memory is, and so are forgeries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.model.files import Files, mark_of_folder
from shoal.read.large import has_many_cells, needs_stream

LITTLE = "1KB"
NOT_IN_MEMORY = {"order"}
WORDS = {
    "plain": mixed_words(method="mondrian"),
    "rules": mixed_words(
        method="mondrian",
        rules=("ill: 2-diverse", "ill: at most 80%", "ill: 0.7-close", "cost: ordered 0.5-close"),
        sensitive=("ill", "cost"),
        keep=(),
    ),
    "count": mixed_words(method="mondrian", count="persons(n)"),
    "withheld": mixed_words(method="crowd", effort="quick", withhold=0.05),
}


def original() -> pl.DataFrame:
    return mixed_table(900).with_columns(n=pl.Series(np.random.default_rng(1).integers(1, 4, 900)))


@pytest.fixture(scope="module", params=sorted(WORDS))
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    words = WORDS[request.param]
    release = shoal.anonymize(original(), engine="stream", part=200, **words)
    return release.write(tmp_path_factory.mktemp("large") / "out.parquet")


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Files:
    release = shoal.anonymize(original(), engine="stream", part=200, **WORDS["rules"])
    return release.write(tmp_path_factory.mktemp("ruled") / "out.parquet")


def holds(found: tuple[shoal.Finding, ...]) -> dict[str, bool | None]:
    return {one.claim: one.holds for one in found if one.claim not in NOT_IN_MEMORY}


def trees() -> dict[str, object]:
    return dict(mixed_words()["hierarchies"])


@pytest.mark.parametrize("with_trees", [True, False])
def test_every_claim_is_judged_as_in_memory(files: Files, with_trees: bool) -> None:
    given = {"receipt": files.receipt, "hierarchies": trees() if with_trees else {}}
    known = shoal.verify(files.table, files.certificate, **given)  # type: ignore[arg-type]
    found = shoal.verify(files.table, files.certificate, memory=LITTLE, **given)  # type: ignore[arg-type]
    assert holds(found) == holds(known)
    assert [one.detail for one in found if one.claim.startswith(("rule", "loss of"))] == [
        one.detail for one in known if one.claim.startswith(("rule", "loss of"))
    ]
    assert not [one for one in found if one.holds is False]
    assert [one.holds for one in found if one.claim == "order"] == [True]


def test_the_original_is_recognised_without_being_read_whole(files: Files, tmp_path: Path) -> None:
    original().write_parquet(tmp_path / "in.parquet")
    given = {"receipt": files.receipt, "memory": LITTLE}
    found = shoal.verify(files.table, files.certificate, original=tmp_path / "in.parquet", **given)  # type: ignore[arg-type]
    assert holds(found)["original"] is True
    other = original().with_columns(pl.col("income").reverse())
    found = shoal.verify(files.table, files.certificate, original=other, **given)  # type: ignore[arg-type]
    assert holds(found)["original"] is False


def test_a_folder_is_verified_like_its_file(ruled: Files, tmp_path: Path) -> None:
    table = pl.read_parquet(ruled.table)
    (tmp_path / "out").mkdir()
    for at in range(3):
        table[300 * at : 300 * at + 300].write_parquet(tmp_path / "out" / f"part-{at}.parquet")
    certificate = shoal.Certificate.of_json(ruled.certificate.read_text())
    certificate = replace(certificate, release=mark_of_folder(tmp_path / "out"))
    given = {"hierarchies": trees()}
    known = shoal.verify(tmp_path / "out", certificate, **given)  # type: ignore[arg-type]
    assert holds(shoal.verify(tmp_path / "out", certificate, memory=LITTLE, **given)) == holds(known)  # type: ignore[arg-type]
    assert not [one for one in known if one.holds is False]


@pytest.mark.parametrize("name", ["rules", "count"])
def test_a_text_is_verified_like_one_in_memory(name: str, tmp_path: Path) -> None:
    release = shoal.anonymize(original(), engine="stream", part=200, **WORDS[name])
    files = release.write(tmp_path / "out.csv")
    known = shoal.verify(files.table, files.certificate, hierarchies=trees())  # type: ignore[arg-type]
    found = shoal.verify(files.table, files.certificate, hierarchies=trees(), memory=LITTLE)  # type: ignore[arg-type]
    assert holds(found) == holds(known)
    assert not [one for one in found if one.holds is False]


def test_a_column_without_text_is_refused_as_in_memory(ruled: Files, tmp_path: Path) -> None:
    table = pl.read_parquet(ruled.table).with_columns(town=pl.concat_list("town"))
    table.write_parquet(tmp_path / "out.parquet")
    for memory in (None, LITTLE):
        with pytest.raises(shoal.DataError) as error:
            shoal.verify(tmp_path / "out.parquet", ruled.certificate, memory=memory)
        assert error.value.column == "town"


def test_a_small_file_may_hold_many_rows(tmp_path: Path) -> None:
    pl.DataFrame({"x": ["[1, 2]"] * 500_000}).write_parquet(tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").stat().st_size < 10_000
    assert not needs_stream(tmp_path / "out.parquet", memory="10MB")
    assert has_many_cells(tmp_path / "out.parquet", memory="10MB")
    assert not has_many_cells(tmp_path / "out.parquet", memory="100MB")
    (tmp_path / "out.parquet").write_bytes(b"PAR1")
    assert not has_many_cells(tmp_path / "out.parquet", memory="1KB")


def lone_row(table: pl.DataFrame) -> pl.DataFrame:
    """The first row of the largest class leaves it for a class of its own."""
    return table.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("[0, 0]")).otherwise("income").alias("income")
    )


FORGED: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a class below k": (lone_row, "k"),
    "a row less": (lambda table: table[1:], "published"),
    "a line twice": (lambda table: pl.concat([table[:1], table]), "published"),
    "a cell that is no range": (
        lambda table: table.with_columns(pl.lit("zqcanary").alias("height")),
        "loss of height",
    ),
    "one value for all": (lambda table: table.with_columns(pl.lit("ill 1").alias("ill")), "rule"),
    "a column less": (lambda table: table.drop("town"), "columns"),
    "a column more": (lambda table: table.with_columns(more=pl.lit(1)), "columns"),
    "another order": (lambda table: table.reverse(), "order"),
    "a class in two places": (lambda table: pl.concat([table[1:], table[:1]]), "order"),
}


@pytest.mark.parametrize("name", sorted(FORGED))
def test_a_forged_table_is_caught(ruled: Files, tmp_path: Path, name: str) -> None:
    forge, claim = FORGED[name]
    forge(pl.read_parquet(ruled.table)).write_parquet(tmp_path / "out.parquet")
    digest = hashlib.sha256((tmp_path / "out.parquet").read_bytes()).hexdigest()
    certificate = replace(shoal.Certificate.of_json(ruled.certificate.read_text()), release=digest)
    found = shoal.verify(tmp_path / "out.parquet", certificate, hierarchies=trees(), memory=LITTLE)  # type: ignore[arg-type]
    assert any(one.claim.startswith(claim) and one.holds is False for one in found), found
    assert "zqcanary" not in str(found)
    honest = shoal.Certificate.of_json(ruled.certificate.read_text())
    found = shoal.verify(tmp_path / "out.parquet", honest, hierarchies=trees(), memory=LITTLE)  # type: ignore[arg-type]
    assert holds(found)["release"] is False


@pytest.mark.parametrize(
    "field",
    ["classes", "smallest_class", "loss", "loss_percent", "value", "ratio", "told_apart_percent", "k"],
)
def test_a_forged_certificate_is_caught(ruled: Files, field: str) -> None:
    honest = shoal.Certificate.of_json(ruled.certificate.read_text())
    forged = replace(honest, **{field: getattr(honest, field) * 2})
    known = shoal.verify(ruled.table, forged, hierarchies=trees())  # type: ignore[arg-type]
    found = shoal.verify(ruled.table, forged, hierarchies=trees(), memory=LITTLE)  # type: ignore[arg-type]
    assert holds(found) == holds(known)
    assert any(one.holds is False for one in found)


def test_forged_rulings_are_caught(ruled: Files) -> None:
    honest = shoal.Certificate.of_json(ruled.certificate.read_text())
    better = tuple(replace(one, measured=(one.measured or 0) / 2 + 7) for one in honest.rules)
    found = shoal.verify(ruled.table, replace(honest, rules=better), memory=LITTLE)
    assert all(one.holds is False for one in found if one.claim.startswith("rule "))
    found = shoal.verify(ruled.table, replace(honest, rules=()), memory=LITTLE)
    assert all(one.holds is False for one in found if one.claim.startswith("rule "))


def test_what_is_not_made_part_by_part_needs_memory(tmp_path: Path) -> None:
    words = {"k": 3, "quasi": ["age"], "style": "means", "kinds": {"age": "number"}}
    table = pl.DataFrame({"age": list(range(40))})
    files = shoal.anonymize(table, **words).write(tmp_path / "out.parquet")  # type: ignore[arg-type]
    with pytest.raises(shoal.DataError, match="Allow more memory") as error:
        shoal.verify(files.table, files.certificate, memory=LITTLE)
    assert error.value.field == "memory"
