"""How a command ends: 0 done, 2 bad plan or data, 3 the check failed, 130 Ctrl-C, 1 a bug of ours.

Tracebacks quote arguments and locals, and those hold cells: none is ever shown.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import shoal

__all__ = ["guarded"]

DONE, BUG, BAD, FAILED, INTERRUPTED = 0, 1, 2, 3, 130


def guarded(app: Any, arguments: Sequence[str]) -> int:
    """Run the app and turn whatever comes out of it into an exit code and at most a few sentences."""
    try:
        app(args=list(arguments), prog_name="shoal")
    except SystemExit as end:
        return _flushed(end.code if isinstance(end.code, int) else BUG)
    except KeyboardInterrupt:
        return _say("Stopped. Nothing was published.", INTERRUPTED)
    except shoal.NotAnonymous as error:
        return _say(str(error), FAILED)
    except shoal.ShoalError as error:
        return _say(str(error), BAD)
    except MemoryError:
        return _say("The machine has too little memory for this table. Nothing was published.", BUG)
    except BaseException as error:
        if isinstance(error, BrokenPipeError):
            return _flushed(BUG)
        # also panics of Polars, which are no ordinary exceptions
        place = _place_of(error)
        return _say(
            f"Something went wrong inside Shoal ({type(error).__name__} at {place}). This is a bug: "
            "please report this line. It holds nothing of your table.",
            BUG,
        )
    return _flushed(DONE)


def _say(sentence: str, code: int) -> int:
    text = sentence if code == INTERRUPTED else f"Error: {sentence}"
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
    return code


def _flushed(code: int) -> int:
    """Flush while a reader who went away can still be told from a bug."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _place_of(error: BaseException) -> str:
    """The last line of our own on the way to the error."""
    ours = Path(shoal.__file__).parent
    place = "an unknown place"
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(ours):
            place = f"{file.relative_to(ours.parent)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
