"""Figure 7 of paper 004: overfull ratios of Fold and Spread on the 1990 Census names.

    python bench/papers/names_004.py /tmp/names

writes one CSV per file of names with the ratio of the largest class to k for all four algorithms and every
k, the figure as PNG (the greatest ratio of each subrange of k, as in the paper), and the findings to the
screen. Names whose frequency is given as 0.000 % are left out, as the paper did: it took names of at least
0.001 %.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl
from numba import njit

from shoal.bound.largest_group import largest_bound
from shoal.kernels.packing import fill_bins, spread_round

FILES = {
    "FEMALE-1990": "census1990_female_first.csv",
    "MALE-1990": "census1990_male_first.csv",
    "LAST-1990": "census1990_all_last.csv",
}
CURVES = ("Random Fold", "Random Spread", "Sorted Fold", "Sorted Spread")
SUBRANGES = 60


@njit
def largest(weight, order, k, spread):
    """The heaviest class of one packing, and how many classes it has."""
    label, level = fill_bins(weight, order, k)
    if spread:
        spread_round(weight, order, label, level)
        return level.max(), level.size
    left = 0
    for item in range(weight.size):
        if label[item] < 0:
            left += weight[item]
    level[np.argmin(level)] += left
    return level.max(), level.size


@njit
def curve(weight, order, ks, spread):
    """Heaviest class and number of classes for every k."""
    out = np.empty((ks.size, 2), dtype=np.int64)
    for at in range(ks.size):
        out[at] = largest(weight, order, ks[at], spread)
    return out


def weights_of(path: Path) -> np.ndarray:
    """Frequencies in thousandths of a per cent, those above 0."""
    percent = pl.read_csv(path)["frequency_percent"]
    weight = (percent * 1000).round().cast(pl.Int64).to_numpy()
    return np.ascontiguousarray(weight[weight > 0])


def measure(weight: np.ndarray, seed: int) -> pl.DataFrame:
    """Ratios of the largest class to k, for every k at which there are at least two classes."""
    ks = np.arange(weight.max(), weight.sum() // 2 + 1)
    orders = {
        "Random": np.random.default_rng(seed).permutation(weight.size),
        "Sorted": np.argsort(-weight, kind="stable"),
    }
    found = {"k": ks}
    for name in CURVES:
        order, method = name.split()
        heaviest = curve(weight, orders[order], ks, method == "Spread")
        found[name] = heaviest[:, 0] / ks
        found[f"{name} classes"] = heaviest[:, 1]
    table = pl.DataFrame(found).filter(pl.all_horizontal(pl.col(f"{name} classes") >= 2 for name in CURVES))
    best = [largest_bound(weight, k) / k for k in table["k"].to_list()]
    return table.with_columns(pl.Series("bound", best))


def findings(name: str, table: pl.DataFrame) -> None:
    many = table.height
    print(f"\n{name}: k from {table['k'].min()} to {table['k'].max()}, {many} values")
    for curve_name in CURVES:
        ratio = table[curve_name]
        print(f"  {curve_name:14} worst {ratio.max():.3f}  mean {ratio.mean():.4f}")
    for order in ("Random", "Sorted"):
        gap = table[f"{order} Fold"] - table[f"{order} Spread"]
        above = int((gap < 0).sum())
        print(f"  {order}: Spread is above Fold at {above} of {many} k, below at {int((gap > 0).sum())}")
    for method in ("Fold", "Spread"):
        gap = table[f"Sorted {method}"] - table[f"Random {method}"]
        better, worse = (gap > 0).sum() / many, (gap < 0).sum() / many
        print(f"  {method}: random order is better at {better:.1%}, worse at {worse:.1%} of k")
    for curve_name in CURVES:
        classes, ratio = table[f"{curve_name} classes"], table[curve_name]
        drop = classes.diff() < 0
        step = ratio.diff()
        at_drops, elsewhere = step.filter(drop).mean(), step.filter(~drop).mean()
        print(f"  {curve_name:14} step where a class is lost {at_drops:+.5f}, elsewhere {elsewhere:+.6f}")


def draw(tables: dict[str, pl.DataFrame], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    colours = {
        "Random Fold": "#d95f02",
        "Random Spread": "#1b9e77",
        "Sorted Fold": "#7570b3",
        "Sorted Spread": "#e7298a",
    }
    figure, panels = plt.subplots(3, 1, figsize=(9, 11), layout="constrained")
    for panel, (name, table) in zip(panels, tables.items(), strict=True):
        edges = np.linspace(table["k"].min(), table["k"].max() + 1, SUBRANGES + 1)
        group = np.digitize(table["k"].to_numpy(), edges) - 1
        middle = (edges[:-1] + edges[1:]) / 2
        for curve_name in CURVES:
            ratio = table[curve_name].to_numpy()
            most = [ratio[group == at].max() for at in range(SUBRANGES)]
            panel.plot(middle / 1000, most, label=curve_name, color=colours[curve_name], linewidth=1.4)
        panel.set_title(name, loc="left", fontsize=10)
        panel.set_ylabel("largest class / k")
        panel.set_xlabel("k, per cent of all people")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", frameon=False, ncols=4)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="a folder for the tables and the figure")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    default = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("SHOAL_SHARED", default)) / "names"
    given.output.mkdir(parents=True, exist_ok=True)
    tables = {}
    for name, file in FILES.items():
        start = process_time()
        tables[name] = measure(weights_of(folder / file), given.seed)
        tables[name].write_csv(given.output / f"{name}.csv")
        findings(name, tables[name])
        print(f"  {process_time() - start:.1f} s of CPU")
    draw(tables, given.output / "figure7.png")


if __name__ == "__main__":
    main()
