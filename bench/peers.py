"""Shoal and its peers side by side, in one run, on one table, by one yardstick.

    python bench/peers.py -k 10 --methods mondrian,k-member --peers anonypy,anjana

Every peer lives in a virtual environment of its own that this script makes below bench/.venvs. A run
that takes longer than --limit seconds is stopped and says so. Times compare only within one run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import adult
from yardstick import Score, Tree, measure

HERE = Path(__file__).resolve().parent
PACKAGES = {
    "anonypy": ("anonypy==0.2.1", "pandas"),
    "anjana": ("anjana==1.2.3",),
    "pycanon": ("pycanon==1.3.6",),
}


@dataclass(frozen=True, slots=True)
class Run:
    """One tool at one k: its score and seconds, or why there are none."""

    tool: str
    k: int
    score: Score | None = None
    wall: float = 0.0
    cpu: float = 0.0
    without_bound: float | None = None
    note: str = ""


def environment(peer: str) -> Path:
    """The peer's own Python, made and filled on first use."""
    home = HERE / ".venvs" / peer
    python = home / "bin" / "python"
    ready = home / "ready"
    if not ready.exists() or ready.read_text() != " ".join(PACKAGES[peer]):
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[peer]], check=True)
        ready.write_text(" ".join(PACKAGES[peer]))
    return python


def run(tool: str, k: int, limit: float, *, method: str = "") -> Run:
    """Run one tool and measure its release."""
    name = f"shoal {method}" if method else tool
    python = Path(sys.executable) if method else environment(tool)
    adapter = HERE / "adapters" / f"run_{tool}.py"
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder, "release.csv")
        words = [python, adapter, adult.table_path(), adult.hierarchies_path(), str(k), release]
        try:
            done = subprocess.run(
                [*words, *([method] if method else [])],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Run(name, k, note=f"no answer within {limit:g} s: stopped")
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no word"])[-1]
            return Run(name, k, note=f"failed: {last}")
        seconds = json.loads(done.stdout.strip().splitlines()[-1])
        rows = adult.read_rows(release)
    return Run(
        name,
        k,
        score=score(tool, rows),
        wall=seconds["wall"],
        cpu=seconds["cpu"],
        without_bound=seconds.get("without bound"),
    )


def score(tool: str, release: list[dict[str, str]]) -> Score:
    """Measure a release in the tool's own notation."""
    ages = Tree(adult.read_paths("age"))

    def number(cell: str) -> tuple[float, float]:
        if tool == "shoal":
            low, _, high = cell.strip("[]").partition(", ")
        elif tool == "anonypy":
            low, _, high = cell.partition("-")
        else:  # a node of the hierarchy of ages
            values = [float(leaf) for leaf in ages.below[cell]]
            return min(values), max(values)
        return (float("-inf"), float("inf")) if cell == "*" else (float(low), float(high or low))

    def names(cell: str) -> list[str]:
        return cell.split(",") if tool == "anonypy" else [cell]

    trees = {name: Tree(adult.read_paths(name)) for name in adult.QUASI if name not in adult.NUMBERS}
    original = adult.read_rows(adult.table_path())
    return measure(original, release, trees, adult.NUMBERS, read_number=number, read_names=names)


def show(runs: list[Run]) -> None:
    """The figures, then what each peer needs as a multiple of each of our methods."""
    print("| tool | k | loss % | tightest % | left out | classes | smallest | seconds | cpu | no bound |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    for one in runs:
        if one.score is None:
            print(f"| {one.tool} | {one.k} | {one.note} | | | | | | | |")
            continue
        its = one.score
        tightest = "" if its.tightest is None else f"{its.tightest:.2f}"
        bare = "" if one.without_bound is None else f"{one.without_bound:.3f}"
        print(
            f"| {one.tool} | {one.k} | {its.loss:.2f} | {tightest} | {its.left_out} | {its.classes} "
            f"| {its.smallest_class} | {one.wall:.3f} | {one.cpu:.3f} | {bare} |"
        )
    print("\n| peer / ours | k | loss ratio | time ratio | cpu ratio | time ratio, no bound |")
    print("| --- | --: | --: | --: | --: | --: |")
    for peer in runs:
        for ours in runs:
            pair = peer.score is not None and ours.score is not None and peer.k == ours.k
            if not pair or peer.tool.startswith("shoal") or not ours.tool.startswith("shoal"):
                continue
            bare = ours.without_bound or ours.wall
            print(
                f"| {peer.tool} / {ours.tool} | {peer.k} | {peer.score.loss / ours.score.loss:.2f} "
                f"| {peer.wall / ours.wall:.1f} | {peer.cpu / ours.cpu:.1f} | {peer.wall / bare:.1f} |"
            )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("-k", default="10", help="such as 2,5,10,50,100")
    words.add_argument("--methods", default="mondrian,k-member", help="methods of Shoal")
    words.add_argument("--peers", default="anonypy,anjana", help=f"any of {','.join(PACKAGES)}")
    words.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is stopped")
    given = words.parse_args()
    began = time.perf_counter()
    runs = []
    for k in map(int, given.k.split(",")):
        runs += [
            run("shoal", k, given.limit, method=method) for method in given.methods.split(",") if method
        ]
        runs += [run(peer, k, given.limit) for peer in given.peers.split(",") if peer]
    show(runs)
    print(f"\n{len(runs)} runs in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
