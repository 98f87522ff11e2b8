"""forest, pairs and triples on the Adult table: value, bounds, ratio and seconds of CPU.

    python bench/forest.py levels 2 3 5 10 50     # forest by levels, age by its tree
    python bench/forest.py stars 2000             # pairs and triples against forest, on that many rows
    python bench/forest.py stars all

Every method runs once on a few rows first, so that compiling is not counted. CPU seconds are those of all
threads of the process.
"""

from __future__ import annotations

import sys
from time import process_time

import polars as pl

import adult
import shoal
from shoal.bound import prove, value_of
from shoal.bound.neighbour import neighbour_bound
from shoal.encode import encode
from shoal.group.improve.cycles import improve
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import quiet
from shoal.run.anonymize import form_groups, task_of


def read(rows: int | None = None) -> pl.DataFrame:
    frame = pl.read_csv(adult.table_path(), infer_schema=False)
    return frame if rows is None else frame.sample(rows, seed=1)


def timed(coded: Coded, plan: Plan) -> tuple[Grouping, float, float]:
    """The grouping, its value, and CPU seconds."""
    method, task = task_of(coded, plan, quiet)
    start = process_time()
    grouping = form_groups(method, task, coded)
    return grouping, value_of("loss", coded, grouping), process_time() - start


def bounds(coded: Coded, plan: Plan, grouping: Grouping) -> tuple[str, float, float]:
    _, task = task_of(coded, plan, quiet)
    start = process_time()
    found = prove("loss", coded, task, grouping.proof)
    assert found is not None
    return found.name, found.bound, process_time() - start


def levels(ks: list[int]) -> None:
    trees = {name: Hierarchy.of_paths(adult.read_paths(name)) for name in adult.QUASI}
    frame = read()
    print(
        "forest by levels: k, bare, improved, best bound (name), neighbour bound, ratio, CPU s, bound CPU s"
    )
    for k in ks:
        words = {"k": k, "quasi": adult.QUASI, "hierarchies": trees, "loss": "levels", "method": "forest"}
        plan = Plan(**words)
        small = encode(frame.head(400), plan)
        timed(small, plan)
        coded = encode(frame, plan)
        _, bare, _ = timed(coded, Plan(**words, options={"search": "no"}))
        grouping, value, seconds = timed(coded, plan)
        name, bound, proving = bounds(coded, plan, grouping)
        _, task = task_of(coded, plan, quiet)
        near = neighbour_bound(coded, task).bound
        print(
            f"{k:4d} {bare:10.1f} {value:10.1f} {bound:10.1f} ({name}) {near:10.1f} "
            f"{value / bound:6.3f} {seconds:6.1f} {proving:6.1f}",
            flush=True,
        )


def stars(rows: int | None) -> None:
    frame = read(rows)
    print(
        "stars: method, k, bare, improved, best bound (name), ratio, own bound, factor, CPU s, search CPU s"
    )
    for k, exact in ((2, "pairs"), (3, "triples")):
        for method in ("forest", exact):
            plan = Plan(
                k=k,
                quasi=adult.QUASI,
                kinds={"age": "number"},
                style="suppress",
                method=method,
                options={"search": "no"},
            )
            small = encode(frame.head(300), plan)
            _, task = task_of(small, plan, quiet)
            improve(small, timed(small, plan)[0], task)
            coded = encode(frame, plan)
            grouping, bare, seconds = timed(coded, plan)
            start = process_time()
            value = value_of("loss", coded, improve(coded, grouping, task))
            searching = process_time() - start
            name, bound, _ = bounds(coded, plan, grouping)
            own = f"{grouping.proof.bound:.1f}" if grouping.proof else "-"
            factor = grouping.factor or shoal.methods()[method].factor(k, len(adult.QUASI))
            print(
                f"{method:8s} {k} {bare:9.1f} {value:9.1f} {bound:9.1f} ({name}) {value / bound:6.3f} "
                f"{own} {factor:.4f} {seconds:6.1f} {searching:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["levels", *ks]:
            levels([int(k) for k in ks] or [2, 3, 5, 10, 50])
        case ["stars", "all"]:
            stars(None)
        case ["stars", rows]:
            stars(int(rows))
        case _:
            raise SystemExit(__doc__)
