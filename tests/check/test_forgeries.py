"""Sixty-odd forgeries: what is caught, with what in hand, and by which claim.

Each is tried four ways: with the release and certificate alone (a), with the original (o), with the receipt
(r), with both (b). `caught` names the ways in which some claim fails, and `claim` one that does. What no
way catches is named in docs/verify.md, under the same name.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from forging import (
    PLANS,
    Case,
    Forgery,
    all_of,
    better_bound,
    cells,
    claim_rule,
    column,
    fewer_groups_allowed,
    field,
    frame_for,
    fresh_receipt,
    keeper,
    lookup,
    lookup_and_mark,
    measured,
    more_withheld_allowed,
    narrow,
    other_people,
    plan_rule,
    planned,
    smaller_value,
    swap_between_classes,
    swap_within_a_class,
    unsealed,
    ways,
    with_ten_more,
    without,
)

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Any]:
    """Every plan's honest files."""
    found = {}
    for plan, words in PLANS.items():
        folder = tmp_path_factory.mktemp(plan)
        release = shoal.anonymize(frame_for(plan), **words)
        files = release.write(folder / "out.csv")
        found[plan] = (
            shoal.read_table(files.table).frame,
            json.loads(files.certificate.read_text()),
            json.loads(files.receipt.read_text()),
            dict(release.lookups),
        )
    return found


RELEASE = [
    Forgery("a row is lost", unsealed(cells(lambda t: t[1:])), "aorb", "release"),
    Forgery("a row is lost, fingerprint fitted", cells(lambda t: t[1:]), "aorb", "published"),
    Forgery("a row is doubled", cells(lambda t: pl.concat([t, t[:1]])), "aorb", "published"),
    Forgery("a row is lost and another doubled", cells(lambda t: pl.concat([t[:-1], t[:1]])), "aorb", "k"),
    Forgery(
        "an illness is invented",
        cells(lambda t: t.with_columns(ill=pl.lit("rare"))),
        "aorb",
        "rule ill: 2-diverse",
    ),
    Forgery(
        "one illness is changed",
        cells(lambda t: t.with_columns(pl.Series("ill", ["rare", *t["ill"][1:]]))),
        "orb",
        "values of ill",
    ),
    Forgery("values swapped between classes", cells(swap_between_classes), "orb", "rows"),
    Forgery("a cell made narrower", cells(narrow), "aorb", "loss of born"),
    Forgery("a column is added", cells(lambda t: t.with_row_index("line")), "aorb", "columns"),
    Forgery("a column is dropped", cells(lambda t: t.drop("word")), "aorb", "columns"),
    Forgery("a column is renamed", cells(lambda t: t.rename({"word": "name"})), "aorb", "columns"),
    Forgery(
        "a cell is starred",
        cells(lambda t: t.with_columns(pl.Series("born", ["*", *t["born"][1:]]))),
        "aorb",
        "k",
    ),
    Forgery("rows in another order", unsealed(cells(swap_within_a_class)), "aorb", "release"),
    Forgery(
        "kept values changed", cells(lambda t: t.with_columns(cost=pl.lit("1.5"))), "orb", "values of cost"
    ),
    Forgery("a lookup table is changed", lookup, "aorb", "lookup of zip", "ids"),
    Forgery("a lookup table and its mark are changed", lookup_and_mark, "orb", "rows", "ids"),
]
CERTIFICATE = [
    Forgery("k raised", all_of(field("k", lambda k: k + 1), planned("k", lambda k: k + 1)), "aorb", "k"),
    Forgery("k raised in one place", field("k", lambda k: k + 1), "aorb", "plan"),
    Forgery("k of one", all_of(field("k", lambda k: 1), planned("k", lambda k: 1)), "aorb", "k"),
    Forgery("more classes", field("classes", lambda n: n + 1), "aorb", "classes"),
    Forgery("a larger smallest class", field("smallest_class", lambda n: n + 1), "aorb", "smallest_class"),
    Forgery("a larger mean class", field("mean_class", lambda n: 2 * n), "aorb", "mean_class"),
    Forgery("more records", field("records", lambda n: n + 1), "aorb", "records"),
    Forgery(
        "rows withheld that nobody has",
        all_of(field("records", lambda n: n + 5), field("withheld", lambda n: n + 5)),
        "aorb",
        "withheld",
    ),
    Forgery(
        "rows withheld that nobody has, and allowed",
        all_of(
            field("records", lambda n: n + 5),
            field("withheld", lambda n: n + 5),
            planned("withhold", lambda share: 0.5),
        ),
        "aorb",
        "loss of age",
    ),
    Forgery("less loss", field("loss", lambda x: x * 0.9), "orb", "loss"),
    Forgery("less loss in per cent", field("loss_percent", lambda x: x * 0.9), "orb", "loss_percent"),
    Forgery("less loss of a column", column(0, "loss", lambda x: x * 0.9), "aorb", "loss of age"),
    Forgery("another denominator", column(0, "denominator", lambda x: x * 1.5), "aorb", "loss of age"),
    Forgery(
        "another denominator of a tree", column(2, "denominator", lambda x: 9.0), "aorb", "loss of code"
    ),
    Forgery("another weight", column(0, "weight", lambda x: 1.0), "aorb", "loss of age"),
    Forgery(
        "another weight, planned",
        all_of(column(0, "weight", lambda x: 1.0), planned("weights", lambda x: {})),
        "orb",
        "loss",
    ),
    Forgery("a column unsaid", field("columns", lambda c: c[1:]), "aorb", "loss of age"),
    Forgery("a smaller value", field("value", lambda x: x * 0.9), "aorb", "ratio"),
    Forgery("a smaller value with its ratio", smaller_value, "orb", "value"),
    Forgery("a bound too good", better_bound, "orb", "bound"),
    Forgery("a bound above the value", field("bound", lambda x: x * 10), "aorb", "ratio"),
    Forgery("a better ratio", field("ratio", lambda x: 1.0), "aorb", "ratio"),
    Forgery("a bound of an unknown name", field("bound_name", lambda x: "magic"), "aorb", "bound"),
    Forgery("a bound of another objective", field("bound_name", lambda x: "reach"), "aorb", "bound"),
    Forgery("a bound for fewer groups than asked", keeper(fewer_groups_allowed), "b", "bound", "centre"),
    Forgery("a bound for no withheld row", more_withheld_allowed, "orb", "bound", "centre"),
    Forgery("a rule that the plan lacks", claim_rule, "aorb", "plan"),
    Forgery("a rule that does not hold", plan_rule, "aorb", "rule ill: 9-diverse"),
    Forgery("a better measure of a rule", measured(3.0), "aorb", "rule ill: 2-diverse"),
    Forgery("a rule unsaid", field("rules", lambda r: []), "aorb", "rule ill: 2-diverse"),
    Forgery("a factor that nothing proves", field("factor", lambda x: 1.0), "aorb", "factor"),
    Forgery("a factor below every proof", field("factor", lambda x: 1.0), "aorb", "factor", "suppressed"),
    Forgery(
        "another factor of the run", field("factor", lambda x: 2 * x), "rb", "certificate", "suppressed"
    ),
    Forgery("another objective", field("objective", lambda x: "radius"), "aorb", "objective"),
    Forgery(
        "another method",
        all_of(field("method", lambda m: "mondrian"), planned("method", lambda m: "mondrian")),
        "rb",
        "certificate",
    ),
    Forgery(
        "an unknown method",
        all_of(field("method", lambda m: "best"), planned("method", lambda m: "best")),
        "aorb",
        "method",
    ),
    Forgery("another style", field("style", lambda x: "means"), "aorb", "plan"),
    Forgery("another seed", field("seed", lambda x: 7), "aorb", "plan"),
    Forgery(
        "another seed, planned",
        all_of(field("seed", lambda x: 7), planned("seed", lambda x: 7)),
        "rb",
        "certificate",
    ),
    Forgery("another effort", planned("effort", lambda x: "thorough"), "rb", "certificate"),
    Forgery("fewer identifiers dropped", planned("identifier", lambda x: []), "rb", "certificate"),
    Forgery("another version of Shoal", field("shoal", lambda x: "9.9"), "rb", "certificate"),
    Forgery("a newer version of the format", field("version", lambda x: "2.9"), "rb", "certificate"),
    Forgery(
        "a promise of a newer Shoal",
        all_of(field("version", lambda x: "2.9"), lambda case: case.said.__setitem__("safe", True)),
        "rb",
        "certificate",
    ),
    Forgery(
        "a promise that Shoal does not make",
        lambda case: case.said.__setitem__("safe", True),
        "aorb",
        "fields",
    ),
    Forgery(
        "a promise in the plan", lambda case: case.said["plan"].__setitem__("epsilon", 1), "aorb", "fields"
    ),
    Forgery(
        "a figure that Shoal does not write",
        lambda case: case.said["more"].__setitem__("risk", 0.0),
        "aorb",
        "fields",
    ),
    Forgery("no fingerprint of the release", unsealed(without("release")), "aorb", "release"),
    Forgery(
        "another fingerprint of the release",
        unsealed(field("release", lambda x: "0" * 64)),
        "aorb",
        "release",
    ),
    Forgery("no fingerprint of the original", without("original"), "orb", "original"),
    Forgery(
        "another fingerprint of the original", field("original", lambda x: "0" * 64), "rb", "certificate"
    ),
    Forgery(
        "another hierarchy",
        planned("hierarchies", lambda x: {**x, "code": "0" * 64}),
        "rb",
        "hierarchy of code",
    ),
    Forgery(
        "another builder",
        planned("hierarchies", lambda x: {**x, "zip": "prefixes(4, 2)"}),
        "orb",
        "loss of zip",
    ),
    Forgery(
        "less squares", lambda case: case.said["more"].__setitem__("sse", 0.0), "rb", "figures", "means"
    ),
    Forgery("a smaller radius", smaller_value, "rb", "figures", "centre"),
    Forgery("no persons counted", field("rules", lambda r: []), "aorb", "k of name", "persons"),
    Forgery("a receipt of another release", fresh_receipt, "rb", "hierarchy of code"),
]
BOTH = [
    Forgery("a table without ten persons", other_people(lambda f: f[10:]), "orb", "original records"),
    Forgery("a table with ten invented persons", other_people(with_ten_more), "orb", "rows"),
    Forgery(
        "everybody two years older",
        other_people(lambda f: f.with_columns(pl.col("age") + 2)),
        "orb",
        "rows",
    ),
    Forgery(
        "another illness for one",
        other_people(lambda f: f.with_columns(pl.Series("ill", ["pox", *f["ill"][1:]]))),
        "orb",
        "rows",
    ),
    Forgery(
        "illnesses dealt anew",
        other_people(lambda f: f.with_columns(pl.col("ill").shuffle(seed=1))),
        "orb",
        "rows",
    ),
    Forgery("a release of a weaker plan", other_people(lambda f: f, k=2), "rb", "certificate"),
    Forgery("a release without the rule", other_people(lambda f: f, rules=[]), "rb", "certificate"),
]
UNCAUGHT = [
    Forgery(
        "the keeper says another seed",
        keeper(all_of(field("seed", lambda x: 7), planned("seed", lambda x: 7))),
        "",
    ),
    Forgery("the keeper says more effort", keeper(planned("effort", lambda x: "thorough")), ""),
    Forgery("the keeper hides an identifier's name", keeper(planned("identifier", lambda x: [])), ""),
    Forgery(
        "the keeper says another factor", keeper(field("factor", lambda x: 2 * x)), "", plan="suppressed"
    ),
]


def test_there_are_sixty_of_them():
    forgeries = [*RELEASE, *CERTIFICATE, *BOTH, *UNCAUGHT]
    assert len(forgeries) >= 60
    assert len({forgery.name for forgery in forgeries}) == len(forgeries)


@pytest.mark.parametrize("plan", PLANS)
def test_the_honest_files_are_not_denied(made, plan, tmp_path):
    case = Case(*copy.deepcopy(made[plan]), plan)
    for found in ways(case, tmp_path).values():
        assert False not in found.values(), found


@pytest.mark.parametrize("forgery", [*RELEASE, *CERTIFICATE, *BOTH, *UNCAUGHT], ids=lambda one: one.name)
def test_a_forgery_is_caught_by_what_is_said(made, forgery, tmp_path):
    case = Case(*copy.deepcopy(made[forgery.plan]), forgery.plan)
    forgery.change(case)
    found = ways(case, tmp_path)
    caught = "".join(way for way, claims in found.items() if False in claims.values())
    failed = {
        way: [claim for claim, holds in claims.items() if holds is False] for way, claims in found.items()
    }
    assert caught == forgery.caught, failed
    assert not caught or any(forgery.claim in claims for claims in failed.values()), failed


def test_what_cannot_be_caught_is_named_in_the_docs():
    page = (DOCS / "verify.md").read_text(encoding="utf-8")
    for forgery in UNCAUGHT:
        assert forgery.name in page
