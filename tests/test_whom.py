"""Whom k counts: a run stops until the plan says it, wherever rows may be fewer than k persons."""

from __future__ import annotations

from collections import defaultdict

import polars as pl
import pytest

import shoal

# two patients with four rows each, and eight who came once; ages keep them apart
FRAME = pl.DataFrame(
    {
        "who": ["zqa"] * 4 + ["zqb"] * 4 + [f"zq{i}" for i in range(8)],
        "age": [20, 20, 20, 20, 30, 30, 30, 30, 50, 51, 52, 53, 60, 61, 62, 63],
        "ill": list("abcdabcdabcdabcd"),
    }
)
WORDS = {"k": 4, "quasi": ["age"], "sensitive": ["ill"], "identifier": ["who"]}
STYLES = [
    {},
    {"cells": "bounds"},
    {"cells": "middle"},
    {"style": "suppress"},
    {"style": "means"},
    {"method": "gather", "style": "centres"},
    {"method": "cellular", "style": "centres"},
]


def persons_by_group(release: shoal.Release, who: list) -> dict[int, set]:
    """Different persons in each group, counted from the input's rows."""
    held = defaultdict(set)
    for person, group in zip(who, release.groups.label.tolist(), strict=True):
        if group >= 0:
            held[group].add(person)
    return held


@pytest.mark.parametrize("words", STYLES, ids=str)
def test_a_repeating_identifier_stops_the_run_in_every_style(words):
    with pytest.raises(shoal.TooFewPersons) as caught:
        shoal.anonymize(FRAME, **WORDS, **words)
    error = caught.value
    assert isinstance(error, shoal.DataError)
    assert (error.column, error.k, error.fewest) == ("who", 4, 1)
    assert 1 <= error.failing <= error.classes
    assert "unit = who" in str(error)
    assert "unit = rows" in str(error)
    assert "zq" not in str(error)


@pytest.mark.parametrize("words", STYLES, ids=str)
def test_a_unit_counts_persons_in_every_style(words):
    release = shoal.anonymize(FRAME, **WORDS, unit="who", **words)
    assert release.verdict.has_passed, release.verdict.reasons
    held = persons_by_group(release, FRAME["who"].to_list())
    assert min(map(len, held.values())) >= 4
    assert release.verdict.persons.total == 10
    assert release.verdict.persons.fewest >= 4
    assert release.repeats == ()


@pytest.mark.parametrize("words", STYLES, ids=str)
def test_whoever_means_rows_says_so(words):
    release = shoal.anonymize(FRAME, **WORDS, unit="rows", **words)
    assert release.verdict.has_passed
    assert release.verdict.persons is None
    assert release.certificate.plan.unit == "rows"
    assert [one.column for one in release.repeats] == ["who"]


def test_the_judge_of_centres_counts_those_behind_each_line():
    from shoal.check.judge import judge
    from shoal.encode import encode
    from shoal.model.whom import Behind

    plan = shoal.Plan(**WORDS, unit="who", method="gather", style="centres")
    release = shoal.anonymize(FRAME, plan)
    columns = encode(FRAME, plan).columns
    line, source = release.groups.line, release.groups.source
    good = Behind(line, FRAME["who"].gather(source))
    assert judge(release.table, plan, columns, withheld=0, persons=good).has_passed
    one = Behind(line, pl.Series("who", ["the same"] * len(source)))
    verdict = judge(release.table, plan, columns, withheld=0, persons=one)
    assert "'who: at least 4 in every class' fails" in " ".join(verdict.reasons)
    (reason,) = judge(release.table, plan, columns, withheld=0).reasons
    assert "persons cannot be counted" in reason


def test_an_identifier_that_repeats_without_harm_is_only_noted():
    frame = FRAME.with_columns(pl.Series("who", [f"zq{i % 8}" for i in range(16)]))
    release = shoal.anonymize(frame, **WORDS)
    assert release.verdict.has_passed
    assert [(one.column, one.values, one.rows, one.most) for one in release.repeats] == [("who", 8, 16, 2)]


def test_a_left_out_column_that_looks_like_a_person_key_is_noted():
    frame = FRAME.rename({"who": "patient_id"})
    release = shoal.anonymize(frame, **{**WORDS, "identifier": []})
    assert [one.column for one in release.repeats] == ["patient_id"]
    for unit in ("patient_id", "rows"):
        assert shoal.anonymize(frame, **{**WORDS, "identifier": []}, unit=unit).repeats == ()


@pytest.mark.parametrize(
    "who",
    [
        [None] * 16,
        ["", "  ", "?", None] * 4,
        [f"zq{i}" for i in range(12)] + [None] * 4,
    ],
)
def test_missing_identifiers_may_all_be_one_person(who):
    frame = FRAME.with_columns(pl.Series("who", who, dtype=pl.String))
    with pytest.raises(shoal.TooFewPersons):
        shoal.anonymize(frame, **WORDS, missing=["?"])


def test_missing_units_are_one_person_whatever_their_mark():
    frame = FRAME.with_columns(pl.Series("who", ["", "?", " ", None] + [f"zq{i}" for i in range(12)]))
    release = shoal.anonymize(frame, **WORDS, unit="who", missing=["?"])
    who = ["one"] * 4 + frame["who"].to_list()[4:]
    assert min(map(len, persons_by_group(release, who).values())) >= 4


def test_with_a_unit_other_identifiers_are_not_counted():
    frame = FRAME.with_columns(name=pl.lit("zqmiller"), who=pl.Series([f"zq{i}" for i in range(16)]))
    words = {**WORDS, "identifier": ["name", "who"]}
    with pytest.raises(shoal.TooFewPersons) as caught:
        shoal.anonymize(frame, **words)
    assert caught.value.column == "name"
    assert shoal.anonymize(frame, **words, unit="who").verdict.has_passed


def test_the_finest_of_several_identifiers_is_proposed():
    frame = FRAME.with_columns(name=pl.Series(["zqx"] * 8 + ["zqy"] * 8))
    with pytest.raises(shoal.TooFewPersons) as caught:
        shoal.anonymize(frame, **{**WORDS, "identifier": ["name", "who"]})
    assert caught.value.column == "who"


@pytest.mark.parametrize("kind", ["pandas", "arrow", "categories", "numbers", "floats"])
def test_the_guard_sees_identifiers_of_every_type(kind):
    frame = FRAME
    if kind == "categories":
        frame = frame.with_columns(pl.col("who").cast(pl.Categorical))
    if kind in {"numbers", "floats"}:
        ids = [1] * 4 + [2] * 4 + list(range(3, 11))
        frame = frame.with_columns(pl.Series("who", ids, dtype=pl.Float64 if kind == "floats" else pl.Int8))
    frame = frame.to_pandas() if kind == "pandas" else frame.to_arrow() if kind == "arrow" else frame
    with pytest.raises(shoal.TooFewPersons):
        shoal.anonymize(frame, **WORDS)
    assert shoal.anonymize(frame, **WORDS, unit="who").verdict.persons.fewest >= 4


def test_withheld_rows_do_not_count():
    # the two who came four times each may be left out
    release = shoal.anonymize(FRAME, **WORDS, unit="who", withhold=0.5)
    assert min(map(len, persons_by_group(release, FRAME["who"].to_list()).values())) >= 4


def test_a_column_named_rows_is_not_taken_for_the_word():
    frame = FRAME.rename({"who": "rows"})
    words = {**WORDS, "identifier": ["rows"]}
    for ask in (
        lambda: shoal.anonymize(frame, **words, unit="rows"),
        lambda: shoal.check_table(frame, quasi=["age"], k=4, unit="rows"),
        lambda: shoal.risk(frame, quasi=["age"], unit="rows"),
        lambda: shoal.attack(frame, FRAME, match={"age": "age"}, unit="rows"),
    ):
        with pytest.raises(shoal.PlanError, match="not clear which is meant"):
            ask()


def test_a_column_named_like_a_count_is_not_taken_for_the_word():
    frame = FRAME.with_columns(pl.lit(1).alias("n"), pl.lit(1).alias("persons(n)"))
    with pytest.raises(shoal.PlanError, match="not clear which is meant"):
        shoal.anonymize(frame, k=4, quasi=["age"], count="persons(n)")
    assert shoal.anonymize(frame, k=4, quasi=["age"], count="n").verdict.has_passed


def test_a_sampling_weight_is_no_count():
    survey = pl.DataFrame({"age": list(range(20, 60)), "weight": [900 + i for i in range(40)]})
    with pytest.raises(shoal.UncertainCount) as caught:
        shoal.anonymize(survey, k=5, quasi=["age"], count="weight")
    error = caught.value
    assert isinstance(error, shoal.DataError)
    assert (error.column, error.k, error.failing, error.classes) == ("weight", 5, 40, 40)
    assert "sampling weight is no count" in str(error)
    assert "persons(weight)" in str(error)
    # two rows of one face are two persons, whatever their weights
    twice = pl.concat([survey, survey])
    with pytest.raises(shoal.UncertainCount):
        shoal.anonymize(twice, k=5, quasi=["age"], count="weight")
    # rows are not persons either
    with pytest.raises(shoal.UncertainCount):
        shoal.anonymize(survey, k=5, quasi=["age"], count="weight", unit="rows")


def test_a_count_of_persons_may_fill_a_class():
    table = pl.DataFrame({"age": [20, 30, 31], "n": [9, 2, 4]})
    release = shoal.anonymize(table, k=5, quasi=["age"], count="persons(n)")
    assert release.verdict.has_passed
    assert release.verdict.persons.total == 15
    assert release.certificate.plan.count == "persons(n)"
    assert sorted(release.table["n"].to_list()) == [2, 4, 9]
    findings = shoal.verify(release.table, release.certificate, original=table)
    assert [finding.claim for finding in findings if finding.holds is False] == []


@pytest.mark.parametrize("weight", [2, 3, 4])
def test_a_weight_below_k_is_no_count_either(weight):
    survey = pl.DataFrame({"age": list(range(20, 60)), "weight": [weight] * 40})
    with pytest.raises(shoal.UncertainCount) as caught:
        shoal.anonymize(survey, k=5, quasi=["age"], count="weight")
    assert caught.value.fewest == -(-5 // weight)
    assert caught.value.failing > 0
    assert shoal.anonymize(survey, k=5, quasi=["age"], count="persons(weight)").verdict.has_passed


def test_a_count_without_which_k_holds_needs_no_word():
    table = pl.DataFrame({"age": [20] * 5 + [30] * 5, "n": [1, 1, 1, 1, 2] * 2})
    release = shoal.anonymize(table, k=5, quasi=["age"], count="n")
    assert release.verdict.has_passed
    assert release.verdict.persons is None


@pytest.mark.parametrize("count", ["persons()", "persons( )"])
def test_a_count_of_persons_names_its_column(count):
    with pytest.raises(shoal.PlanError, match="names no column"):
        shoal.Plan(k=2, quasi=["age"], count=count)


@pytest.mark.parametrize("words", [{"unit": 5}, {"count": ["n"]}])
def test_what_is_no_name_is_refused_everywhere(words):
    for ask in (
        lambda: shoal.Plan(k=2, quasi=["age"], **words),
        lambda: shoal.check_table(FRAME, quasi=["age"], **words),
        lambda: shoal.risk(FRAME, quasi=["age"], **words),
        lambda: shoal.attack(FRAME, FRAME, match={"age": "age"}, **words),
    ):
        with pytest.raises(shoal.PlanError, match="is not the name of one column"):
            ask()


def test_the_column_of_a_count_of_persons_has_one_role():
    with pytest.raises(shoal.PlanError, match="named as count and sensitive"):
        shoal.Plan(k=2, quasi=["age"], sensitive=["n"], count="persons(n)")


def test_compare_says_that_nobody_said_whom_to_count():
    comparison = shoal.compare(FRAME, **WORDS, methods=["mondrian"], ks=[4])
    (trial,) = comparison.trials
    assert "Say whom k counts" in trial.note
    assert trial.loss_percent is None
    (trial,) = shoal.compare(FRAME, **WORDS, unit="who", methods=["mondrian"], ks=[4]).trials
    assert trial.note == ""
