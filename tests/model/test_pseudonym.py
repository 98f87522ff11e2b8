"""Pseudonyms: HMAC of an identifier's text, and texts that are alike wherever a person is the same."""

from __future__ import annotations

import hashlib
import hmac
import pickle
from decimal import Decimal

import polars as pl
import pytest

from shoal.errors import DataError
from shoal.model.pseudonym import PSEUDONYM, Key, identifiers_of
from silent import said_by

SECRET = bytes(range(100, 132))


def test_a_pseudonym_is_half_of_the_hmac_of_the_text():
    ids = ["7", "Zoë", "a b"]
    made = Key(SECRET).pseudonyms(pl.Series("who", ids))
    expected = [hmac.new(SECRET, text.encode(), hashlib.sha256).hexdigest()[:32] for text in ids]
    assert made.to_list() == [f"p{digits}" for digits in expected]
    assert made.name == "who"
    assert made.str.contains(PSEUDONYM).all()


def test_other_keys_give_unrelated_pseudonyms():
    ids = pl.Series([str(i) for i in range(500)])
    one, other = (set(Key.new().pseudonyms(ids).to_list()) for _ in range(2))
    assert len(one) == len(other) == 500
    assert not one & other
    same = Key(SECRET).pseudonyms(ids).to_list()
    assert same == Key(SECRET).pseudonyms(ids).to_list()
    assert sorted(same) != same  # their order is not that of the identifiers


SAME = [
    pl.Series([1, 22, None]),
    pl.Series([1, 22, None], dtype=pl.UInt8),
    pl.Series([1.0, 22.0, float("nan")]),
    pl.Series([1.0, 22.0, None], dtype=pl.Float32),
    pl.Series([Decimal("1.00"), Decimal("22"), None]),
    pl.Series(["1", "22", ""]),
    pl.Series([" 1", "22\t", "  "]),
    pl.Series(["1.0", "22.00", None]),
    pl.Series(["1", "22", None], dtype=pl.Categorical),
    pl.Series(["1", "22", None], dtype=pl.Enum(["22", "1"])),
]


@pytest.mark.parametrize("series", SAME, ids=lambda one: f"{one.dtype.base_type().__name__}{len(one[:1])}")
def test_an_identifier_is_the_same_in_every_type(series):
    assert identifiers_of(series).to_list() == ["1", "22", None]


def test_texts_are_the_same_however_accents_are_composed_and_different_by_zeros_before():
    composed, apart = "\u00eb", "e\u0308"
    assert identifiers_of(pl.Series([composed, apart])).n_unique() == 1
    assert identifiers_of(pl.Series(["7", "07", "7.5", "7.0.0", "x7.0", "seven"])).n_unique() == 6
    large = pl.Series([Decimal("123456789012345678901234567890")])
    assert identifiers_of(large).to_list() == ["123456789012345678901234567890"]


def test_missing_marks_are_no_identifiers():
    assert identifiers_of(pl.Series(["?", "1"]), ("?",)).to_list() == [None, "1"]
    assert identifiers_of(pl.Series([-9, 1]), ("-9",)).to_list() == [None, "1"]
    assert identifiers_of(pl.Series([None, None])).to_list() == [None, None]


@pytest.mark.parametrize(
    "series",
    [
        pl.Series("who", [271828.5]),
        pl.Series("who", [2.0**60]),
        pl.Series("who", [271_828_182.0], dtype=pl.Float32),
        pl.Series("who", [float("inf")]),
        pl.Series("who", [Decimal("271828.50")]),
        pl.Series("who", [True]),
        pl.Series("who", [[271828]]),
        pl.Series("who", ["2001-01-01"]).str.to_date(),
        pl.Series("who", [b"271828"]),
    ],
    ids=lambda one: str(one.dtype),
)
def test_what_names_nobody_is_refused_without_a_cell(series):
    with pytest.raises(DataError, match=r"names? nobody") as caught:
        identifiers_of(series)
    said_by(caught.value, "271828", "2001")
    assert caught.value.column == "who"


@pytest.mark.parametrize("secret", [b"", b"a" * 64, bytes(64), bytes(range(31))])
def test_a_short_or_plain_key_is_none(secret):
    with pytest.raises(ValueError, match="short"):
        Key(secret)


def test_a_key_is_neither_shown_nor_pickled():
    key = Key.new()
    text = key.to_text()
    assert len(text) == 65
    assert text[:8] not in f"{key} {key!r} {[key]} {key!s}"
    assert not hasattr(key, "__dict__")
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)
    again = Key.of_text(text)
    ids = pl.Series(["a"])
    assert again.pseudonyms(ids).to_list() == key.pseudonyms(ids).to_list()
    for other in (text[:60], f"{text}{text}", f" {text}", "x" * 64, ""):
        with pytest.raises(ValueError, match=r"digits|short"):
            Key.of_text(other)
