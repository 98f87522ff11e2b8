"""What releases of Adult are good for: counts, queries and a model of salary-class.

    python bench/utility.py [K ...]
    python bench/utility.py --splits 4 [K ...]
    python bench/utility.py --made --splits 4 [K ...]

For each k (2, 5, 10 and 50 where none is named) the methods crowd, crowd with weights for the target, and
k-member, each beside mondrian and raw rows, from one original in one run. With `--splits` only models,
crowd with and without weights on the same rows held back, and what the weights gain with its standard
error; `--made` takes a made table whose target hangs on two of ten columns. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import adult
import shoal

TARGET = adult.SENSITIVE
NOISE = 8
"""Columns of the made table that say nothing about its target."""


def adult_words() -> tuple[pl.DataFrame, dict[str, Any]]:
    """Adult, and what is asked of it."""
    frame = pl.read_csv(adult.table_path(), infer_schema=False)
    trees = {
        name: tree
        for name, tree in shoal.read_hierarchies(adult.hierarchies_path(), only=adult.QUASI).items()
        if name not in adult.NUMBERS
    }
    kinds = dict.fromkeys(adult.NUMBERS, "number") | dict.fromkeys(trees, "tree")
    words = {"quasi": adult.QUASI, "sensitive": [TARGET], "hierarchies": trees, "kinds": kinds}
    return frame, words


def made_words(rows: int = 4000) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table in which two of ten columns say who is rich."""
    random = np.random.default_rng(1)
    age, years = random.integers(20, 80, rows), random.integers(8, 21, rows)
    chance = 1 / (1 + np.exp(-(0.06 * (age - 50) + 0.35 * (years - 14))))
    cells = {"age": age, "years": years}
    cells |= {f"other{at}": random.integers(0, 50, rows) for at in range(NOISE)}
    quasi = tuple(cells)
    frame = pl.DataFrame({**cells, TARGET: np.where(random.random(rows) < chance, "yes", "no")})
    return frame, {"quasi": quasi, "sensitive": [TARGET], "kinds": dict.fromkeys(quasi, "number")}


def measured(frame: pl.DataFrame, words: dict[str, Any], *, seed: int = 0) -> shoal.Utility:
    """The utility of a release of the whole table, which is written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        files = shoal.anonymize(frame, **words, unit="rows").write(Path(folder) / "out.csv")
        trees = words.get("hierarchies", {})
        return shoal.utility(files.table, frame, hierarchies=trees, target=TARGET, seed=seed)


def show_methods(frame: pl.DataFrame, words: dict[str, Any], ks: list[int]) -> None:
    """A line for each k and method."""
    weights = shoal.weights_for(frame, TARGET, quasi=words["quasi"], kinds=words["kinds"])
    print("weights for", TARGET, weights)
    print(
        "k    release        pairs    queries  AUC      right    (mondrian: pairs, queries, AUC; raw: AUC)"
    )
    for k in ks:
        for name, more in (
            ("crowd", {}),
            ("crowd --for", {"weights": weights}),
            ("k-member", {"method": "k-member"}),
        ):
            found = measured(frame, {**words, **more, "k": k})
            ours, other = found.tables
            model = {one.trained_on: one for one in found.learned}
            mine = model[ours.name]
            figures = f"{ours.pairs:7.2%}  {ours.query_error:7.2%}  {mine.auc:.4f}  {mine.accuracy:.2%}"
            beside = f"{other.pairs:7.2%} {other.query_error:7.2%} {model['mondrian'].auc:.4f}"
            print(f"{k:<4} {name:<13}  {figures}   {beside}  {model['raw'].auc:.4f}", flush=True)


def show_splits(frame: pl.DataFrame, words: dict[str, Any], ks: list[int], splits: int) -> None:
    """What the weights gain, on several splits of the rows."""
    weights = shoal.weights_for(frame, TARGET, quasi=words["quasi"], kinds=words["kinds"])
    print("weights for", TARGET, weights)
    for k in ks:
        gains, aucs = [], []
        for seed in range(splits):
            pair = []
            for more in ({}, {"weights": weights}):
                asked = {**words, **more, "k": k, "effort": "quick", "seed": seed}
                learned = {one.trained_on: one for one in measured(frame, asked, seed=seed).learned}
                pair.append(learned["crowd"].auc or 0.0)
            gains.append(pair[1] - pair[0])
            aucs.append((learned["raw"].auc or 0.0, *pair))
        raw, without, with_them = (statistics.mean(column) for column in zip(*aucs, strict=True))
        error = statistics.stdev(gains) / math.sqrt(splits) if splits > 1 else math.nan
        print(
            f"k = {k}: AUC raw {raw:.4f}, crowd {without:.4f}, crowd --for {with_them:.4f}; gained "
            f"{statistics.mean(gains):+.4f}, standard error {error:.4f} ({splits} splits)",
            flush=True,
        )


def main() -> None:
    """Measure what was asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asked.add_argument("ks", nargs="*", type=int)
    asked.add_argument("--splits", type=int, default=0)
    asked.add_argument("--made", action="store_true")
    given = asked.parse_args()
    frame, words = made_words() if given.made else adult_words()
    ks = given.ks or [2, 5, 10, 50]
    if given.splits:
        show_splits(frame, words, ks, given.splits)
    else:
        show_methods(frame, words, ks)


if __name__ == "__main__":
    main()
