"""A million rows read, anonymized and written back: PostgreSQL to PostgreSQL beside Parquet to Parquet.

    python bench/database.py [rows]

Starts a PostgreSQL server of its own in a temporary folder (`tests/postgres.py`). Both sides have the same
rows, plan and method; wall and CPU seconds are of this process, and the ratio is that of the wall times.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

import shoal

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from postgres import running

PLAN = {
    "k": 5,
    "quasi": ["age", "zip", "sex"],
    "sensitive": ["ill"],
    "keep": ["cost"],
    "method": "mondrian",
}
ROWS = """create table people as select (20 + 60 * random())::int as age,
lpad(((10000 * random())::int)::text, 5, '0') as zip,
(array['f', 'm'])[1 + (random() < 0.5)::int] as sex,
(array['flu', 'cold', 'ulcer', 'reflux'])[1 + (random() * 3)::int] as ill,
(1000 * random())::numeric(10, 2) as cost from generate_series(1, {rows})"""


def timed(what: str, work: Callable[[], object]) -> float:
    start, used = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - start, time.process_time() - used
    print(f"{what:<28} {wall:7.1f} s wall {cpu:7.1f} s CPU")
    return wall


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    os.chdir(tempfile.mkdtemp())
    with running() as server:
        server.run(ROWS.format(rows=rows), "analyze people")
        uri = server.uri()
        shoal.read_database(uri, table="people").frame.write_parquet("people.parquet")
        small = pl.read_parquet("people.parquet").head(1000)
        shoal.anonymize(small, **PLAN)  # to compile

        def by_files() -> None:
            release = shoal.anonymize(shoal.read_table("people.parquet").frame, **PLAN)
            release.write("out.parquet")

        def by_database() -> None:
            release = shoal.anonymize(shoal.read_database(uri, table="people").frame, **PLAN)
            release.write_database(uri, "people_k5", replace=True)

        files = timed("Parquet to Parquet", by_files)
        database = timed("PostgreSQL to PostgreSQL", by_database)
        print(f"{database / files:.2f} times")


if __name__ == "__main__":
    main()
