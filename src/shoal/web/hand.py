"""The server's side of the hand: start it, ask it, kill it.

The hand is a process of its own that holds the table. A question is a line of JSON, and so is every answer;
one question at a time. To cancel is to kill: the next question starts another, which opens the table anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["CANCELLED", "DONE", "FAILED", "RUNNING", "Hand", "Job"]

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
LONGEST = 64 * 2**20
"""Bytes in an answer."""
GONE = "The work stopped: the machine may have too little memory for this table. Nothing was published."


@dataclass(slots=True)
class Job:
    """A question to the hand, how far it is, and what came of it.

    `state` is running, then done, failed or cancelled. Where it failed, `words` say why, and `at` and
    `column` which field and column they speak of.
    """

    what: str = "starting"
    share: float = 0.0
    seconds: float = 0.0
    losses: list[tuple[float, float]] = field(default_factory=list)
    least: float | None = None
    state: str = RUNNING
    words: str = ""
    at: str | None = None
    column: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_running(self) -> bool:
        """Whether an answer is still to come."""
        return self.state == RUNNING

    def tell(self) -> None:
        """Wake whoever waits for a change."""
        self.changed.set()
        self.changed = asyncio.Event()

    def take(self, said: dict[str, Any]) -> None:
        """What the hand said of it; nothing more once it ended."""
        if not self.is_running:
            return
        if "done" in said:
            self.state, self.facts = DONE, said["done"]
        elif "failed" in said:
            self.state, self.words = FAILED, said["failed"]
            self.at, self.column = said["field"], said["column"]
        else:
            self.what, self.share, self.seconds = said["what"], said["share"], said["seconds"]
            self.least = said["least"]
            if said["loss"] is not None:
                self.losses.append((said["seconds"], said["loss"]))
        self.tell()


class Hand:
    """One process that holds the table, asked one thing at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: Process | None = None
        self._opened: dict[str, Any] | None = None  # asked again of the next hand
        self._turn = asyncio.Lock()

    async def ask(
        self,
        do: str,
        words: dict[str, Any],
        *,
        job: Job | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Job:
        """Ask the hand and wait for its answer; a question that nobody wants any more is not asked."""
        job = job or Job()
        async with self._turn:
            if not job.is_running:
                return job
            if not is_wanted():
                job.state = CANCELLED
                return job
            if self._process is None or self._process.returncode is not None:
                await self._start()
                if self._opened is not None and do != "open":
                    await self._put(Job(), "open", self._opened)
            await self._put(job, do, words)
        if do == "open" and job.state == DONE:
            self._opened = words
        return job

    def cancel(self, job: Job) -> None:
        """Kill the hand where it works on this."""
        if job.is_running:
            job.state = CANCELLED
            self.stop()
            job.tell()

    def stop(self) -> None:
        """Kill the hand with whatever it started."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:  # pragma: no cover  (Windows)
                process.kill()

    async def close(self) -> None:
        """Kill the hand, and wait until it is gone."""
        process = self._process
        self.stop()
        async with self._turn:  # whoever waits for an answer has seen the end of it
            if process is not None:
                await process.communicate()

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "shoal.web.work", str(self._folder)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,  # tracebacks quote cells
            limit=LONGEST,
            start_new_session=True,
        )

    async def _put(self, job: Job, do: str, words: dict[str, Any]) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write((json.dumps({"do": do, "words": words}) + "\n").encode())
            await process.stdin.drain()
            async for line in process.stdout:
                job.take(json.loads(line))
                if not job.is_running:
                    return
        await process.wait()
        if job.is_running:
            job.take({"failed": GONE, "field": None, "column": None})
