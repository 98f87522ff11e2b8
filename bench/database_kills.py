"""Kill the client and the server at random moments: the target table is absent, the old one, or whole.

    python bench/database_kills.py [--kills 20] [--rows 20000] [--seed 0]

Three ways: a client that writes to PostgreSQL dies by SIGKILL; one that writes to a SQLite file does; the
PostgreSQL server and all that belongs to it do while a client writes. Moments are drawn evenly over the
time that a whole write takes, and a little beyond; half of the targets hold an older release. Then a judge
reads the table: it must be absent where nothing was, or one of the two releases to the cell; a client that
said it was done must have been. A later run must replace it and leave no temporary. Prints counts; exits 1
where anything is wrong. Starts a PostgreSQL server of its own in a temporary folder (`tests/postgres.py`).
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import shoal
from shoal.model.certificate import Certificate
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.database import write_database

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from postgres import Server, running

OLD, NEW = 3, 6
PAPERS = "out.certificate.json"


def release_of(rows: int, k: int) -> shoal.Release:
    """A release of a made table, the same wherever it is made."""
    frame = pl.DataFrame(
        {
            "age": [20 + i * 7919 % 61 for i in range(rows)],
            "zip": [f"{i * 104729 % 997:05d}" for i in range(rows)],
            "ill": [("flu", "cold", "ulcer")[i * 31 % 3] for i in range(rows)],
            "cost": [i * 15485863 % 10007 / 100 for i in range(rows)],
        }
    )
    words = {"quasi": ["age", "zip"], "sensitive": ["ill"], "keep": ["cost"], "method": "mondrian"}
    return shoal.anonymize(frame, k=k, **words)


@dataclass(frozen=True)
class Parts:
    """All that a writer needs, as plain values: a client need not make its release."""

    table: pl.DataFrame
    verdict: Verdict
    certificate: str
    receipt: str

    @classmethod
    def of(cls, release: shoal.Release) -> Parts:
        """The parts of a release."""
        papers = release.certificate.to_json(), release.receipt.to_json()
        return cls(release.table, release.verdict, *papers)

    def write(self, uri: str) -> None:
        """Publish to a table, whatever is there."""
        papers = Certificate.of_json(self.certificate), Receipt.of_json(self.receipt)
        write_database(self.table, self.verdict, *papers, uri, replace=True, papers=PAPERS)


def child(uri: str, parts: Path) -> None:
    """Wait for a word, write, say so."""
    made: Parts = pickle.loads(parts.read_bytes())
    print("ready", flush=True)
    sys.stdin.readline()
    made.write(uri)
    print("done", flush=True)


class Client:
    """A process of its own that writes when it is told to."""

    def __init__(self, uri: str, parts: Path) -> None:
        words = [sys.executable, __file__, "--child", uri, "--parts", str(parts)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.told, self.says = self.process.stdin, self.process.stdout
        assert self.says.readline() == "ready\n", "the client could not make its release"

    def go(self) -> None:
        """Let it begin."""
        self.told.write("go\n")
        self.told.flush()

    def ended(self) -> bool:
        """Whether it said that it was done before it was."""
        said = self.says.read()
        self.process.wait()
        return said == "done\n"


class Trials:
    """What the table is after each kill, and what is wrong with that."""

    def __init__(self, rows: int, rng: random.Random) -> None:
        self.rng = rng
        made = {"old": release_of(rows, OLD), "whole": release_of(rows, NEW)}
        self.releases = {name: Parts.of(release) for name, release in made.items()}
        self.parts = Path("parts").resolve()
        self.parts.write_bytes(pickle.dumps(self.releases["whole"]))
        self.cells = {name: self._sorted(one.table) for name, one in self.releases.items()}
        self.counts: dict[str, Counter[str]] = {}
        self.wrong = 0

    def _sorted(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.sort(table.columns, nulls_last=True)

    def begin(self, uri: str, *, has_old: bool) -> None:
        """An older release in the target, or none."""
        if has_old:
            self.releases["old"].write(uri)

    def found(self, uri: str) -> str:
        """Which release the target holds."""
        try:
            table = self._sorted(shoal.read_database(uri).frame)
        except shoal.DataError as error:
            said = str(error)
            return "absent" if "no table of that name" in said or "There is no file" in said else said
        same = [name for name, cells in self.cells.items() if cells.equals(table)]
        return same[0] if same else "a torn table"

    def judge(self, way: str, uri: str, *, has_old: bool, is_done: bool, aside: str = "") -> None:
        """Look at the target after a kill, and let another run replace it."""
        found = self.found(uri)
        allowed = {"whole"} if is_done else {"old" if has_old else "absent", "whole"}
        word = found if found in allowed else f"WRONG: {found} where {sorted(allowed)} may be"
        papers = ""
        if word == "whole":
            with suppress(OSError, shoal.ShoalError):
                said = shoal.Certificate.of_json(Path(PAPERS).read_text())
                papers = ", its certificate beside it" if said.k == NEW else ""
            papers = papers or ", without its certificate"
            if is_done and "without" in papers:
                word = "WRONG: done, without its certificate"
        self.releases["old"].write(uri)
        left = sorted(path.name for path in Path().glob(".shoal*"))
        if self.found(uri) != "old" or left:
            word = f"WRONG: a later run left {self.found(uri)} and {left}"
        if word.startswith("WRONG"):
            self.wrong += 1
            print(f"{way}: {word}", flush=True)
        self.counts.setdefault(way, Counter())[f"{word}{papers}{aside}"] += 1

    def took(self, uri: str) -> float:
        """How long a whole write takes, in the middle of three."""
        times = []
        for _ in range(3):
            client = Client(uri, self.parts)
            start = time.perf_counter()
            client.go()
            assert client.says.readline() == "done\n"
            times.append(time.perf_counter() - start)
            client.ended()
        return sorted(times)[1]

    def clients(self, way: str, uri: str, kills: int, clean: object) -> None:
        """Kill clients that write to `uri`; those that were done before are not counted."""
        assert callable(clean)
        took, killed = self.took(uri), 0
        while killed < kills:
            clean()
            has_old = self.rng.random() < 0.5
            self.begin(uri, has_old=has_old)
            client = Client(uri, self.parts)
            client.go()
            time.sleep(took * self.rng.uniform(0, 1.1))
            client.process.send_signal(signal.SIGKILL)
            is_done = client.ended()
            if client.process.returncode == -signal.SIGKILL:
                killed += 1
                self.judge(way, uri, has_old=has_old, is_done=is_done)

    def server(self, way: str, server: Server, uri: str, kills: int, clean: object) -> None:
        """Kill the server while this process writes."""
        assert callable(clean)
        start = time.perf_counter()
        self.releases["whole"].write(uri)
        took, killed = time.perf_counter() - start, 0
        while killed < kills:
            clean()
            has_old = self.rng.random() < 0.5
            self.begin(uri, has_old=has_old)
            dead = threading.Event()

            def kill(after: float = took * self.rng.uniform(0, 1.0), dead: threading.Event = dead) -> None:
                time.sleep(after)
                server.kill()
                dead.set()

            timer = threading.Thread(target=kill)
            is_done, aside = False, ""
            timer.start()
            try:
                self.releases["whole"].write(uri)
                is_done = True
            except shoal.DataError as error:
                aside = ", as far as the client knows" if "is not known" in str(error) else ""
            timer.join()
            assert dead.is_set()
            server.start()
            killed += 1
            self.judge(way, uri, has_old=has_old, is_done=is_done, aside=aside)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child")
    parser.add_argument("--parts", type=Path)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.parts)
        return
    os.chdir(tempfile.mkdtemp(prefix="shoal-kills-"))
    trials = Trials(given.rows, random.Random(given.seed))
    file, table = "sqlite:out.db#out", "drop table if exists out"

    def clean_file() -> None:
        for path in (*Path().glob("out.*"),):
            path.unlink()

    with running() as server:
        uri = f"{server.uri()}#out"

        def clean_server() -> None:
            server.run(table)
            for path in Path().glob("out.*json"):
                path.unlink()

        trials.clients("client, PostgreSQL", uri, given.kills, clean_server)
        trials.server("server, PostgreSQL", server, uri, given.kills, clean_server)
        trials.clients("client, SQLite", file, given.kills, clean_file)
    for way, its in trials.counts.items():
        words = ", ".join(f"{number} {word}" for word, number in sorted(its.items()))
        print(f"{way:<20} {its.total():4}: {words}")
    print("all absent, old or whole" if not trials.wrong else f"faults: {trials.wrong}")
    sys.exit(trials.wrong != 0)


if __name__ == "__main__":
    main()
