"""Pseudonyms in a release: one row for each person, judged anew, and the key nowhere but in its file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.check.judge import judge
from shoal.encode import encode
from shoal.model.pseudonym import PSEUDONYM, Key, links
from shoal.model.whom import Behind
from shoal.read.key import read_key
from silent import said_by

ROWS = 40
FRAME = pl.DataFrame(
    {
        "who": [f"zq{i * 7919 % 1000:03d}" for i in range(ROWS)],
        "age": [20 + i * 7 % 23 for i in range(ROWS)],
        "sex": [("f", "m")[i % 2] for i in range(ROWS)],
        "ill": [("flu", "cold", "gout")[i % 3] for i in range(ROWS)],
    }
)
WORDS = {"k": 4, "quasi": ["age", "sex"], "sensitive": ["ill"], "pseudonym": "who"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def release_of(frame=FRAME, key="ward.key", **words):
    return shoal.anonymize(frame, **{**WORDS, **words}, key=key)


def whose(release: shoal.Release, frame=FRAME) -> dict[str, str]:
    """The identifier behind each pseudonym, by the key alone."""
    key = read_key("ward.key")
    return dict(zip(key.pseudonyms(frame["who"].cast(pl.String)), frame["who"], strict=True))


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"cells": "bounds"},
        {"cells": "middle"},
        {"cells": "id"},
        {"style": "suppress"},
        {"style": "means", "quasi": ["age"]},
        {"method": "mondrian", "withhold": 0.2},
        {"identifier": ["who"]},
        {"unit": "who"},
        {"unit": "who", "identifier": ["who"], "rules": ["ill: 2-diverse"]},
    ],
    ids=str,
)
def test_every_published_row_has_the_pseudonym_of_its_person(words):
    release = release_of(**words)
    assert release.verdict.has_passed, release.verdict.reasons
    table = release.table
    assert table["who"].str.contains(PSEUDONYM).all()
    assert table["who"].n_unique() == table.height >= 0.8 * ROWS
    names = whose(release)
    ill = dict(FRAME.select("who", "ill").iter_rows())
    assert [ill[names[one]] for one in table["who"]] == table["ill"].to_list()
    groups = dict(zip(FRAME["who"], release.groups.label.tolist(), strict=True))
    quasi = [name for name in table.columns if name not in {"who", "ill"}]
    by_cells: dict[tuple, Counter] = {}
    for row in table.iter_rows(named=True):
        cells = tuple(row[name] for name in quasi)
        by_cells.setdefault(cells, Counter())[groups[names[row["who"]]]] += 1
    assert min(sum(count.values()) for count in by_cells.values()) >= 4


def test_the_release_is_the_one_without_pseudonyms_and_a_column():
    """Nothing but the column is new: what is published of a row does not depend on whose it is."""
    plain = shoal.anonymize(FRAME, **{**WORDS, "pseudonym": None, "identifier": ["who"]})
    named = release_of()
    assert named.table.drop("who").equals(plain.table)
    assert named.certificate.loss == plain.certificate.loss


def test_the_order_of_rows_tells_nothing_of_identifiers():
    frame = FRAME.with_columns(
        pl.lit(30).alias("age"), pl.lit("flu").alias("ill"), pl.lit("f").alias("sex")
    )
    frame = frame.with_columns(pl.Series("who", [f"zq{i:03d}" for i in range(ROWS)]))
    release = release_of(frame)
    names = whose(release, frame)
    assert release.table["who"].is_sorted()
    order = [names[one] for one in release.table["who"]]
    assert order != sorted(order)
    ranks = np.argsort(np.argsort(order))
    assert abs(np.corrcoef(ranks, np.arange(ROWS))[0, 1]) < 0.6


def test_which_copies_of_a_row_go_where_does_not_depend_on_their_pseudonyms():
    """Else the order of pseudonyms would tell which lines of two classes are alike in the original."""
    frame = pl.DataFrame({"who": range(6), "age": [20, 20, 21, 21, 22, 22]})
    seen = set()
    for number in range(20):
        key = f"{number}.key"
        table = shoal.anonymize(frame, k=3, quasi=["age"], pseudonym="who", key=key).table
        assert table["age"].to_list() == ["[20, 21]"] * 3 + ["[21, 22]"] * 3
        alike = read_key(key).pseudonyms(pl.Series(["2", "3"]))
        seen.add(tuple(table.filter(pl.col("who").is_in(alike.implode())).sort("who")["age"]))
    assert len(seen) > 1


def test_one_key_joins_tables_and_another_does_not():
    other = pl.DataFrame({"pid": FRAME["who"].reverse(), "zip": [f"{i % 5:05d}" for i in range(ROWS)]})
    one = release_of().table
    again = release_of(FRAME.sample(fraction=1.0, shuffle=True, seed=3)).table
    assert one.equals(again)
    two = shoal.anonymize(other, k=4, quasi=["zip"], pseudonym="pid", key="ward.key").table
    assert one.join(two, left_on="who", right_on="pid").height == ROWS
    three = shoal.anonymize(other, k=4, quasi=["zip"], pseudonym="pid", key="other.key").table
    assert one.join(three, left_on="who", right_on="pid").height == 0
    numbers = pl.DataFrame({"pid": range(ROWS), "zip": other["zip"]})
    texts = numbers.with_columns(pl.col("pid").cast(pl.String))
    floats = numbers.with_columns(pl.col("pid").cast(pl.Float64))
    sets = [
        set(shoal.anonymize(frame, k=4, quasi=["zip"], pseudonym="pid", key="ward.key").table["pid"])
        for frame in (numbers, texts, floats)
    ]
    assert sets[0] == sets[1] == sets[2]


def test_frames_come_back_as_they_came():
    pandas = pytest.importorskip("pandas")
    release = release_of(FRAME.with_columns(pl.Series("who", range(ROWS))).to_pandas())
    assert isinstance(release.table, pandas.DataFrame)
    assert release.table["who"].str.match(PSEUDONYM).all()
    arrow = release_of(FRAME.to_arrow()).table
    assert arrow.column("who").to_pylist() == release_of().table["who"].to_list()


BAD = {
    "twice": (FRAME.with_columns(pl.col("who").replace("zq000", "zq919")), {}, "2 rows, one in up to 2"),
    "twice by unit": (
        FRAME.with_columns(pl.col("who").replace("zq000", "zq919")),
        {"unit": "who"},
        "k does not hold of what linked rows tell",
    ),
    "twice by rows": (
        FRAME.with_columns(pl.col("who").replace("zq000", "zq919")),
        {"unit": "rows"},
        "k does not hold of what linked rows tell",
    ),
    "twice in two ways": (
        FRAME.with_columns(pl.Series("who", ["1", "1.0", *(f"x{i}" for i in range(38))])),
        {},
        "1 identifiers stand in 2 rows",
    ),
    "missing": (FRAME.with_columns(pl.col("who").replace("zq000", None)), {}, "1 of 40 rows have no"),
    "blank": (FRAME.with_columns(pl.col("who").replace("zq000", " ")), {}, "1 of 40 rows have no"),
    "marked": (FRAME, {"missing": ["zq000"]}, "1 of 40 rows have no"),
    "not there": (FRAME.drop("who"), {}, "who"),
    "a truth": (FRAME.with_columns(who=pl.lit(True)), {}, "names nobody"),
    "count": (FRAME.with_columns(n=pl.lit(1)), {"count": "n"}, "count does not fit"),
    "centres": (FRAME, {"style": "centres", "method": "gather"}, "style does not fit"),
    "ledger": (FRAME, {"series": "ledger"}, "series does not fit"),
    "register": (FRAME, {"series": "register", "unit": "who"}, "series does not fit"),
    "quasi": (FRAME, {"pseudonym": "age"}, "as pseudonym and quasi"),
    "sensitive": (FRAME, {"pseudonym": "ill"}, "as pseudonym and sensitive"),
    "kept": (FRAME, {"keep": ["who"]}, "as pseudonym and keep"),
    "two": (FRAME, {"pseudonym": ["who", "age"]}, "not a word"),
    "stream": (FRAME, {"engine": "stream"}, "in memory"),
    "spark": (FRAME, {"engine": "spark"}, "in memory"),
    "name": (FRAME.rename({"who": "age_low"}), {"pseudonym": "age_low", "cells": "bounds"}, "two columns"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_pseudonyms_do_not_fit_is_refused_and_nothing_is_written(what):
    frame, words, expected = BAD[what]
    with pytest.raises((shoal.PlanError, shoal.DataError), match=expected) as caught:
        release_of(frame, **words)
    said_by(caught.value, "zq0", "zq9")
    assert list(Path().iterdir()) == []


def test_linked_rows_that_cut_one_another_are_refused():
    """The example of docs/proofs/pseudonyms.md: every class holds two persons, each pair of classes one."""
    frame = pl.DataFrame({"who": list("AABBCCDD"), "ward": [1, 3, 1, 4, 2, 3, 2, 4]})
    plain = shoal.anonymize(frame, k=2, quasi=["ward"], identifier=["who"], unit="who")
    assert plain.certificate.loss == 0
    assert plain.verdict.persons.fewest == 2
    with pytest.raises(shoal.DataError, match="4 identifiers stand in 8 rows"):
        shoal.anonymize(frame, k=2, quasi=["ward"], unit="who", pseudonym="who", key="ward.key")


def test_the_key_is_in_its_file_alone():
    release = release_of(unit="who")
    files = release.write("out.csv")
    release.write("out.parquet".replace("out", "two"))
    release.recoding.write("out.recoding.json")
    release.report("report.html", original=FRAME)
    digits = Path("ward.key").read_text().strip()
    secret = bytes.fromhex(digits)
    for path in Path().iterdir():
        if path.name != "ward.key":
            content = path.read_bytes()
            assert secret not in content
            assert digits.encode() not in content
            assert b"zq0" not in content
    assert digits not in f"{release!r} {release._repr_html_()} {release.notes}"
    said = json.loads(files.certificate.read_text())
    assert said["plan"]["pseudonym"] == "who"
    assert said["more"]["pseudonym"] == links("who")
    assert "k holds in this table alone" in said["more"]["pseudonym"]
    assert links("who") in release.notes
    assert "pseudonymous, not anonymous" in Path("report.html").read_text()


def test_a_release_that_is_refused_leaves_no_key():
    """Whether an identifier repeats too often in a class is known only when the classes are."""
    frame = FRAME.with_columns(pl.lit("ann").alias("doctor"))
    with pytest.raises(shoal.TooFewPersons):
        release_of(frame, identifier=("doctor",))
    assert list(Path().iterdir()) == []


def test_nothing_is_written_over_the_key():
    release = release_of(key="key.csv")
    before = Path("key.csv").read_bytes()
    with pytest.raises(shoal.PlanError, match="one of the inputs"):
        release.write("key.csv")
    assert Path("key.csv").read_bytes() == before


def test_a_key_that_is_refused_makes_no_release():
    Path("ward.key").write_text("00" * 32)
    with pytest.raises(shoal.DataError, match=r"open to others|holds no key"):
        release_of()
    Path("ward.key").unlink()
    with pytest.raises(shoal.PlanError, match="Pseudonyms need a key"):
        release_of(key=None)
    with pytest.raises(shoal.PlanError, match="the plan has none"):
        release_of(pseudonym=None)
    assert list(Path().iterdir()) == []


def judged(release: shoal.Release, table: pl.DataFrame, *, who=None, key=None) -> tuple[str, ...]:
    plan = release.plan
    names = who if who is not None else FRAME["who"].gather(release.groups.source)
    told = Behind(release.groups.line, names)
    verdict = judge(
        table,
        plan,
        encode(FRAME, plan).columns,
        withheld=0,
        named=told,
        key=key or read_key("ward.key"),
    )
    return verdict.reasons


def test_the_judge_makes_every_pseudonym_anew():
    release = release_of()
    table = release.table
    who = table["who"]
    assert judged(release, table) == ()
    swapped = who.clone()
    swapped[0], swapped[-1] = who[-1], who[0]
    cases = {
        "are none": FRAME["who"].gather(release.groups.source).alias("who"),
        "repeat in 1 rows": who.set(pl.Series(np.arange(ROWS) == 1), who[0]),
        "2 of 40 pseudonyms that are not those": swapped,
        "1 of 40 cells are none": who.set(pl.Series(np.arange(ROWS) == 1), None),
        "40 of 40 cells are none": who.str.to_uppercase(),
        "no texts": pl.Series("who", range(ROWS)),
        "lacks the column 'who'": None,
    }
    for expected, column in cases.items():
        broken = table.drop("who") if column is None else table.with_columns(column)
        reasons = judged(release, broken)
        assert any(expected in reason for reason in reasons), (expected, reasons)
        assert not any("zq0" in reason for reason in reasons)
    assert any("not those of whom" in one for one in judged(release, table, key=Key.new()))
    short = Behind(release.groups.line[:-1], FRAME["who"].gather(release.groups.source[:-1]))
    plan = release.plan
    columns = encode(FRAME, plan).columns
    for named, key in ((short, read_key("ward.key")), (None, read_key("ward.key")), (short, None)):
        assert judge(table, plan, columns, withheld=0, named=named, key=key).reasons


def test_a_second_column_of_tokens_is_a_quasi_identifier():
    release = release_of()
    table = release.table.with_columns(pl.col("who").alias("token"))
    assert any("fewer than k" in reason for reason in judged(release, table))


def found(table, certificate, **words) -> dict[str, bool | None]:
    return {one.claim: one.holds for one in shoal.verify(table, certificate, **words)}


def test_verify_recomputes_pseudonyms_with_the_key():
    release = release_of()
    files = release.write("out.csv")
    FRAME.write_csv("in.csv")
    papers = {"original": "in.csv", "receipt": files.receipt}
    without = found("out.csv", files.certificate, **papers)
    assert without["pseudonyms"] is True
    assert [claim for claim, holds in without.items() if holds is not True] == [
        "pseudonyms of the original"
    ]
    needs = [one.needs for one in shoal.verify("out.csv", files.certificate, **papers)]
    assert ("key",) in needs
    with_key = found("out.csv", files.certificate, **papers, key="ward.key")
    assert set(with_key.values()) == {True}
    release_of(key="other.key")
    assert (
        found("out.csv", files.certificate, **papers, key="other.key")["pseudonyms of the original"]
        is False
    )
    with pytest.raises(shoal.DataError, match="no key file"):
        shoal.verify("out.csv", files.certificate, **papers, key="nothing.key")


def forged(release: shoal.Release, what: str) -> tuple[pl.DataFrame, shoal.Certificate]:
    table, certificate = release.table, release.certificate
    who = table["who"]
    if what == "two swapped":
        return table.with_columns(pl.Series("who", [who[-1], *who[1:-1], who[0]])), certificate
    if what == "another token":
        return table.with_columns(pl.Series("who", ["p" + "0" * 32, *who[1:]])), certificate
    if what == "doubled":
        return table.with_columns(pl.Series("who", [who[1], *who[1:]])), certificate
    if what == "raw":
        return table.with_columns(pl.Series("who", [f"zq{i:03}" for i in range(ROWS)])), certificate
    plan = certificate.plan
    if what == "untold":
        return table, replace(certificate, more={})
    if what == "told of a plan without":
        return table.drop("who"), replace(certificate, plan=replace(plan, pseudonym=None))
    if what == "quasi called a pseudonym":
        return table, replace(certificate, plan=replace(plan, pseudonym="age", quasi=("sex",)))
    raise ValueError(what)


@pytest.mark.parametrize(
    ("what", "claim", "by_key"),
    [
        ("two swapped", "rows", True),
        ("another token", "pseudonyms of the original", True),
        ("doubled", "pseudonyms", False),
        ("raw", "pseudonyms", False),
        ("untold", "pseudonyms", False),
        ("told of a plan without", "pseudonyms", False),
        ("quasi called a pseudonym", "pseudonyms", False),
    ],
)
def test_verify_denies_forged_pseudonyms(what, claim, by_key):
    table, certificate = forged(release_of(), what)
    words = {"original": FRAME, "key": "ward.key"} if by_key else {}
    assert found(table, certificate, **words)[claim] is False


def test_a_recoding_publishes_no_identifier_of_new_rows():
    release = release_of(style="generalize")
    assert "who" not in release.recoding.coarsening.others
    applied = release.recoding.apply(FRAME, k=4)
    assert "who" not in applied.table.columns
    assert "zq" not in str(applied.table.rows())


def test_what_is_only_tried_needs_no_key():
    plan = shoal.Plan(**{**WORDS, "quasi": ("age", "sex"), "sensitive": ("ill",)})
    assert not shoal.compare(FRAME, plan, methods=["mondrian"]).trials[0].note
    files = release_of().write("out.csv")
    assert shoal.utility("out.csv", FRAME, certificate=files.certificate, queries=10).tables
    assert shoal.risk(release_of()).uniques == 0


def test_a_plan_with_pseudonyms_is_text_and_back():
    plan = shoal.Plan(k=4, quasi=("age",), pseudonym="who")
    Path("plan.yaml").write_text(plan.to_yaml())
    assert shoal.read_plan("plan.yaml") == plan
    release = shoal.anonymize(FRAME, "plan.yaml", key="ward.key")
    assert release.certificate.plan.pseudonym == "who"


def test_a_release_goes_to_a_database_with_its_pseudonyms():
    pytest.importorskip("adbc_driver_sqlite", reason="the extra 'sqlite' is not installed")
    release = release_of()
    stored = release.write_database("sqlite:out.db#out")
    back = shoal.read_database("sqlite:out.db#out").frame
    findings = {
        one.claim: one.holds
        for one in shoal.verify(back, stored.certificate, original=FRAME, key="ward.key")
    }
    assert False not in findings.values()
    assert findings["pseudonyms of the original"] is True
