"""The experiments of papers 002 and 003 once more, on the same table, with our numbers.

    python bench/papers/local.py --out results     # needs the shared data; writes a plot and results.json

002, Figure 1: the ratio of NNG's largest half-perimeter to a lower bound of the best, on Adult's number
columns, over n, k and d. 003, Figures 3 and 4: loss and time of OKA and k-member over k, on eight columns
of Adult. The papers' figures are not in the text we have; docs/papers/local-recoding.md says what it says.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from adult import read_paths, shared
from shoal.bound import prove, value_of
from shoal.encode import encode
from shoal.group import fill_options, load
from shoal.group.improve.cycles import improve
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Task

NUMBERS = ("age", "hours-per-week", "education-num", "fnlwgt", "capital-gain")
"""The order in which columns are added; the paper names none."""
EIGHT = (
    "age",
    "workclass",
    "education-num",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
TREES = tuple(name for name in EIGHT if name not in {"age", "education-num"})
SAMPLES = 10


def ratios(table: pl.DataFrame, n: int, k: int, d: int) -> list[float]:
    """NNG's value over the bound, for several samples of n rows."""
    found = []
    for seed in range(SAMPLES):
        coded = encode(table.sample(n, seed=seed), Plan(k=k, quasi=NUMBERS[:d]))
        grouping = load("nng").group(coded, Task(k=k))
        proof = prove("half-perimeter", coded, Task(k=k))
        assert proof is not None
        found.append(value_of("half-perimeter", coded, grouping) / proof.bound)
    return found


def figure_of_002(table: pl.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Ratios by the paper's three panels."""
    return {
        "n, at k = 5, d = 2": {str(n): ratios(table, n, 5, 2) for n in (50, 100, 200, 400, 800)},
        "k, at n = 100, d = 2": {str(k): ratios(table, 100, k, 2) for k in (2, 3, 5, 8, 10)},
        "d, at n = 100, k = 5": {str(d): ratios(table, 100, 5, d) for d in (2, 3, 4, 5)},
    }


def eight_columns(table: pl.DataFrame, k: int) -> Coded:
    """Adult as paper 003 has it: age and education as numbers, six trees, loss by levels."""
    trees = {name: Hierarchy.of_paths([tuple(path) for path in read_paths(name)]) for name in TREES}
    return encode(table, Plan(k=k, quasi=EIGHT, hierarchies=trees, loss="levels"))


def figures_of_003(table: pl.DataFrame, ks: tuple[int, ...]) -> list[dict[str, object]]:
    """Loss and CPU seconds of OKA and k-member over k, plain, and improved."""
    lines: list[dict[str, object]] = []
    small = eight_columns(table.head(500), 10)
    for method in ("k-member", "oka"):
        options = fill_options(method, {})
        load(method).group(small, Task(k=10, options=options))  # compiles
        for k in ks:
            coded = eight_columns(table, k)
            task = Task(k=k, options=options)
            start = process_time()
            grouping = load(method).group(coded, task)
            seconds = process_time() - start
            better = improve(coded, grouping, task)
            lines.append(
                {
                    "method": method,
                    "k": k,
                    "seconds": round(seconds, 2),
                    "loss": round(value_of("loss", coded, grouping), 1),
                    "improved": round(value_of("loss", coded, better), 1),
                }
            )
            print(lines[-1], flush=True)
    return lines


def draw(first: dict[str, dict[str, list[float]]], second: list[dict[str, object]], path: Path) -> None:
    """Our curves, five panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 3).ravel()
    for panel, (name, points) in zip(panels[:3], first.items(), strict=True):
        x = [int(at) for at in points]
        panel.plot(x, [np.mean(of) for of in points.values()], "o-", label="mean")
        panel.plot(x, [max(of) for of in points.values()], "s--", label="worst sample")
        panel.axhline(1.5, color="grey", linestyle=":", label="about 1.5, says the paper")
        panel.set(title=f"002: ratio over {name}", xlabel=name[0], ylabel="value / bound", ylim=(0.9, None))
        panel.legend(fontsize=7)
    for panel, key in ((panels[3], "loss"), (panels[4], "seconds")):
        for method, mark in (("k-member", "o-"), ("oka", "s--")):
            own = [line for line in second if line["method"] == method]
            panel.plot([line["k"] for line in own], [line[key] for line in own], mark, label=method)
        panel.set(title=f"003: {key} over k", xlabel="k", ylim=(0, None))
        panel.legend(fontsize=7)
    panels[5].axis("off")
    figure.savefig(path, dpi=80)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--out", type=Path, required=True, help="folder for plots and figures")
    words.add_argument("--ks", default="10,50,100", help="the k of paper 003's figures")
    said = words.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    table = pl.read_csv(shared() / "adult" / "adult_train_complete.csv")
    first = figure_of_002(table)
    for name, points in first.items():
        for at, of in points.items():
            print(f"002, over {name}: {at}: mean {np.mean(of):.2f}, worst {max(of):.2f}", flush=True)
    second = figures_of_003(table, tuple(int(k) for k in said.ks.split(",")))
    (said.out / "results.json").write_text(json.dumps({"002": first, "003": second}, indent=1), "utf-8")
    draw(first, second, said.out / "local-recoding.png")


if __name__ == "__main__":
    main()
