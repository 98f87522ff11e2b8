"""Rules on Adult (issue 9): loss and time of each rule beside k alone, values held against pycanon.

    python bench/rules.py [--method crowd] [--pycanon]

Adult with occupation sensitive and 7 quasi-identifiers, k = 5. With `--pycanon` the releases are measured
by pycanon too, in a virtual environment of its own below bench/.venvs. Then the linkage trial: the register
is the table's own quasi-identifiers.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import shoal
from adult import QUASI, hierarchies_path, table_path
from peers import environment

SENSITIVE = "occupation"
SEVEN = tuple(name for name in QUASI if name != SENSITIVE)
RULES = (
    (),
    (f"{SENSITIVE}: 3-diverse",),
    (f"{SENSITIVE}: 5-diverse",),
    (f"{SENSITIVE}: entropy 3-diverse",),
    (f"{SENSITIVE}: 0.2-close",),
)
JUDGE = """
import json, sys
import pandas as pd
from pycanon import anonymity
frame = pd.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
quasi, sensitive = json.loads(sys.argv[2]), [sys.argv[3]]
print(json.dumps({
    "k": int(anonymity.k_anonymity(frame, quasi)),
    "distinct": int(anonymity.l_diversity(frame, quasi, sensitive)),
    "entropy": float(anonymity.entropy_l_diversity(frame, quasi, sensitive)),
    "close": float(anonymity.t_closeness(frame, quasi, sensitive)),
}))
"""


def judged(python: Path, release: shoal.Release) -> dict[str, float]:
    """What pycanon measures of a release."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(release.table.columns)
            writer.writerows(release.table.rows())
        words = [python, "-W", "ignore", "-c", JUDGE, path, json.dumps(SEVEN), SENSITIVE]
        done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compared(release: shoal.Release, theirs: dict[str, float]) -> str:
    """Whether pycanon measures what we do.

    Its entropy l is cut down to a whole number; where ours is one, its rounding may cut off one more: three
    equally frequent values are 2.9999999999999996 there.
    """
    its = release.verdict.sensitive[0]
    same = {
        "k": release.certificate.smallest_class == theirs["k"],
        "distinct": its.distinct == theirs["distinct"],
        "entropy": theirs["entropy"] in {math.floor(its.entropy * (1 + part)) for part in (-1e-12, 1e-12)},
        "close": abs(its.closeness_equal - theirs["close"]) < 1e-9,
    }
    wrong = [name for name, is_same in same.items() if not is_same]
    return f"pycanon: {theirs}: " + (f"DIFFERS in {', '.join(wrong)}" if wrong else "the same")


def attacked(frame: Any, table: Any, trees: dict[str, Any], name: str, k: int) -> None:
    """The linkage trial with the original's quasi-identifiers as the register."""
    match = {column: column for column in SEVEN}
    tried = ((frame, "the raw table"), (table, name)) if name == "k alone" else ((table, name),)
    for release, what in tried:
        start = perf_counter()
        found = shoal.attack(release, frame, match=match, sensitive=SENSITIVE, hierarchies=trees, k=k)
        print(
            f"{'':10}attack on {what}: {found.one_record} of {found.persons} persons pinned to one record, "
            f"{found.few} with fewer than {k} candidates, fewest {found.fewest}, {SENSITIVE} certain for "
            f"{found.homogeneous[0].persons}; {perf_counter() - start:.1f} s",
            flush=True,
        )


def main() -> None:
    """Print one line per rule."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--method", default="auto")
    words.add_argument("-k", type=int, default=5)
    words.add_argument("--pycanon", action="store_true")
    given = words.parse_args()
    python = environment("pycanon") if given.pycanon else None
    frame = shoal.read_table(table_path()).frame
    trees = {
        name: shoal.read_hierarchy(hierarchies_path() / f"{name}.csv", column=name)
        for name in SEVEN
        if name != "age"
    }
    plan = {
        "k": given.k,
        "quasi": SEVEN,
        "sensitive": SENSITIVE,
        "method": given.method,
        "kinds": {"age": "number"},
        "hierarchies": trees,
    }
    for rules in (RULES[1], RULES[-1]):
        shoal.anonymize(frame.head(6000), **plan, rules=rules)  # compile
    first = None
    for rules in RULES:
        start, busy = perf_counter(), process_time()
        release = shoal.anonymize(frame, **plan, rules=rules)
        seconds, busy = perf_counter() - start, process_time() - busy
        about, its = release.receipt.figures, release.verdict.sensitive[0]
        first = first or (about.loss_percent, busy)
        print(
            f"{' '.join(rules) or 'k alone':34} GCP {about.loss_percent:6.3f} %  "
            f"added {about.loss_percent - first[0]:6.3f}  classes {release.verdict.classes:5}  "
            f"{seconds:6.1f} s, {busy:6.1f} s busy (allowed {3 * first[1] + 5:.1f})  "
            f"distinct {its.distinct}  entropy {its.entropy:.6f}  close {its.closeness_equal:.6f}"
        )
        sys.stdout.flush()
        if python is not None:
            print(f"{'':10}{compared(release, judged(python, release))}", flush=True)
        if rules in (RULES[0], RULES[1]):
            attacked(frame, release.table, trees, " ".join(rules) or "k alone", given.k)


if __name__ == "__main__":
    main()
