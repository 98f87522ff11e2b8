"""Rules that cannot be obeyed, or not read from the table, are refused with figures and without values."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from ruled_tables import PATHS
from shoal.errors import DataError
from shoal.model.hierarchy import Hierarchy


def test_the_error_has_figures_and_no_values() -> None:
    canary = "Zyxwvut73"
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5], "illness": [canary] * 4 + ["b"]})
    words: dict[str, Any] = {"k": 2, "quasi": "age", "sensitive": "illness"}
    for rule, figures in (
        ("illness: 3-diverse", "5 rows hold 2 different values"),
        ("illness: entropy 2-diverse", "that of 1.649 equally frequent values"),
        ("illness: (2, 2)-diverse", "in 4 of 5 rows, and all but the 1 commonest in 1"),
        ("illness: at most 50%", r"in 4 of 5 rows \(80 %\)"),
    ):
        with pytest.raises(DataError, match=figures) as caught:
            shoal.anonymize(frame, **words, rules=rule)
        assert canary not in str(caught.value)


def test_an_ordered_rule_needs_an_order() -> None:
    frame = pl.DataFrame({"age": [1, 2], "illness": ["a", "b"]})
    with pytest.raises(DataError, match="neither numbers nor dates"):
        shoal.anonymize(frame, k=2, quasi="age", sensitive="illness", rules="illness: ordered 0.2-close")


def test_a_hierarchy_must_know_every_value() -> None:
    frame = pl.DataFrame({"age": [1, 2], "illness": ["flu", "gout"]})
    with pytest.raises(DataError, match="1 of 2 cells whose value is not in its hierarchy"):
        shoal.anonymize(
            frame,
            k=2,
            quasi="age",
            sensitive="illness",
            rules="illness: 0.2-close by hierarchy",
            hierarchies={"illness": Hierarchy.of_paths(PATHS)},
        )
