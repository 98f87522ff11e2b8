"""Rules and units hold in the release of every method, judged by plain Python."""

from __future__ import annotations

import random

import pytest

import shoal
from naive_rules import classes
from ruled_tables import RULES, TOLD, assert_obeyed, obeys, table_of, with_rules
from shoal.errors import DataError
from shoal.group import METHODS
from test_every_method import k_of

every_method = pytest.mark.parametrize("method", METHODS)


def assert_rules_hold(method: str, seed: int, sets: list[tuple[str, ...]], unit: str | None = None) -> None:
    """For each set of rules: they hold in the release, or the whole table as one class breaks one."""
    luck = random.Random(seed)
    k = k_of(method, luck.randint(2, 4))
    frame, words = table_of(method, luck.randint(k, 40), seed)
    everyone = frame.to_dicts()
    for rules in sets:
        possible = all(obeys(everyone, everyone, rule) for rule in rules)
        asked = {**with_rules(words, rules), "k": k, "unit": unit}
        if not possible or (unit is not None and frame[unit].n_unique() < k):
            with pytest.raises(DataError, match=r"No release can obey|the whole table has"):
                shoal.anonymize(frame, **asked)
            continue
        release = shoal.anonymize(frame, **asked)
        assert release.verdict.has_passed, release.verdict.reasons
        assert release.certificate.factor is None
        said = [ruling.rule for ruling in release.certificate.rules]
        assert said == [*rules, *([f"who: at least {k} in every class"] if unit else [])]
        published = release.table.to_dicts()
        assert "who" not in release.table.columns
        told = ["illness", "cost"]
        if unit is not None:
            # every published row came from its source: same values, and k persons stand in each class
            source = release.groups.source
            assert sorted(source) == list(range(frame.height))
            behind = frame[source].to_dicts()
            for row, from_ in zip(published, behind, strict=True):
                assert [row[name] for name in told] == [from_[name] for name in told]
                row["who"] = from_["who"]
            faces = [name for name in release.table.columns if name not in TOLD]
            for its in classes(published, faces):
                assert len({row["who"] for row in its}) >= k
        for name in told:
            before, after = (sorted(repr(row[name]) for row in rows) for rows in (everyone, published))
            assert before == after
        assert_obeyed(published, rules, k)


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_rules_hold_or_the_whole_table_breaks_them(method: str, seed: int) -> None:
    luck = random.Random(seed)
    assert_rules_hold(
        method, seed, [(rule,) for rule in luck.sample(RULES, 4)] + [tuple(luck.sample(RULES, 3))]
    )


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_k_counts_persons_where_a_unit_is_named(method: str, seed: int) -> None:
    assert_rules_hold(method, seed, [()], unit="who")


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("seed", range(3, 15))
def test_every_rule_holds_or_the_whole_table_breaks_it(method: str, seed: int) -> None:
    some = tuple(random.Random(seed).sample(RULES, 3))
    assert_rules_hold(method, seed, [*((rule,) for rule in RULES), some])


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("seed", range(3, 9))
def test_rules_and_persons_hold_together_or_the_whole_table_breaks_them(method: str, seed: int) -> None:
    luck = random.Random(seed)
    sets = [(), *(tuple(luck.sample(RULES, many)) for many in (1, 1, 2))]
    assert_rules_hold(method, seed, sets, unit="who")
