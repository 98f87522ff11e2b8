"""Adult, resampled: 1,000,000 rows with about 75,000 distinct tuples of the 8 quasi-identifiers.

    python bench/make_million.py OUT.csv [ROWS]

Rows are drawn with replacement; each age is moved by up to 3 years and clipped to 17..90. Write it
outside the repository: the original is not ours to copy.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import adult

SEED = 1_000_003


def main(out: str, rows: int = 1_000_000) -> None:
    table = pl.read_csv(adult.table_path())
    random = np.random.default_rng(SEED)
    drawn = table[pl.Series(random.integers(table.height, size=rows))]
    moved = drawn["age"].to_numpy() + random.integers(-3, 4, size=rows)
    drawn = drawn.with_columns(pl.Series("age", np.clip(moved, 17, 90)))
    drawn.write_csv(out)
    distinct = drawn.select(adult.QUASI).n_unique()
    print(f"{rows:,} rows with {distinct:,} distinct tuples of {len(adult.QUASI)} columns")


if __name__ == "__main__":
    main(sys.argv[1], *(int(float(word)) for word in sys.argv[2:3]))
