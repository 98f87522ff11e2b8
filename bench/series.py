"""A register over time beside the same table anonymized anew each time: what is lost, and what is told.

    python bench/series.py
    python bench/series.py --only small
    python bench/series.py --only small --outsider
    python bench/series.py --million

Adult, 7 quasi-identifiers, k = 5, occupation 3-diverse, quick effort. Three stories: ten releases of
14,000 rows that become 21,832 (10 % come, 5 % leave, 2 % change each time); a register that shrinks (3 %
come, 12 % leave, eight releases); one of 1,500 rows. Loss, counting queries and attacks are measured here,
from the published files alone (`over_time.py`).

`--outsider` also plays one who knows quasi-identifiers and presence only, with all releases at the end, by
`shoal.attack_series`: what he knows is not who stands in which class.

`--million` makes a register of a million rows and 100,000 newcomers: seconds, CPU seconds and memory of the
second release, in a process of its own, and bytes of the state for each person.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from adult import hierarchies_path
from million import run
from over_time import SENSITIVE, SEVEN, Adult, Moment, Watcher, query_error, story

K, DIVERSE = 5, 3
STORIES = {
    "ten releases": {"first": 14_000, "releases": 10, "come": 0.10, "leave": 0.05},
    "shrinking": {"first": 20_000, "releases": 8, "come": 0.03, "leave": 0.12},
    "small": {"first": 1500, "releases": 8, "come": 0.10, "leave": 0.05},
}
MAKERS = ("naive", "register")


def asked(effort: str) -> dict[str, Any]:
    """What every release asks for."""
    trees = {
        name: shoal.read_hierarchy(hierarchies_path() / f"{name}.csv", column=name) for name in SEVEN[1:]
    }
    return {
        "k": K,
        "quasi": SEVEN,
        "kinds": {"age": "number"},
        "hierarchies": trees,
        "sensitive": [SENSITIVE],
        "rules": [f"{SENSITIVE}: {DIVERSE}-diverse"],
        "effort": effort,
    }


def naive(words: dict[str, Any], folder: Path) -> Iterator[Any]:
    """Every table by itself: gives the release and who stands behind each line, takes the next table."""
    del folder
    frame = yield None
    while True:
        release = shoal.anonymize(frame, **words)
        who = frame["id"].to_numpy()[np.asarray(release.groups.source)]
        frame = yield release, who


def register(words: dict[str, Any], folder: Path) -> Iterator[Any]:
    """A register."""
    series = shoal.Series(**words, unit="id", series="register")
    number = 0
    frame = yield None
    while True:
        number += 1
        release = series.release(frame, folder / f"q{number}.csv")
        ids = release._register.ids.cast(pl.Int64).to_numpy()
        frame = yield release, ids[np.asarray(release.groups.source)]


def weights(adult: Adult, release: Any) -> Any:
    """By line and value, how much of a record is told: a value, or the shares of a list."""
    place = {name: at for at, name in enumerate(adult.names)}
    table = release.table
    out = np.zeros((table.height, len(adult.names)))
    if release.lists is None:
        out[np.arange(table.height), [place[name] for name in table[SENSITIVE].to_list()]] = 1.0
        return out
    school = table["school"].fill_null(0).to_numpy().astype(np.int64)
    shares = np.zeros((int(release.lists["school"].max()) + 1, len(adult.names)))
    values = [place[name] for name in release.lists[SENSITIVE].to_list()]
    np.add.at(shares, (release.lists["school"].to_numpy(), values), 1.0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    out = shares[school]
    out[school == 0] = out[school > 0].mean(axis=0)
    return out


def tell(watcher: Watcher, moment: Moment, release: Any, who: Any, number: int) -> None:
    """What an insider learns of values now: who is in a class together, or was listed together."""
    row = np.searchsorted(moment.ids, who)
    if release.lists is None:
        low_high = release.table.select(SEVEN)
        label = low_high.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    else:
        new = set(release.lists.filter(pl.col("since") == number)["school"].to_list())
        school = release.table["school"].fill_null(0).to_list()
        label = np.array([one if one in new else -1 for one in school], np.int64)
    if (label >= 0).any():
        watcher.told.append((moment.life[row], label))


def outside(releases: list[Any], frames: list[pl.DataFrame], trees: Any) -> None:
    """What all releases together tell one who knows quasi-identifiers and who was there when."""
    found = shoal.attack_series(
        [release.table for release in releases],
        frames,
        unit="id",
        match={name: name for name in SEVEN},
        sensitive=[SENSITIVE],
        lists=[release.lists for release in releases if release.lists is not None],
        hierarchies=trees,
        k=K,
    )
    (left,) = found.left
    share = 100 / found.persons
    print(
        f"{'outsider':10} {found.persons} persons: {left.certain * share:.2f} % certain, "
        f"{left.below_three * share:.2f} % below 3; {found.cut_few * share:.2f} % with cells that, cut, "
        f"hold fewer than {K}, {found.cut_alone * share:.2f} % nobody else",
        flush=True,
    )


def compare(name: str, makers: list[str], effort: str, *, outsider: bool) -> None:
    """One story by every maker, release by release."""
    adult, words = Adult(), asked(effort)
    print(f"\n{name}: {STORIES[name]}", flush=True)
    print(
        f"{'':10} {'':>3} {'rows':>6} {'loss %':>7} {'queries %':>9} {'outdated':>8} {'unlisted':>8} "
        f"{'certain %':>9} {'below 3 %':>9} {'cut < k %':>9} {'one now %':>9} {'CPU s':>6}"
    )
    for maker in makers:
        with tempfile.TemporaryDirectory() as folder:
            making = globals()[maker](words, Path(folder))
            next(making)
            watcher = Watcher(len(adult.codes), K)
            releases, frames = [], []
            for number, moment in enumerate(story(adult.codes, adult.values, **STORIES[name]), 1):
                frame = adult.frame(moment)
                began = time.process_time()
                release, who = making.send(frame)
                seconds = time.process_time() - began
                if outsider:
                    releases.append(release)
                    frames.append(frame)
                low, high = adult.read(release.table)
                tell(watcher, moment, release, who, number)
                cut, alone = watcher.see(moment, who, low, high)
                certain, few = watcher.insider(moment.value_of_life, DIVERSE)
                error = query_error(moment, low, high, weights(adult, release))
                said = release.certificate.series
                its = said.register if said is not None else None
                print(
                    f"{maker:10} {number:3} {len(who):6} {adult.loss_percent(low, high):7.3f} {error:9.2f} "
                    f"{its.outdated if its else 0:8} {its.unlisted if its else 0:8} {certain:9.2f} "
                    f"{few:9.2f} {cut:9.2f} {alone:9.2f} {seconds:6.1f}",
                    flush=True,
                )
            if outsider:
                outside(releases, frames, words["hierarchies"])


def people(rows: int, seed: int) -> pl.DataFrame:
    """Rows of seven quasi-identifiers and a value, many of them alike."""
    luck = np.random.default_rng(seed)
    zips = luck.integers(0, 2000, rows)
    return pl.DataFrame(
        {
            "age": np.clip(luck.normal(45, 18, rows), 0, 99).astype(int),
            "zip": [f"{10_000 + 7 * one}" for one in zips],
            "sex": luck.choice(["f", "m"], rows),
            "born": luck.choice([f"land {i}" for i in range(40)], rows, p=_falling(40)),
            "work": luck.choice([f"work {i}" for i in range(12)], rows, p=_falling(12)),
            "ill": luck.choice([f"ill {i}" for i in range(30)], rows, p=_falling(30)),
        }
    )


def _falling(many: int) -> Any:
    share = 1.0 / np.arange(1, many + 1)
    return share / share.sum()


RELEASE = """
import sys, polars as pl, shoal
plan = dict(k=5, quasi=["age", "zip", "sex", "born", "work"], kinds={"age": "number"}, sensitive=["ill"],
    hierarchies={"zip": "prefixes(4, 3, 2, 1)", "sex": "flat()", "born": "flat()", "work": "flat()"},
    rules=["ill: 3-diverse"], unit="id", series="register", effort="quick")
after = sys.argv[3] if len(sys.argv) > 3 else None
series = shoal.Series(**plan, after=after)
release = series.release(pl.read_parquet(sys.argv[1]), sys.argv[2])
print(f"{release.certificate.loss_percent:.3f} % lost,", release.certificate.series.in_words())
"""


def million(rows: int, come: int) -> None:
    """A large register and its second release: 5 % leave, 1 % move, 1 % change their value."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        everyone = people(rows + come, 0).with_row_index("id")
        everyone[:rows].write_parquet(folder / "one.parquet")
        luck = np.random.default_rng(1)
        later = everyone.filter(
            pl.Series(luck.random(rows + come) > 0.05 * (np.arange(rows + come) < rows))
        )
        new = people(later.height, 2)
        columns = {name: luck.random(later.height) < 0.01 for name in ("age", "ill")}
        later = later.with_columns(
            pl.when(pl.Series(some)).then(new[name]).otherwise(pl.col(name)).alias(name)
            for name, some in columns.items()
        )
        later.write_parquet(folder / "two.parquet")
        for number, words in (
            (1, [folder / "one.parquet", folder / "q1.csv"]),
            (2, [folder / "two.parquet", folder / "q2.csv", folder / "q1.state"]),
        ):
            code, seconds, cpu, memory, text = run([sys.executable, "-c", RELEASE, *words])
            if code:
                sys.exit(text)
            state = os.path.getsize(folder / f"q{number}.state")
            many = rows if number == 1 else rows + come
            print(
                f"release {number}: {seconds:.1f} s, {cpu:.1f} CPU s, {memory:,.0f} MB, state "
                f"{state / many:.1f} bytes a person. {text.strip()}",
                flush=True,
            )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--only", default=",".join(STORIES), help="stories, by their names")
    words.add_argument("--makers", default=",".join(MAKERS))
    words.add_argument("--effort", default="quick")
    words.add_argument("--outsider", action="store_true")
    words.add_argument("--million", action="store_true")
    words.add_argument("--rows", type=float, default=1e6)
    words.add_argument("--come", type=float, default=1e5)
    given = words.parse_args()
    if given.million:
        million(int(given.rows), int(given.come))
        return
    for name in given.only.split(","):
        compare(name, given.makers.split(","), given.effort, outsider=given.outsider)


if __name__ == "__main__":
    main()
