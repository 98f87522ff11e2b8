"""Near rows are asked for a bound once, in the unit of what is published."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.bound import loss

NUMBERS = ["a", "b", "c", "d"]
WORDS: dict[str, Any] = {"k": 3, "quasi": NUMBERS, "method": "crowd", "effort": "quick"}


def numbers(rows: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame({name: rng.permutation(1000)[:rows] for name in NUMBERS})


def with_gaps(*, hidden: bool) -> pl.DataFrame:
    """The cells of three rows are missing, which stand together; or the greatest of one column too."""
    gone = pl.int_range(pl.len()) < 3
    frame = numbers().with_columns(pl.when(~gone).then(pl.col(name)) for name in NUMBERS)
    odd = (pl.col("a") == pl.col("a").max()) & hidden
    return frame.with_columns(pl.when(odd).then(None).otherwise(pl.col("b")).alias("b"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whether a search for groups went before, whenever near rows are asked."""
    from shoal.run import anonymize

    calls: list[Any] = []
    around, improve = loss.prove_around, anonymize.improve
    monkeypatch.setattr(loss, "prove_around", lambda *its: calls.append("asked") or around(*its))
    monkeypatch.setattr(anonymize, "improve", lambda *its: calls.append("improved") or improve(*its))
    return calls


@pytest.mark.parametrize("hidden", [False, True])
def test_once_and_after_the_search_where_cells_may_be_hidden(asked: list[Any], hidden: bool) -> None:
    frame = with_gaps(hidden=hidden)
    release = shoal.anonymize(frame, **WORDS)
    assert asked == ["improved", "asked"]
    starred = any((release.table[name] == "*").any() for name in NUMBERS)
    assert starred is hidden  # so the unit is another, or is not
    assert release.certificate.bound_name == "in-turn"
    assert release.certificate.ratio is not None
    assert release.certificate.ratio < 3.0
    assert not any(one.holds is False for one in shoal.verify(release, original=frame))


def test_before_the_search_where_nothing_is_hidden(asked: list[Any]) -> None:
    shoal.anonymize(numbers(), **WORDS)
    assert asked == ["asked", "improved"]


def test_before_the_search_where_that_is_to_stop_at_a_ratio(asked: list[Any]) -> None:
    shoal.anonymize(with_gaps(hidden=False), **WORDS, stop_at=1.01)
    assert asked == ["asked", "improved"]
