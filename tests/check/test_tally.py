"""Classes that are counted in several places and joined."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.check.judge import judge
from shoal.check.passing import RECORDS, ValuesThere
from shoal.check.tally import JudgedClasses
from shoal.encode import encode
from shoal.model.plan import Plan
from shoal.model.verdict import Verdict

QUASI = list(mixed_words()["quasi"])
RULES = ("ill: 2-diverse", "ill: at most 80%", "ill: 0.9-close")


def judged_in(places: int, *, rules: tuple[str, ...] = RULES, k: int = 4) -> tuple[Verdict, Verdict]:
    """What is found where classes are counted in so many places, and where all are in memory."""
    frame = mixed_table(500, missing=0.1)
    plan = Plan(**mixed_words(rules=rules))
    table = shoal.anonymize(frame, replace(plan, method="mondrian")).table
    plan = replace(plan, k=k)
    columns = encode(frame, plan).columns
    spreads = {"ill": ValuesThere.of(lambda names: iter([table.select(names)]), "ill", None)}
    counted = table.group_by([*QUASI, "ill"]).len(RECORDS).cast({RECORDS: pl.Int64})
    sent = counted.select(QUASI).hash_rows().to_numpy() % places
    whole = JudgedClasses(plan, columns, {}, {})
    for place in range(places):
        tally = JudgedClasses(plan, columns, spreads, {})
        some = counted.filter(pl.Series(sent == place)).sort(QUASI)
        if some.height:
            tally.add(some, QUASI)
        whole.join(pickle.loads(pickle.dumps(tally.counted)))
    found = whole.verdict(table.columns, withheld=0)
    return found, judge(table, plan, columns, withheld=0)


@pytest.mark.parametrize("places", [1, 3, 300])
def test_classes_counted_in_many_places_are_judged_as_in_one(places: int) -> None:
    found, known = judged_in(places)
    for name in (
        "records",
        "classes",
        "smallest_class",
        "largest_class",
        "discernibility",
        "reasons",
        "sizes",
    ):
        assert getattr(found, name) == getattr(known, name), name
    assert found.loss == pytest.approx(known.loss)
    assert found.entropy == pytest.approx(known.entropy)
    assert [one.told_apart for one in found.columns] == pytest.approx(
        [one.told_apart for one in known.columns]
    )
    assert [one.holds for one in found.rules] == [one.holds for one in known.rules]
    assert [one.measured for one in found.rules] == pytest.approx([one.measured for one in known.rules])
    for one, other in zip(found.sensitive, known.sensitive, strict=True):
        assert one.distinct == other.distinct
        measured = [one.entropy, one.recursive, one.largest_share, one.closeness_equal]
        assert measured == pytest.approx(
            [other.entropy, other.recursive, other.largest_share, other.closeness_equal]
        )


def test_what_fails_in_one_place_fails_in_all() -> None:
    found, known = judged_in(7, rules=("ill: 4-diverse",), k=6)
    assert not found.has_passed
    assert found.reasons == known.reasons
    assert found.rules[0].failing == known.rules[0].failing
    assert np.isfinite(found.loss or np.nan)
