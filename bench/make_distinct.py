"""A large table of invented people in which nearly every tuple is distinct.

    python bench/make_distinct.py OUT.csv|OUT.parquet [ROWS]

Quasi-identifiers: birth (by day), zip (30,000 of skewed size), sex, race, marital, education,
occupation, income; diagnosis is sensitive. Made and written in parts of a million rows, each with a
seed of its own, so that a table of 10,000,000 rows begins with the one of 1,000,000 and never needs to
fit into memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

SEED = 7
PART = 1_000_000
ZIPS = 30_000
NEWEST = np.datetime64("2005-01-01").astype("datetime64[D]").astype(np.int32)


def places() -> tuple[pa.Array, np.ndarray]:
    """The zip codes and the edges of their shares of the population."""
    random = np.random.default_rng(SEED)
    codes = np.sort(random.choice(99_498, ZIPS, replace=False) + 501)
    share = 1 / np.arange(1, ZIPS + 1) ** 0.8
    random.shuffle(share)
    edges = np.cumsum(share)
    return pa.array([f"{code:05d}" for code in codes]), edges / edges[-1]


def words(name: str, size: int) -> pa.Array:
    return pa.array([f"{name} {number:03d}" for number in range(size)])


def part(number: int, rows: int, zips: pa.Array, edges: np.ndarray) -> pa.Table:
    """One part of the table."""
    random = np.random.default_rng([SEED, number])
    days = np.clip(random.beta(1.7, 2.6, rows) * 25_000, 0, 24_999).astype(np.int32)
    education = np.clip(random.normal(9, 3, rows), 0, 15).astype(np.int32)
    young = days < 25 * 365
    single = random.choice(7, rows, p=[0.8, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02])
    settled = random.choice(7, rows, p=[0.2, 0.45, 0.15, 0.1, 0.05, 0.03, 0.02])
    income = np.round(np.exp(random.normal(10.2 + 0.06 * education, 0.6)) / 100) * 100
    texts = {
        "zip": (np.searchsorted(edges, random.random(rows)), zips),
        "sex": (random.integers(0, 2, rows), pa.array(["F", "M"])),
        "race": (random.choice(5, rows, p=[0.6, 0.18, 0.12, 0.07, 0.03]), words("race", 5)),
        "marital": (np.where(young, single, settled), words("marital", 7)),
        "education": (education, words("education", 16)),
        "occupation": ((education + random.integers(0, 8, rows)) % 14, words("occupation", 14)),
        "diagnosis": (np.minimum(random.exponential(35, rows), 199), words("diagnosis", 200)),
    }
    columns = {"birth": pa.array(NEWEST - days).cast(pa.date32())}
    for name, (codes, values) in texts.items():
        columns[name] = values.take(pa.array(codes.astype(np.int32)))
    columns["income"] = pa.array(np.clip(income, 0, 500_000).astype(np.int32))
    return pa.table(columns)


def main(out: str, rows: int = 1_000_000) -> None:
    zips, edges = places()
    writer = None
    for number, start in enumerate(range(0, rows, PART)):
        table = part(number, min(PART, rows - start), zips, edges)
        if writer is None:
            parquet = Path(out).suffix == ".parquet"
            kind = pa.parquet.ParquetWriter if parquet else pa.csv.CSVWriter
            writer = kind(out, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    print(f"{rows:,} rows")


if __name__ == "__main__":
    main(sys.argv[1], *(int(float(word)) for word in sys.argv[2:3]))
