"""What tests of the workbench share: tables, a served workbench, and a browser."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest


class Served:
    """A workbench in a process of its own, with its private folder below `home`."""

    def __init__(self, home: Path, *words: str) -> None:
        self.home = home
        self.said = (home / "said.txt").open("w+")
        environment = {**os.environ, "TMPDIR": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal.cli", "workbench", "--no-browser", *words],
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            env=environment,
            cwd=home,
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.address = self.process.stdout.readline().strip()
        assert self.address, (home / "said.txt").read_text()
        self.port = urlsplit(self.address).port

    @property
    def folders(self) -> list[Path]:
        return sorted(self.home.glob("shoal-workbench-*"))

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.said.close()
        return code


@pytest.fixture
def serve(tmp_path):
    started: list[Served] = []

    def start(*words: str, home: Path | None = None) -> Served:
        place = home or tmp_path / f"home{len(started)}"
        place.mkdir(exist_ok=True)
        started.append(Served(place, *words))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()
