"""Names that change together: all of them, or none.

Files cannot be renamed at once. So the one that counts is renamed last; what comes before it can be
undone, and what comes after it only tidies. All of it is renaming and removing: every byte is on the disk
before the first name changes, so a full disk cannot stop a change half way, nor its undoing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.publish.atomic import Draft, Drafts, sync_folder

__all__ = ["Step", "change", "place_new", "put_aside", "replace_file"]

Action = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Step:
    """Something done to a name, and how it is undone; undoing what was not done does nothing."""

    do: Action
    undo: Action


def change(
    before: Sequence[Step], last: Draft, after: Iterable[Action], *, folders: Iterable[Path]
) -> None:
    """Take the steps `before`, place `last`, tidy up with `after`; the caller is alone in the folders.

    An error or a signal before `last` is placed undoes all; a later one is raised when all is done.
    """
    try:
        for step in before:
            step.do()
        for folder in folders:  # a power cut must not keep `last` and lose what came before it
            sync_folder(folder)
        last.place()
    except BaseException:
        finish(after if last.is_placed else [step.undo for step in reversed(before)])
        raise
    finish(after)


def finish(actions: Iterable[Action]) -> None:
    """Take every action whatever happens, then raise what did; a signal is raised when all are taken."""
    waiting = [*actions][::-1]
    errors: list[BaseException] = []
    while waiting:
        try:
            while waiting:
                waiting[-1]()
                waiting.pop()
        except OSError as error:
            waiting.pop()
            errors.append(error)
        except BaseException as error:
            if errors and not isinstance(errors[0], OSError):
                raise
            errors.insert(0, error)  # and the action is taken again
    if errors:
        raise errors[0]


def place_new(draft: Draft) -> Step:
    """Place a draft whose target is not there."""

    def undo() -> None:
        if draft.is_placed:
            draft.target.unlink()

    return Step(draft.place, undo)


def replace_file(drafts: Drafts, draft: Draft) -> Step:
    """Place a draft over its target, which is there at every moment; a copy is kept for the way back."""
    try:
        content, mode = draft.target.read_bytes(), draft.target.stat().st_mode & 0o777
    except FileNotFoundError:
        return place_new(draft)
    copy = drafts.new(draft.target, mode=0o600)
    copy.write(content)
    os.chmod(copy.path, mode)

    def undo() -> None:
        if draft.is_placed:
            copy.place()

    return Step(draft.place, undo)


def put_aside(drafts: Drafts, target: Path) -> tuple[Step, Action]:
    """Take a file out of the way, and how to remove it for good."""
    aside = drafts.hidden(target)

    def do() -> None:
        with contextlib.suppress(FileNotFoundError):
            os.replace(target, aside)

    def undo() -> None:
        with contextlib.suppress(FileNotFoundError):
            os.replace(aside, target)

    def remove() -> None:
        aside.unlink(missing_ok=True)

    return Step(do, undo), remove
