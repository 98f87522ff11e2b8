"""How a command ends: 0 done, 2 bad plan or data, 3 the check failed, 128 and more a signal, 1 a bug.

141, as where a signal ended it: the reader of its output went away before the end.
Tracebacks quote arguments and locals, and those hold cells: none is ever shown.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import shoal
from shoal.cli.stopping import Stopped

__all__ = ["guarded"]

DONE, BUG, BAD, FAILED, UNREAD = 0, 1, 2, 3, 141


def guarded(app: Any, arguments: Sequence[str]) -> int:
    """Run the app and turn whatever comes out of it into an exit code and at most a few sentences."""
    try:
        app(args=list(arguments), prog_name="shoal")
    except SystemExit as end:
        if end.code == 1:  # so Rich and Typer end where the reader of a pipe went away
            return _flushed(UNREAD)
        return _flushed(end.code if isinstance(end.code, int) else DONE if end.code is None else BUG)
    except (Stopped, KeyboardInterrupt) as stop:
        return _say_stopped(stop)
    except shoal.NotAnonymous as error:
        return _say(str(error), FAILED)
    except shoal.ShoalError as error:
        return _say(" ".join([str(error), *_option_for(error.field, app, arguments)]), BAD)
    except MemoryError:
        return _say("The machine has too little memory for this table. Nothing was published.", BUG)
    except BaseException as error:
        if isinstance(error, BrokenPipeError):
            return _flushed(UNREAD)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return _say(
                "The output cannot be written: no space is left. Files of a release are whole or absent.",
                BUG,
            )
        # also panics of Polars, which are no ordinary exceptions
        place = _place_of(error)
        return _say(
            f"Something went wrong inside Shoal ({type(error).__name__} at {place}). This is a bug: "
            "please report this line. It holds nothing of your table.",
            BUG,
        )
    return _flushed(DONE)


def _say(sentence: str, code: int, *, error: bool = True) -> int:
    with contextlib.suppress(OSError, ValueError):
        print(f"Error: {sentence}" if error else sentence, file=sys.stderr, flush=True)
    return code


def _option_for(field: str | None, app: Any, arguments: Sequence[str]) -> list[str]:
    """Which option sets the field that an error speaks of, in the command that was typed."""
    import typer

    if field is None or not isinstance(app, typer.Typer):
        return []
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    command = next((commands[word] for word in arguments if word in commands), None)
    found = [one for one in command.params if one.name == field] if command is not None else []
    words = [word for one in found for word in (*one.opts, *one.secondary_opts) if word.startswith("-")]
    return [f"The option for {field} is {' or '.join(words)}."] if words else []


def _say_stopped(stop: BaseException) -> int:
    found = stop if isinstance(stop, Stopped) else Stopped()
    notes = getattr(stop, "__notes__", None) or ["Nothing was published."]
    return _say(f"Stopped by {found.name}. {' '.join(notes)}", found.code, error=False)


def _flushed(code: int) -> int:
    """Flush while a reader who went away can still be told from a bug."""
    if sys.stdout is None:  # it was closed before we began
        return code
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or UNREAD
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
