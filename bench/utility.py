"""What releases of Adult are good for: counts, queries and a model of salary-class.

    python bench/utility.py [K ...]

For each k (2, 5, 10 and 50 where none is named) the methods crowd, crowd with weights for the target, and
k-member, each beside mondrian and raw rows, from one original in one run. Needs scikit-learn.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import polars as pl

import adult
import shoal

TARGET = adult.SENSITIVE


def main(ks: list[int]) -> None:
    """Print a line for each k and method."""
    frame = pl.read_csv(adult.table_path(), infer_schema=False)
    trees = {
        name: tree
        for name, tree in shoal.read_hierarchies(adult.hierarchies_path(), only=adult.QUASI).items()
        if name not in adult.NUMBERS
    }
    kinds = dict.fromkeys(adult.NUMBERS, "number") | dict.fromkeys(trees, "tree")
    weights = shoal.weights_for(frame, TARGET, quasi=adult.QUASI, kinds=kinds)
    print("weights for", TARGET, weights)
    print(
        "k    release        pairs    queries  AUC      right    (mondrian: pairs, queries, AUC; raw: AUC)"
    )
    for k in ks:
        for name, words in (
            ("crowd", {}),
            ("crowd --for", {"weights": weights}),
            ("k-member", {"method": "k-member"}),
        ):
            asked = {
                "k": k,
                "quasi": adult.QUASI,
                "sensitive": [TARGET],
                "hierarchies": trees,
                "kinds": kinds,
            }
            with tempfile.TemporaryDirectory() as folder:
                files = shoal.anonymize(frame, **asked, **words).write(Path(folder) / "out.csv")
                found = shoal.utility(files.table, frame, hierarchies=trees, target=TARGET)
            ours, other = found.tables
            model = {one.trained_on: one for one in found.learned}
            mine = model[found.tables[0].name]
            figures = f"{ours.pairs:7.2%}  {ours.query_error:7.2%}  {mine.auc:.4f}  {mine.accuracy:.2%}"
            beside = f"{other.pairs:7.2%} {other.query_error:7.2%} {model['mondrian'].auc:.4f}"
            print(f"{k:<4} {name:<13}  {figures}   {beside}  {model['raw'].auc:.4f}", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [2, 5, 10, 50])
