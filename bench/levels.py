"""One level for each column: Adult beside ARX's optimal full-domain recoding, 5 % withheld.

    python bench/levels.py
    python bench/levels.py --lattice     # a made table with ten million choices of levels

ARX's figures are those of its classes with the smallest cells possible, age by range (`tightest` in
`yardstick.py`), since ARX publishes nodes but was measured so. `loss` is what `levels` makes least: nodes
by leaves, age by ARX's tree. Each tool chooses by its own measure, so either may be lower in the other's.
Seconds are of a warm `shoal.anonymize`: encode, search, recode, check and proof.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict

import numpy as np
import polars as pl

import adult
import shoal
import yardstick

KS = (2, 5, 10, 50, 100)
ARX = {2: 16.94, 5: 28.00, 10: 33.00, 50: 47.92, 100: 55.40}
WITHHOLD = 0.05


def tightest(rows: list[dict[str, str]], label: list[int], trees: dict[str, yardstick.Tree]) -> float:
    """The loss of classes with the smallest cells possible, in percent."""
    members: dict[int, list[int]] = defaultdict(list)
    for row, group in enumerate(label):
        members[group].append(row)
    release = [
        {**dict.fromkeys(adult.QUASI, str(group)), "row": str(row)}
        for group, its in members.items()
        if group >= 0
        for row in its
    ]
    score = yardstick.measure(
        rows,
        release,
        trees,
        adult.NUMBERS,
        read_number=lambda _: (0.0, 0.0),  # only the classes are looked at
        read_names=lambda _: ["*"],
    )
    return score.tightest or 0.0


def lattice(rows: int = 20_000) -> None:
    """Seven columns of ten levels each: 10^7 choices. Where the search is cut short, its gap is told."""
    rng = np.random.default_rng(1)
    names = [f"c{at}" for at in range(7)]
    cells = {name: (512 * rng.beta(1 + at / 2, 3, rows)).astype(int) for at, name in enumerate(names)}
    trees = dict.fromkeys(names, shoal.bins(*(2**at for at in range(1, 9))))
    words = {"quasi": names, "hierarchies": trees, "withhold": WITHHOLD, "method": "levels"}
    frame = pl.DataFrame(cells)
    shoal.anonymize(frame.head(200), k=2, **words)  # to compile
    for k in (5, 50):
        start, used = time.perf_counter(), time.process_time()
        figures = shoal.anonymize(frame, k=k, **words).receipt.figures
        clock, cpu = time.perf_counter() - start, time.process_time() - used
        gap = "the best of all" if figures.value == figures.bound else f"ratio {figures.ratio:.4f}"
        print(f"10^7 choices, k = {k}: {figures.loss_percent:.2f} %, {gap}, {clock:.1f} s, {cpu:.1f} s CPU")


def main() -> None:
    if "--lattice" in sys.argv:
        lattice()
        return
    frame = shoal.read_table(str(adult.table_path())).frame
    rows = adult.read_rows(adult.table_path())
    hierarchies = {name: shoal.Hierarchy.of_paths(adult.read_paths(name)) for name in adult.QUASI}
    trees = {
        name: yardstick.Tree(adult.read_paths(name)) for name in adult.QUASI if name not in adult.NUMBERS
    }
    words = {"quasi": adult.QUASI, "hierarchies": hierarchies, "withhold": WITHHOLD, "method": "levels"}
    shoal.anonymize(frame.head(200), k=2, **words)  # to compile
    lines = []
    for k in KS:
        start, used = time.perf_counter(), time.process_time()
        release = shoal.anonymize(frame, k=k, **words)
        clock, cpu = time.perf_counter() - start, time.process_time() - used
        figures = release.receipt.figures
        lines.append(
            {
                "k": k,
                "loss %": round(figures.loss_percent, 2),
                "proved": figures.value == figures.bound,
                "withheld": release.certificate.withheld,
                "tightest %": round(tightest(rows, release.groups.label.tolist(), trees), 2),
                "ARX %": ARX[k],
                "seconds": round(clock, 2),
                "cpu": round(cpu, 2),
            }
        )
    with pl.Config(tbl_rows=-1, tbl_cols=-1):
        print(pl.DataFrame(lines))


if __name__ == "__main__":
    main()
