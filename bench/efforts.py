"""What each effort reaches on Adult: loss judged from the written release, seconds, bound and ratio.

    python bench/efforts.py                                  quick and normal, three seeds, all k
    python bench/efforts.py --efforts thorough --seeds 0
    python bench/efforts.py --trees                          age as ARX's tree too: no column to sweep

Each line is the median over the seeds. Grouping, with the bound that guides it and the bound of what was
found, is timed in this process, after a first call that compiles; the loss is that of `yardstick.py`, read
from the CSV that was written.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

import adult
import shoal
from peers import score
from yardstick import Score, Tree, measure


def judged_by_trees(path: Path) -> Score:
    """What a release is worth where every column is a tree."""
    trees = {name: Tree(adult.read_paths(name)) for name in adult.QUASI}
    rows = adult.read_rows(adult.table_path()), adult.read_rows(path)
    return measure(*rows, trees, (), read_number=lambda _: (0.0, 0.0), read_names=lambda cell: [cell])


def one(frame: pl.DataFrame, words: dict[str, Any], *, by_trees: bool) -> tuple[float, float, float, float]:
    """Loss from the written release, ratio, bound in percent, seconds for the groups and their bound."""
    began: dict[str, float] = {}

    def progress(what: str, _share: float) -> None:
        began.setdefault(what, time.perf_counter())

    release = shoal.anonymize(frame, progress=progress, **words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "release.csv")
        release.write(path)
        judged = judged_by_trees(path) if by_trees else score("shoal", adult.read_rows(path))
    about = release.receipt.figures
    if judged.smallest_class < words["k"] or abs(judged.loss - about.loss_percent) > 1e-6:
        raise SystemExit("the release is not what its certificate says")
    seconds = began["recoding"] - began["grouping"]
    return judged.loss, about.ratio, judged.loss / about.ratio, seconds


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--efforts", default="quick,normal")
    words.add_argument("-k", default="2,5,10,50,100")
    words.add_argument("--seeds", default="0,1,2")
    words.add_argument("--trees", action="store_true", help="age by ARX's tree")
    given = words.parse_args()
    frame = pl.read_csv(adult.table_path())
    names = [name for name in adult.QUASI if given.trees or name not in adult.NUMBERS]
    paths = {name: adult.read_paths(name) for name in names}
    plan: dict[str, Any] = {
        "quasi": adult.QUASI,
        "sensitive": [adult.SENSITIVE],
        "hierarchies": {name: shoal.Hierarchy.of_paths(paths[name], column=name) for name in names},
    }
    shoal.anonymize(frame, **plan, k=100, effort="quick")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seeds {given.seeds}")
    print("| effort | k | loss % | bound % | ratio | grouping, s | most |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for effort in given.efforts.split(","):
        for k in map(int, given.k.split(",")):
            runs = [
                one(frame, plan | {"k": k, "effort": effort, "seed": int(seed)}, by_trees=given.trees)
                for seed in given.seeds.split(",")
            ]
            loss, ratio, bound, seconds = (statistics.median(its) for its in zip(*runs, strict=True))
            slowest = max(run[3] for run in runs)
            print(
                f"| {effort} | {k} | {loss:.3f} | {bound:.3f} | {ratio:.3f} | {seconds:.2f} "
                f"| {slowest:.2f} |",
                flush=True,
            )
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
