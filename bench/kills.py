"""Kill writers at every step and let two write at once: each release is absent, old or whole.

    python bench/kills.py --random 300 --pairs 300

Four releases of regions are made, two with text cells and two with ids and lookup tables, each with a map.
Forked writers publish them over each other into folders of their own and

- die by SIGKILL before and after every file call (open, fsync, replace, unlink, chmod) of publishing;
- die by SIGKILL at random moments;
- get SIGTERM at every file call: they must end in order, with no temporaries;
- write one target two at a time.

Then a judge looks at every folder: the table is absent (where nothing was), or one of the releases to the
byte, with its certificate, receipt and lookups, and `shoal.verify` denies nothing; its map is absent or its
own. A later run must leave nothing but its own files. Prints counts; exits 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl

import shoal
from shoal.cli.stopping import Stopped, listen
from shoal.model.certificate import Certificate
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.table import write_release
from shoal.publish.target import Drawing

CALLS = ((os, "open"), (os, "fsync"), (os, "replace"), (os, "unlink"), (os, "chmod"), (io, "open"))
SCENES = [
    ("ids 1", "ids 2"),
    (None, "text 1"),
    (None, "ids 1"),
    ("text 1", "text 2"),
    ("text 1", "ids 2"),
    ("ids 1", "text 2"),
    ("ids 1", "ids 1"),
]
PAIRS = [("ids 1", "ids 2"), ("text 1", "text 2"), ("text 1", "ids 2")]


@dataclass(frozen=True)
class Parts:
    """All that a writer needs, as plain values: a fork may touch Polars only if its parent did not."""

    columns: dict[str, list[object]]
    lookups: dict[str, dict[str, list[object]]]
    certificate: str
    receipt: str
    verdict: Verdict
    map: bytes

    def write(self, folder: Path) -> None:
        """Publish to `folder`."""
        write_release(
            pl.DataFrame(self.columns),
            self.verdict,
            Certificate.of_json(self.certificate),
            Receipt.of_json(self.receipt),
            folder / "out.csv",
            lookups={name: pl.DataFrame(columns) for name, columns in self.lookups.items()},
            drawings=[Drawing(folder / "map.html", "map", self._draw)],
        )

    def _draw(self, to: Path) -> None:
        to.write_bytes(self.map)


def in_fork(work: Callable[[], int | None]) -> int:
    """The number of a fork that does `work` and ends with its code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = work() or 0
        except Stopped as stop:
            code = stop.code
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """How a fork ended: its code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def make(root: Path) -> dict[str, Parts]:
    """The releases, written in a fork to `root/whole` and handed back as plain values."""

    def work() -> None:
        names = "abcdef"
        nodes = pl.DataFrame({"id": list(names), "lat": [1.0 + i for i in range(6)], "lon": [5.0] * 6})
        graph = shoal.read_graph([*pairwise(names)], nodes)
        parts: dict[str, Parts] = {}
        for cells in ("text", "id"):
            for number, k in ((1, 8), (2, 12)):
                frame = pl.DataFrame({"zip": list(names) * 4, "n": list(range(number, number + 24))})
                release = shoal.anonymize(
                    frame,
                    k=k,
                    quasi=["zip"],
                    keep=["n"],
                    graphs={"zip": graph},
                    method="regions",
                    cells=cells,
                )
                name = f"{'ids' if cells == 'id' else 'text'} {number}"
                folder = root / "whole" / name
                folder.mkdir(parents=True)
                files = release.write(folder / "out.csv", map_to=folder / "map.html")
                assert files.map is not None
                parts[name] = Parts(
                    release.table.to_dict(as_series=False),
                    {column: lookup.to_dict(as_series=False) for column, lookup in release.lookups.items()},
                    release.certificate.to_json(),
                    files.receipt.read_text(),
                    release.verdict,
                    files.map.read_bytes(),
                )
        (root / "parts").write_bytes(pickle.dumps(parts))

    assert ended(in_fork(work)) == 0, "the releases could not be made"
    made: dict[str, Parts] = pickle.loads((root / "parts").read_bytes())
    return made


class Trials:
    """Folders with what dead or rival writers left, to be judged at the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = make(root)
        self.count = 0

    def folder(self, old: str | None) -> Path:
        """A new folder, with a whole older release where one is named."""
        self.count += 1
        folder = self.root / f"{self.count:05}"
        if old is None:
            folder.mkdir()
        else:
            shutil.copytree(self.root / "whole" / old, folder)
        return folder

    def at_every_call(self, number: int, scenes: int) -> Iterator[tuple[Path, str | None, str]]:
        """Writers that get a signal before and after each file call; all of them."""
        for old, new in SCENES[:scenes]:
            step, done = 0, False
            while not done:
                folder = self.folder(old)
                work = partial(self._write_with_signal, new, folder, step, number)
                code = ended(in_fork(work))
                done = code == 0  # it has fewer calls than that
                assert done or code in {-number, 128 + number}, f"ended with {code} at step {step}"
                step += 1
                yield folder, old, new

    def _write_with_signal(self, name: str, folder: Path, step: int, number: int) -> None:
        passed = 0
        process = os.getpid()

        def watched(real: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **words: object) -> object:
                nonlocal passed
                for moment in range(2):
                    if passed == step and os.getpid() == process:
                        passed += 1
                        os.kill(process, number)
                    else:
                        passed += 1
                    if moment == 0:
                        result = real(*args, **words)
                return result

            return call

        if number != signal.SIGKILL:
            listen()
        for module, function in CALLS:
            setattr(module, function, watched(getattr(module, function)))
        self.parts[name].write(folder)

    def at_random(self, most: int, seed: int) -> Iterator[tuple[Path, str | None, str]]:
        """Writers killed at a random moment of the time a whole run takes; those too quick are left out."""
        rng = random.Random(seed)
        took = {name: sorted(self._seconds(name) for _ in range(3))[1] for name in self.parts}
        killed, number = 0, 0
        while killed < most:
            old, new = SCENES[number % len(SCENES)]
            number += 1
            folder = self.folder(old)
            child = self._begun(new, folder)
            time.sleep(took[new] * rng.uniform(0, 1))
            os.kill(child, signal.SIGKILL)
            if ended(child) == -signal.SIGKILL:
                killed += 1
                yield folder, old, new

    def _begun(self, name: str, folder: Path) -> int:
        """The number of a fork that begins to write this very moment."""
        here, there = os.pipe()

        def work() -> None:
            os.write(there, b"!")
            self.parts[name].write(folder)

        child = in_fork(work)
        os.read(here, 1)
        os.close(here)
        os.close(there)
        return child

    def _seconds(self, name: str) -> float:
        child = self._begun(name, self.folder(None))
        begin = time.perf_counter()
        assert ended(child) == 0
        return time.perf_counter() - begin

    def at_once(self, tries: int) -> Iterator[tuple[Path, str | None, tuple[str, str]]]:
        """Two writers let loose on one target at one moment."""
        for number in range(tries):
            pair = PAIRS[number % len(PAIRS)]
            old = (None, *pair)[number // len(PAIRS) % 3]
            folder = self.folder(old)
            here, there = os.pipe()

            def work(name: str, folder: Path = folder, here: int = here, there: int = there) -> None:
                os.close(there)
                os.read(here, 1)  # until the last hand lets go of the other end
                self.parts[name].write(folder)

            children = [in_fork(partial(work, name)) for name in pair]
            os.close(there)
            codes = [ended(child) for child in children]
            os.close(here)
            assert codes == [0, 0], f"two writers ended with {codes}"
            yield folder, old, pair


def judged(root: Path, folder: Path) -> str:
    """Which whole release lies in a folder, or `absent`; what is wrong otherwise."""
    table = folder / "out.csv"
    if not table.exists():
        return "absent" if not (folder / "map.html").exists() else "WRONG: a map without its release"
    for whole in sorted((root / "whole").iterdir()):
        if table.read_bytes() == (whole / "out.csv").read_bytes():
            break
    else:
        return "WRONG: a torn table"
    drawn = folder / "map.html"
    if drawn.exists() and drawn.read_bytes() != (whole / "map.html").read_bytes():
        return "WRONG: the map of another release"
    try:
        papers = folder / "out.certificate.json", folder / "out.receipt.json"
        findings = shoal.verify(table, papers[0], receipt=papers[1])
        receipt = Receipt.of_json(papers[1].read_text(), release=digest(table))
    except (shoal.ShoalError, OSError) as error:
        return f"WRONG: {error}"
    denied = [finding.claim for finding in findings if finding.holds is False]
    if denied or receipt.release != digest(table):
        return f"WRONG: {denied or 'the receipt of another release'}"
    return whole.name


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(folder: Path) -> list[str]:
    """All files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def judge_all(trials: Trials, left: list[tuple[str, Path, str | None, tuple[str, ...]]]) -> int:
    """Judge every folder, let one more writer run over it, and print what was found; count the faults."""
    counts: dict[str, Counter[str]] = {}
    wrong = 0
    for kind, folder, old, new in left:
        found = judged(trials.root, folder)
        allowed = {old or "absent", *new} if kind != "two at once" else {*new}
        if found not in allowed and not found.startswith("WRONG"):
            found = f"WRONG: {found} where {sorted(allowed)} may be"
        tidy = [name for name in names(folder) if name.startswith(".")]
        if kind in {"two at once", "SIGTERM at every call"} and tidy:
            found = "WRONG: temporaries"
        if found in new and kind == "two at once" and names(folder) != names(trials.root / "whole" / found):
            found = f"WRONG: {names(folder)} beside {found}"
        word = found if found.startswith("WRONG") else "absent" if found == "absent" else "whole"
        word = "old" if found == old and found not in new else word
        if not word.startswith("WRONG"):
            trials.parts[new[0]].write(folder)
            if names(folder) != names(trials.root / "whole" / new[0]):
                word = f"WRONG: a later run left {names(folder)}"
        if word.startswith("WRONG"):
            wrong += 1
            print(f"{kind}, {old} -> {new}, {folder}: {word}")
        counts.setdefault(kind, Counter())[word] += 1
    for kind, its in counts.items():
        words = ", ".join(f"{number} {word}" for word, number in sorted(its.items()))
        print(f"{kind:<24} {its.total():5}: {words}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--random", type=int, default=300, help="writers killed at random moments")
    parser.add_argument("--pairs", type=int, default=300, help="pairs of writers at once")
    parser.add_argument(
        "--scenes", type=int, default=len(SCENES), help="old and new releases, for every call"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep the folders here")
    given = parser.parse_args()
    root = given.keep or Path(tempfile.mkdtemp(prefix="shoal-kills-"))
    root.mkdir(parents=True, exist_ok=True)
    trials = Trials(root)
    left: list[tuple[str, Path, str | None, tuple[str, ...]]] = []
    for kind, number in (
        ("kill -9 at every call", signal.SIGKILL),
        ("SIGTERM at every call", signal.SIGTERM),
    ):
        left += [(kind, f, old, (new,)) for f, old, new in trials.at_every_call(number, given.scenes)]
    left += [
        ("kill -9 at random", f, old, (new,)) for f, old, new in trials.at_random(given.random, given.seed)
    ]
    left += [("two at once", f, old, pair) for f, old, pair in trials.at_once(given.pairs)]
    code = ended(in_fork(lambda: min(judge_all(trials, left), 98)))
    if given.keep is None and code == 0:
        shutil.rmtree(root)
    print("all absent, old or whole, and verified" if code == 0 else f"faults: {code}; see {root}")
    sys.exit(code != 0)


if __name__ == "__main__":
    main()
