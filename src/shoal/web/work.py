"""The hand: a process of its own that holds the table, so that it can be killed and the pages stay quick.

Questions come as JSON lines, answers go back as JSON lines. Errors of ours are passed on in their words,
which hold no cell; of others only the type's name is.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import shoal
from shoal.web.deeds import DEEDS, Grip

__all__ = ["answer", "main"]

Say = Callable[[dict[str, Any]], None]


def main(folder: Path) -> None:
    """Answer questions until nobody can ask any more."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # no core file may hold the table
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nobody else may write between the lines, nor may compiled libraries
    sys.stdout = sys.stderr
    asked: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, asked), daemon=True).start()

    def say(facts: dict[str, Any]) -> None:
        try:
            out.write(json.dumps(facts) + "\n")
            out.flush()
        except OSError:  # nobody listens: whatever is being done is for nobody
            os._exit(1)

    held = Grip(folder)
    while True:
        answer(held, asked.get(), say)


def answer(held: Grip, line: str, say: Say) -> None:
    """Answer one question."""
    try:
        question = json.loads(line)
        say({"done": DEEDS[question["do"]](held, say, **question["words"])})
    except shoal.ShoalError as error:
        words = str(error).replace(f"{held.folder}{os.sep}", "")
        say({"failed": words, "field": error.field, "column": error.column})
    except MemoryError:
        words = "The machine has too little memory for this table. Nothing was published."
        say({"failed": words, "field": None, "column": None})
    except BaseException as error:  # its text may quote a cell; also panics of Polars
        words = (
            f"Something went wrong inside Shoal ({type(error).__name__}). This is a bug: please report it."
        )
        say({"failed": words, "field": None, "column": None})


def _listen(questions: TextIO, asked: queue.SimpleQueue[str]) -> None:
    for line in questions:
        asked.put(line)
    os._exit(0)  # the server is gone


if __name__ == "__main__":
    main(Path(sys.argv[1]))
