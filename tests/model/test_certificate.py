"""A certificate says no more than the release does: three digits, salted fingerprints, nothing private."""

from __future__ import annotations

import json
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.model.figures import is_rounded_up, round_down, round_up, shown_bound, shown_ratio
from shoal.model.hierarchy import Hierarchy, prefixes

TREE = Hierarchy.of_paths([("a", "x"), ("b", "x"), ("c", "y")])
FRAME = pl.DataFrame(
    {
        "who": [f"p{i}" for i in range(30)],
        "age": [(i * 7) % 29 for i in range(30)],
        "code": ["abc"[(i * i) % 3] for i in range(30)],
        "zip": [f"{(i * 13) % 40:05d}" for i in range(30)],
        "ill": [["flu", "?"][i % 2] for i in range(30)],
    }
)
WORDS = {
    "k": 3,
    "quasi": ["age", "code", "zip"],
    "sensitive": ["ill"],
    "identifier": ["who"],
    "hierarchies": {"code": TREE, "zip": prefixes(4, 3)},
    "missing": ["?"],
}


def digits(figure: float) -> int:
    return len(Decimal(repr(figure)).normalize().as_tuple().digits)


@pytest.mark.parametrize("more", [{}, {"method": "gather"}, {"style": "means"}, {"unit": "who"}])
def test_no_figure_tells_more_than_its_digits(tmp_path, more):
    release = shoal.anonymize(FRAME, **{**WORDS, **more})
    files = release.write(tmp_path / "out.csv")
    said = json.loads(files.certificate.read_text())
    figures = [said[name] for name in ("value", "bound", "loss", "loss_percent", "factor")]
    figures += [column["loss"] for column in said["columns"]]
    figures += [said["more"].get(name) for name in ("sse", "sst", "sse_share")]
    assert all(digits(figure) <= 3 for figure in figures if figure is not None)
    assert said["ratio"] is None or digits(said["ratio"]) <= 4
    assert not {"steps", "bound_parameters", "figures", "salt"} & said.keys()
    # persons are in no release: that k of them stand in each class is all there is to say
    assert [rule["measured"] for rule in said["rules"]] == ([None] if "unit" in more else [])
    exact = release.receipt.figures
    assert said["value"] >= exact.value * (1 - 1e-9)
    assert exact.bound is None or said["bound"] <= exact.value * (1 + 1e-9)


def test_what_may_come_from_the_data_has_a_salted_fingerprint():
    one, other = (shoal.anonymize(FRAME, **WORDS) for _ in range(2))
    plans = [release.certificate.plan for release in (one, other)]
    for name in ("hierarchies", "missing"):
        assert getattr(plans[0], name) != getattr(plans[1], name)
    assert plans[0].hierarchies["zip"] == plans[1].hierarchies["zip"] == prefixes(4, 3).text
    assert TREE.fingerprint not in one.certificate.to_json()
    assert plans[0].hierarchies["code"] == one.receipt.mark(TREE.fingerprint)


def test_the_exact_figures_are_in_the_receipt_alone(tmp_path):
    release = shoal.anonymize(FRAME, **WORDS)
    files = release.write(tmp_path / "out.csv")
    exact = release.receipt.figures
    assert json.loads(files.receipt.read_text())["figures"]["value"] == exact.value
    assert repr(exact.value) not in files.certificate.read_text()
    assert repr(exact.value) not in " ".join(release.in_words())
    assert (
        shoal.Certificate.of_json(files.certificate.read_text()).digest
        == (json.loads(files.receipt.read_text())["certificate"])
    )


figure = st.floats(1e-12, 1e12, allow_nan=False)


@given(figure)
def test_rounding_goes_one_way_and_not_far(exact):
    up, down = round_up(exact), round_down(exact)
    assert down <= exact <= up * (1 + 2e-9)
    assert up <= exact * 1.0101
    assert down >= exact / 1.0101
    assert digits(up) <= 3
    assert digits(down) <= 3
    assert round_up(up) == up
    assert round_down(down) == down
    assert is_rounded_up(up, exact)


@given(figure, st.floats(0.01, 1.0))
def test_a_ratio_promises_no_more_than_the_exact_one(value, share):
    bound = value * share
    ratio = shown_ratio(value, bound)
    assert ratio is not None
    assert ratio >= value / bound * (1 - 1e-7)
    assert shown_bound(value, bound) <= value * (1 + 2e-9)
    assert ratio <= value / bound * 1.03


@pytest.mark.parametrize("bound", [2.6e-318, 5e-324, 1e-308, 1e-300])
def test_a_ratio_is_a_number_or_unknown(bound):
    """A bound far below the value: what no number can say is not written as infinity."""
    ratio = shown_ratio(8.0, bound)
    assert ratio is None or ratio < 1e301
    json.dumps(ratio, allow_nan=False)
