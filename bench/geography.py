"""regions and rectangles on real maps: largest group, bound, ratio, and seconds.

    python bench/geography.py regions        US ZIP areas and counties; one in 1,000 people, and all of them
    python bench/geography.py points         UK accidents, k = 10 and 100
    python bench/geography.py many           1, 3 and 10 million synthetic points, k = 100

Kernels are compiled on a small table first. Seconds are those of the clock, and of the processor (all
threads together), which other work on the machine does not make longer.
"""

from __future__ import annotations

import math
import os
import resource
import sys
from time import perf_counter, process_time

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import adult
import shoal
from shoal.bound import prove
from shoal.encode import encode
from shoal.group import fill_options, load
from shoal.model.coded import Coded
from shoal.model.plan import Plan
from shoal.model.task import Task


def measure(method: str, coded: Coded, k: int) -> tuple[np.ndarray, float]:
    """Group, and print a line of figures; labels of the distinct rows, and CPU seconds."""
    task = Task(k=k, options=fill_options(method, {}))
    clock, used = perf_counter(), process_time()
    grouping = load(method).group(coded, task)
    clock, used = perf_counter() - clock, process_time() - used
    proof = prove("largest", coded, task, grouping.proof)
    assert proof is not None
    largest = int(grouping.sizes.max())
    assert int(grouping.sizes.min()) >= k
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    label = np.full(coded.distinct, -1)
    label[grouping.distinct] = grouping.group
    print(
        f"  k {k}: {grouping.groups} groups, smallest {grouping.sizes.min()}, largest {largest}, bound "
        f"{proof.bound:.0f}, ratio {largest / proof.bound:.3f}, overfull {largest / k:.3f}, heaviest item "
        f"{coded.count.max()}; clock {clock:.2f} s, CPU {used:.2f} s, peak {peak:.2f} GiB, load "
        f"{os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return label, used


def unconnected(names: list[str], group: dict[str, int], edges: pl.DataFrame) -> int:
    """How many groups fall apart; regions without records may be what joins the others."""
    place = {name: at for at, name in enumerate(names)}
    label = np.array([group.get(name, -1) for name in names])
    tails, heads = (np.array([place[name] for name in edges[end]]) for end in ("a", "b"))
    apart = 0
    for its in range(int(label.max()) + 1):
        inside = (label == its) | (label < 0)
        kept = inside[tails] & inside[heads]
        found = coo_array((np.ones(kept.sum()), (tails[kept], heads[kept])), shape=(label.size, label.size))
        part = connected_components(found, directed=False)[1]
        apart += np.unique(part[label == its]).size > 1
    return apart


def regions() -> None:
    for which in ("county", "zcta"):
        folder = adult.shared() / f"geo_{which}"
        nodes = pl.read_csv(folder / "nodes.csv", infer_schema_length=0)
        inside = pl.read_csv(folder / "components.csv", infer_schema_length=0)
        nodes = nodes.join(inside.filter(pl.col("component") == "0"), on="id")
        known = nodes["id"].implode()
        edges = pl.read_csv(next(folder.glob("edges.csv*")), infer_schema_length=0)
        edges = edges.filter(pl.col("a").is_in(known) & pl.col("b").is_in(known)).select("a", "b")
        people = nodes["population"].cast(pl.Int64, strict=False).fill_null(0).to_numpy()
        graph = shoal.read_graph(edges, nodes.select("id"))
        for share, ks in ((0.001, (1000, 20_000)), (1.0, (200_000, 2_000_000))):
            held = people if share == 1 else np.random.default_rng(1).binomial(people, share)
            frame = pl.DataFrame({"area": nodes["id"], "people": held})
            print(f"{which}: {nodes.height} areas, {held.sum()} people")
            for k in ks:
                plan = Plan(k=k, quasi=("area",), graphs={"area": graph}, count="people")
                coded = encode(frame, plan)
                if which == "county" and k == 1000:
                    load("regions").group(coded, Task(k=k))  # compiles
                label, _ = measure("regions", coded, k)
                names = graph.names
                group = {names[code]: int(label[at]) for at, code in enumerate(coded.codes[:, 0])}
                group = {name: its for name, its in group.items() if its >= 0}
                apart = unconnected(nodes["id"].to_list(), group, edges)
                print(f"    groups that are not connected: {apart}", flush=True)


def points() -> None:
    frame = pl.read_csv(adult.shared() / "points" / "uk_road_accidents.csv.gz")
    lat, lon = frame.columns
    plan = Plan(k=2, quasi=("home",), kinds={"home": f"place({lat}, {lon})"})
    measure("rectangles", encode(frame.head(2000), plan), 10)
    for name, its in (("all points", frame), ("each point once", frame.unique(maintain_order=True))):
        coded = encode(its, plan)
        print(f"UK accidents, {name}: {its.height} rows")
        for k in (10, 100):
            measure("rectangles", coded, k)


def many() -> None:
    luck = np.random.default_rng(7)
    plan = Plan(k=2, quasi=("home",), kinds={"home": "place(lat, lon)"})
    used = []
    sizes = (1_000_000, 3_000_000, 10_000_000)
    for rows in (2000, *sizes):
        frame = pl.DataFrame({"lat": luck.normal(52, 2, rows), "lon": luck.normal(0, 2, rows)})
        print(f"synthetic points: {rows}")
        used.append(measure("rectangles", encode(frame, plan), 100)[1])
    grown = math.log(used[-1] / used[1]) / math.log(sizes[-1] / sizes[0])
    print(f"growth exponent of CPU seconds from first to last: {grown:.2f}")


RUNS = {"regions": regions, "points": points, "many": many}

if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        RUNS[name]()
