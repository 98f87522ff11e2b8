"""A wide table of invented people: 25 mixed quasi-identifiers, some of them with missing cells.

    python bench/make_wide.py OUT.csv [ROWS] [COLUMNS]

Nine numbers, three dates, six columns with a tree and seven labels. A person's age, means and home
shape the other columns, so that people alike in some are likelier alike in others. The trees are
written beside the table, one file per column: OUT.hierarchies/zip.csv and so on. The same rows for the
same number of rows, every time; of fewer columns some of every kind.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["DATES", "LABELS", "NUMBERS", "QUASI", "TREES", "columns_of", "make", "paths"]

SEED = 25
ROWS = 50_000
NUMBERS = ("age", "height", "weight", "income", "rent", "children", "hours", "commute", "visits")
DATES = ("admitted", "insured", "moved")
TREES = ("zip", "procedure", "occupation", "education", "country", "industry")
LABELS = ("sex", "marital", "blood", "language", "insurer", "smoker", "transport")
QUASI = (*NUMBERS, *DATES, *TREES, *LABELS)
MISSING = {
    "income": 0.08,
    "rent": 0.12,
    "commute": 0.05,
    "insured": 0.03,
    "moved": 0.1,
    "procedure": 0.06,
    "industry": 0.15,
    "blood": 0.2,
    "language": 0.02,
    "smoker": 0.04,
}
SIZES = {"zip": 800, "procedure": 300, "occupation": 60, "education": 16, "country": 60, "industry": 80}
STEPS = {
    "zip": (10, 100),
    "procedure": (5, 30),
    "occupation": (10,),
    "education": (4,),
    "country": (5, 20),
    "industry": (8, 40),
}
"""How many values stand together on each level of a tree."""

Codes = NDArray[np.int64]


def columns_of(many: int) -> tuple[str, ...]:
    """So many of the columns, of every kind as many as its part of all."""
    parts = [(at + 0.5) / len(kind) for kind in (NUMBERS, DATES, TREES, LABELS) for at in range(len(kind))]
    first = {QUASI[at] for at in np.argsort(parts, kind="stable")[:many]}
    return tuple(name for name in QUASI if name in first)


def names(column: str, size: int) -> list[str]:
    """The values of a column in order."""
    return [f"{column}-{number:03d}" for number in range(size)]


def paths(column: str) -> list[list[str]]:
    """A tree as one path per value, the value first."""
    values = names(column, SIZES[column])
    return [
        [value, *(f"{column}-{at // step}/{step}" for step in STEPS[column]), "*"]
        for at, value in enumerate(values)
    ]


def make(rows: int = ROWS) -> pl.DataFrame:
    """The table."""
    random = np.random.default_rng([SEED, rows])
    age = np.clip(random.gamma(6.0, 7.5, rows), 0, 99).astype(np.int64)
    means = random.normal(0, 1, rows)
    home = _skewed(random, 40, rows, 0.7)
    is_adult = age >= 18
    male = random.random(rows) < 0.49
    school = np.clip(np.round(7 + 2.5 * means + random.normal(0, 1.5, rows)), 0, 15).astype(np.int64)
    height = np.where(is_adult, 164 + 13 * male, 60 + 6 * age) + random.normal(0, 6, rows)
    numbers: dict[str, NDArray[np.floating] | Codes] = {
        "age": age,
        "height": height.astype(np.int64),
        "weight": np.clip((height / 100) ** 2 * random.normal(24, 3, rows), 3, 180).astype(np.int64),
        "income": np.where(
            is_adult, np.round(np.exp(10.1 + 0.5 * means + random.normal(0, 0.3, rows)), -2), 0
        ),
        "rent": np.round(np.exp(6.6 + 0.3 * means + 0.01 * home + random.normal(0, 0.2, rows)), -1),
        "children": np.where(is_adult, random.poisson(1.3, rows), 0),
        "hours": np.where(is_adult & (age < 67), np.clip(random.normal(36, 9, rows), 0, 80), 0).astype(int),
        "commute": np.round(random.gamma(2.0, 9.0 + 0.2 * home)).astype(np.int64),
        "visits": random.poisson(0.5 + age / 25),
    }
    days = {
        "admitted": random.integers(0, 730, rows),
        "insured": 730 - (random.beta(2, 3, rows) * age * 365).astype(np.int64),
        "moved": 730 - (random.exponential(2500, rows)).astype(np.int64) // 30 * 30,
    }
    trees = {
        "zip": home * 20 + _skewed(random, 20, rows, 0.9),
        "procedure": (age // 10 * 30 + _skewed(random, 60, rows, 1.1)) % 300,
        "occupation": np.clip(school * 3 + _skewed(random, 15, rows, 0.8), 0, 59),
        "education": school,
        "country": np.where(random.random(rows) < 0.8, 3, _skewed(random, 60, rows, 1.0)),
        "industry": (school * 4 + _skewed(random, 24, rows, 0.8)) % 80,
    }
    labels = {
        "sex": (male.astype(np.int64), 2),
        "marital": (np.where(age < 25, 0, _skewed(random, 5, rows, 0.8)), 5),
        "blood": (_skewed(random, 8, rows, 1.0), 8),
        "language": (np.where(trees["country"] == 3, 0, _skewed(random, 12, rows, 0.5)), 12),
        "insurer": ((home + _skewed(random, 9, rows, 1.2)) % 9, 9),
        "smoker": (_skewed(random, 3, rows, 1.0), 3),
        "transport": (_skewed(random, 5, rows, 0.9), 5),
    }
    columns = [pl.Series(name, values) for name, values in numbers.items()]
    first = np.datetime64("2024-01-01")
    columns += [pl.Series(name, first + values.astype("timedelta64[D]")) for name, values in days.items()]
    columns += [_text(name, codes, SIZES[name]) for name, codes in trees.items()]
    columns += [_text(name, codes, size) for name, (codes, size) in labels.items()]
    return pl.DataFrame([_with_gaps(column, random) for column in columns]).select(QUASI)


def _skewed(random: np.random.Generator, size: int, rows: int, steep: float) -> Codes:
    """Codes below `size`, the first ones commonest."""
    share = 1 / np.arange(1, size + 1) ** steep
    found: Codes = np.searchsorted(np.cumsum(share / share.sum())[:-1], random.random(rows)).astype(
        np.int64
    )
    return found


def _text(name: str, codes: Codes, size: int) -> pl.Series:
    return pl.Series(name, names(name, size), dtype=pl.String)[pl.Series(codes)].rename(name)


def _with_gaps(column: pl.Series, random: np.random.Generator) -> pl.Series:
    gaps = random.random(len(column)) < MISSING.get(column.name, 0.0)
    return pl.select(pl.when(~pl.lit(pl.Series(gaps))).then(pl.lit(column))).to_series().rename(column.name)


def write_trees(folder: Path, trees: Mapping[str, list[list[str]]]) -> None:
    """One file per tree, with comma and header."""
    folder.mkdir(exist_ok=True)
    for name, its in trees.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"level{level}" for level in range(len(its[0]))])
            writer.writerows(its)


def main(out: str, rows: int = ROWS, columns: int = len(QUASI)) -> None:
    """Write the table and its trees."""
    table = make(rows).select(columns_of(columns))
    table.write_csv(out)
    folder = Path(out).with_suffix(".hierarchies")
    write_trees(folder, {name: paths(name) for name in TREES if name in table.columns})
    empty = sum(table.null_count().row(0))
    print(f"{rows:,} rows of {table.width} columns, {table.n_unique():,} distinct, {empty:,} cells missing")


if __name__ == "__main__":
    main(sys.argv[1], *(int(float(word)) for word in sys.argv[2:4]))
