"""Kill writers of a register at every step: state and release are of one number, or the old ones.

    python bench/kill_register.py --random 100

Forked writers publish the first release of a register, the second after it, and the second once more over
an older one that reached nobody. They die by SIGKILL before and after every file call of publishing, and at
random moments, or get SIGTERM at every file call. Then a judge looks at every folder: the release before is
as it was; the new table is absent, the old one or the new one, and where it is there, `shoal.verify` denies
nothing of it with its lists, state and former state; a state whose release is there is marked as followed;
and the run that is asked once more leaves the very files of a run that nobody stopped. Prints counts; exits
1 where anything is wrong.
"""

from __future__ import annotations

import argparse
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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl

import shoal
from kills import CALLS, ended, in_fork
from shoal.cli.stopping import listen
from shoal.model.certificate import Certificate
from shoal.model.receipt import Receipt
from shoal.model.register import RegisterState
from shoal.model.verdict import Verdict
from shoal.run.keep import write_register
from shoal.run.register import Register

SCENES = ("first", "second", "again")
ENDS = (".csv", ".lists.csv", ".certificate.json", ".receipt.json", ".state")


@dataclass(frozen=True)
class Parts:
    """All that a writer needs, as plain values: a fork may touch Polars only if its parent did not."""

    name: str
    table: dict[str, list[object]]
    lists: dict[str, list[object]]
    ids: list[str]
    state: bytes
    certificate: str
    receipt: str
    verdict: Verdict
    after: str | None
    redo: bool

    def write(self, folder: Path, *, redo: bool = False) -> None:
        """Publish to `folder`."""
        after = None if self.after is None else folder / self.after
        register = Register(
            RegisterState.of_bytes(self.state),
            pl.DataFrame(self.lists),
            pl.Series(self.ids),
            after,
            redo or self.redo,
        )
        release = SimpleNamespace(
            _register=register,
            _published=SimpleNamespace(sealed=(pl.DataFrame(self.table), None)),
            verdict=self.verdict,
            certificate=Certificate.of_json(self.certificate),
            receipt=Receipt.of_json(self.receipt),
        )
        write_register(release, folder / self.name)


def parts_of(release: shoal.Release, name: str, after: str | None, *, redo: bool) -> Parts:
    """A release as plain values."""
    register = release._register
    assert isinstance(register, Register)
    return Parts(
        name,
        release.table.to_dict(as_series=False),
        register.lists.to_dict(as_series=False),
        register.ids.to_list(),
        register.state.to_bytes(),
        release.certificate.to_json(),
        release.receipt.to_json(),
        release.verdict,
        after,
        redo,
    )


def make(root: Path) -> dict[str, Parts]:
    """What is there before each scene, in folders, and what is then written, as plain values."""

    def work() -> None:
        luck = np.random.default_rng(0)
        frame = pl.DataFrame(
            {
                "who": [f"person {i}" for i in range(60)],
                "age": luck.integers(0, 90, 60),
                "ill": luck.choice(["flu", "cold", "pox"], 60),
            }
        )
        plan = shoal.Plan(
            k=3,
            quasi=["age"],
            kinds={"age": "number"},
            sensitive=["ill"],
            rules=["ill: 2-diverse"],
            unit="who",
            series="register",
            method="mondrian",
        )
        for scene in SCENES:
            (root / "old" / scene).mkdir(parents=True)
        first = shoal.anonymize(frame[:40], plan)
        for scene in SCENES[1:]:
            first.write(root / "old" / scene / "q1.csv")
        after = root / "old" / "second" / "q1.state"
        second = shoal.anonymize(frame[5:50], plan, after=after)
        older = shoal.anonymize(frame[10:60], plan, after=root / "old" / "again" / "q1.state")
        older.write(root / "old" / "again" / "q2.csv")
        parts = {
            "first": parts_of(first, "q1.csv", None, redo=False),
            "second": parts_of(second, "q2.csv", "q1.state", redo=False),
            "again": parts_of(second, "q2.csv", "q1.state", redo=True),
        }
        for scene in SCENES:
            shutil.copytree(root / "old" / scene, root / "whole" / scene)
            parts[scene].write(root / "whole" / scene)
        (root / "parts").write_bytes(pickle.dumps(parts))

    assert ended(in_fork(work)) == 0, "the releases could not be made"
    made: dict[str, Parts] = pickle.loads((root / "parts").read_bytes())
    return made


class Trials:
    """Folders with what dead writers left, to be judged at the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = make(root)
        self.count = 0

    def folder(self, scene: str) -> Path:
        """A new folder with what is there before a scene."""
        self.count += 1
        folder = self.root / f"{self.count:05}"
        shutil.copytree(self.root / "old" / scene, folder)
        return folder

    def at_every_call(self, number: int) -> Iterator[tuple[Path, str]]:
        """Writers that get a signal before and after each file call; all of them."""
        for scene in SCENES:
            step, done = 0, False
            while not done:
                folder = self.folder(scene)
                code = ended(in_fork(partial(self._write_with_signal, scene, folder, step, number)))
                done = code == 0  # it has fewer calls than that
                assert done or code in {-number, 128 + number}, f"ended with {code} at step {step}"
                step += 1
                yield folder, scene

    def _write_with_signal(self, scene: str, folder: Path, step: int, number: int) -> None:
        passed = 0

        def watched(real: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **words: object) -> object:
                nonlocal passed
                for moment in range(2):
                    passed += 1
                    if passed == step + 1:
                        os.kill(os.getpid(), number)
                    if moment == 0:
                        result = real(*args, **words)
                return result

            return call

        if number != signal.SIGKILL:
            listen()
        for module, function in CALLS:
            setattr(module, function, watched(getattr(module, function)))
        self.parts[scene].write(folder)

    def at_random(self, most: int, seed: int) -> Iterator[tuple[Path, str]]:
        """Writers killed at a random moment of the time a whole run takes; those too quick are left out."""
        rng = random.Random(seed)
        killed, number = 0, 0
        while killed < most:
            scene = SCENES[number % len(SCENES)]
            number += 1
            folder = self.folder(scene)
            here, there = os.pipe()

            def work(scene: str = scene, folder: Path = folder, there: int = there) -> None:
                os.write(there, b"!")
                self.parts[scene].write(folder)

            child = in_fork(work)
            os.read(here, 1)
            time.sleep(rng.uniform(0, 0.06))
            os.kill(child, signal.SIGKILL)
            os.close(here)
            os.close(there)
            if ended(child) == -signal.SIGKILL:
                killed += 1
                yield folder, scene


def files_in(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def judged(root: Path, folder: Path, scene: str, parts: Parts) -> str:
    """`absent`, `old` or `new`; what is wrong otherwise."""
    now, old, new = files_in(folder), files_in(root / "old" / scene), files_in(root / "whole" / scene)
    if parts.after is not None:
        if any(now[f"q1{end}"] != old[f"q1{end}"] for end in ENDS[:-1]):
            return "WRONG: the release before has changed"
        one, other = (RegisterState.of_bytes(some["q1.state"]) for some in (now, old))
        if replace(one, followed=other.followed).to_bytes() != old["q1.state"]:
            return "WRONG: the state before has changed"
    if parts.name not in now:
        return "absent"
    table = folder / parts.name
    found = "new" if now[parts.name] == new[parts.name] else "old"
    if found == "old" and now[parts.name] != old.get(parts.name):
        return "WRONG: a torn table"
    kept = table.with_suffix(".state")
    if now[kept.name] != (new if found == "new" else old)[kept.name]:
        return "WRONG: the state of another release"
    try:
        before = [] if parts.after is None else [folder / "q1.csv"]
        paper = table.with_name(f"{table.stem}.certificate.json")
        findings = shoal.verify(table, paper, before=before, state=kept)
    except shoal.ShoalError as error:
        return f"WRONG: {error}"
    if denied := [one.claim for one in findings if one.holds is False]:
        return f"WRONG: {denied}"
    if found == "new" and parts.after is not None and not one.followed:
        return "WRONG: two releases can follow one state"
    return found


def judge_all(trials: Trials, left: list[tuple[str, Path, str]]) -> int:
    """Judge every folder, let one more writer run over it, and print what was found; count the faults."""
    counts: dict[str, Counter[str]] = {}
    wrong = 0
    for kind, folder, scene in left:
        parts = trials.parts[scene]
        found = judged(trials.root, folder, scene, parts)
        tidy = not [name for name in files_in(folder) if name.startswith(".")]
        if kind.startswith("SIGTERM") and not tidy:
            found = "WRONG: temporaries"
        if not found.startswith("WRONG"):
            parts.write(folder, redo=True)
            if files_in(folder) != files_in(trials.root / "whole" / scene):
                found = "WRONG: a later run does not mend it"
        if found.startswith("WRONG"):
            wrong += 1
            print(f"{kind}, {scene}, {folder}: {found}")
        counts.setdefault(kind, Counter())[found] += 1
    for kind, its in counts.items():
        words = ", ".join(f"{number} {word}" for word, number in sorted(its.items()))
        print(f"{kind:<24} {its.total():5}: {words}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--random", type=int, default=100, help="writers killed at random moments")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep the folders here")
    given = parser.parse_args()
    root = given.keep or Path(tempfile.mkdtemp(prefix="shoal-kills-"))
    root.mkdir(parents=True, exist_ok=True)
    trials = Trials(root)
    left: list[tuple[str, Path, str]] = []
    for kind, number in (
        ("kill -9 at every call", signal.SIGKILL),
        ("SIGTERM at every call", signal.SIGTERM),
    ):
        left += [(kind, folder, scene) for folder, scene in trials.at_every_call(number)]
    left += [
        ("kill -9 at random", folder, scene) for folder, scene in trials.at_random(given.random, given.seed)
    ]
    code = ended(in_fork(lambda: min(judge_all(trials, left), 98)))
    if given.keep is None and code == 0:
        shutil.rmtree(root)
    print("all absent, old or whole, and verified" if code == 0 else f"faults: {code}; see {root}")
    sys.exit(code != 0)


if __name__ == "__main__":
    main()
