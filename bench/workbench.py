"""The workbench beside the command line: the same table and plan, from the file to the written release.

    python bench/workbench.py [ROWS]

Prints seconds of both in one run and their ratio, what the server's memory came to, and how long the risk
and a cancel took. Speaks to the pages as a browser does, without one.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
import polars as pl

QUASI = ("age", "zip", "sex", "job")
SHOAL = (sys.executable, "-m", "shoal.cli")


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "in.csv"
        make(rows).write_csv(table)
        warm = Path(folder) / "warm.csv"
        make(2000).write_csv(warm)
        anonymize(warm)  # so that neither side compiles
        began = time.perf_counter()
        anonymize(table)
        alone = time.perf_counter() - began
        with Bench() as bench:
            began = time.perf_counter()
            bench.ask("PUT", "upload/in.csv", table.read_bytes())
            form = bench.form()
            roles = {
                f"role-{at}": role for at, role in enumerate(("identifier", *["quasi"] * 4, "sensitive"))
            }
            words = {**form, **roles, "unit": "person", "rule-5": "", "k": "5", "effort": "quick"}
            risk = time.perf_counter()
            bench.ask("POST", "plan", urlencode(words).encode())
            risk = time.perf_counter() - risk
            bench.ask("POST", "ask", urlencode({**words, "what": "run"}).encode())
            state = bench.ended(1)
            pages = time.perf_counter() - began
            bench.ask("POST", "ask", urlencode({**bench.form(), "what": "run", "effort": "600s"}).encode())
            time.sleep(10)
            cancel = time.perf_counter()
            bench.ask("POST", "runs/2/cancel", b"")
            cancel = time.perf_counter() - cancel
            memory = bench.memory()
        ratio = pages / alone
        print(f"{rows:,} rows, {state}: command line {alone:.1f} s, pages {pages:.1f} s, ratio {ratio:.2f}")
        print(f"risk {risk:.1f} s, cancel {cancel:.2f} s, server at most {memory:.0f} MB")


def make(rows: int) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "person": [f"P{row:08d}" for row in range(rows)],
            "age": random.integers(0, 100, rows),
            "zip": [f"{place:05d}" for place in random.integers(0, 400, rows) * 7 + 10_000],
            "sex": random.choice(["f", "m", "x"], rows, p=[0.5, 0.49, 0.01]),
            "job": random.choice([f"job{at}" for at in range(33)], rows),
            "illness": random.choice([f"ill{at}" for at in range(20)], rows),
        }
    )


def anonymize(table: Path) -> None:
    words = [
        "-k",
        "5",
        "-q",
        ",".join(QUASI),
        "-s",
        "illness",
        "--identifier",
        "person",
        "--unit",
        "person",
    ]
    words += [
        "--hierarchies",
        "zip=prefixes(5, 3, 1)",
        "--effort",
        "quick",
        "-o",
        str(table.with_suffix(".out.csv")),
    ]
    subprocess.run([*SHOAL, "anonymize", str(table), *words], check=True, stdout=subprocess.DEVNULL)


class Bench:
    """A workbench, asked as its browser would."""

    def __enter__(self) -> Bench:
        self.process = subprocess.Popen(
            [*SHOAL, "workbench", "--no-browser"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        link = urlsplit(self.process.stdout.readline().strip())
        self.port = link.port
        line = http.client.HTTPConnection("127.0.0.1", self.port)
        line.request("GET", f"{link.path}?{link.query}")
        got = line.getresponse()
        self.base = got.getheader("location", "").removesuffix("start")
        self.cookie = got.getheader("set-cookie", "").partition(";")[0]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """A request as its page sends it."""
        head = {
            "Cookie": self.cookie,
            "Origin": f"http://127.0.0.1:{self.port}",
            "Accept": "application/json",
        }
        line = http.client.HTTPConnection("127.0.0.1", self.port)
        line.request(method, self.base + path, body, head)
        got = line.getresponse()
        text = got.read()
        if got.status >= 400:
            raise SystemExit(f"{method} {path}: {got.status} {text.decode()}")
        return text

    def form(self) -> dict[str, str]:
        """What a form carries."""
        page = json.loads(self.ask("GET", "columns"))
        return {"revision": page["revision"], "tab": page["tab"]}

    def ended(self, number: int) -> str:
        """How a run ended."""
        last = self.ask("GET", f"runs/{number}/events").decode().rpartition("data: ")[2]
        return str(json.loads(last)["state"])

    def memory(self) -> float:
        """The most memory that the server held, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
