"""Adult by halves: a release of one, and the other recoded by it, beside its own release.

python bench/recoding.py [k ...]
"""

from __future__ import annotations

import sys
import time

import adult
import shoal


def main() -> None:
    frame = shoal.read_table(str(adult.table_path())).frame.sample(fraction=1.0, shuffle=True, seed=1)
    half = frame.height // 2
    one, other = frame.head(half), frame.tail(frame.height - half)
    trees = {
        name: shoal.Hierarchy.of_paths(adult.read_paths(name))
        for name in adult.QUASI
        if name not in adult.NUMBERS
    }
    words = {"quasi": adult.QUASI, "hierarchies": trees, "kinds": dict.fromkeys(adult.NUMBERS, "number")}
    for k in [int(word) for word in sys.argv[1:]] or [2, 5, 10]:
        fitted, own = (shoal.anonymize(table, k=k, **words).certificate for table in (one, other))
        recoding = shoal.anonymize(one, k=k, **words).recoding
        print(
            f"k = {k}: the first half loses {fitted.loss_percent} %, the other alone {own.loss_percent} %"
        )
        for unfit in ("widen", "withhold"):
            for small in ("join", "withhold"):
                start = time.process_time()
                found = recoding.apply(other, unfit=unfit, small=small)
                used = time.process_time() - start
                lost = shoal.check_table(found.table, k=k, original=other, **words).loss_percent or 0.0
                print(
                    f"  unfit {unfit:<8} small {small:<8} loses {lost:5.2f} %, widened "
                    f"{found.widened / other.height:6.2%}, withheld {found.withheld / other.height:6.2%}, "
                    f"smallest class {found.verdict.smallest_class}, {used:.1f} s CPU"
                )


if __name__ == "__main__":
    main()
