"""A file that is about to be written: asked for before any work is done, and what the system says of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import DataError, PlanError
from shoal.publish.alone import alone_in
from shoal.publish.atomic import Drafts, is_same, sweep, sync_folder

__all__ = ["Drawing", "as_data_error", "check_ending", "check_file", "check_name", "draw_alone"]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture or page that is drawn to a path; `what` is its name in messages."""

    target: Path
    what: str
    draw: Callable[[Path], None]


def draw_alone(drawing: Drawing) -> Path:
    """Draw to a draft and place it: the target is as it was, or whole."""
    with as_data_error(drawing.target, drawing.what), Drafts(drawing.target) as drafts:
        draft = drafts.new(drawing.target)
        drawing.draw(draft.path)
        draft.keep()
        draft.place()
        sync_folder(drawing.target.parent)
    return drawing.target


def check_file(
    path: str | os.PathLike[str],
    what: str,
    endings: Iterable[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Path:
    """Whether a file of one of these endings can be written; `what` is its name in messages."""
    target = check_ending(path, what, endings)
    check_name(target, what, inputs=inputs)
    check_folder(target, what)
    return target


def check_ending(path: str | os.PathLike[str], what: str, endings: Iterable[str]) -> Path:
    """Whether the ending is one of those that can be written."""
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise PlanError(
            f"The {what} {str(path)!r} has no ending Shoal can write. Choose one of: {', '.join(endings)}."
        )
    return target


def check_name(target: Path, what: str, *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether the name is free or that of a plain file which is no input."""
    if any(is_same(target, Path(source)) for source in inputs):
        raise PlanError(f"The {what} {str(target)!r} is one of the inputs. Write it to another name.")
    try:
        mode = os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):  # whether the folder is one is asked next
        return
    except (OSError, ValueError) as error:  # too long, or with a zero byte
        reason = getattr(error, "strerror", None) or "it is no name of a file"
        raise PlanError(f"The {what} cannot have the name {str(target)!r}: {reason}.") from None
    if stat.S_ISDIR(mode):
        raise PlanError(f"The {what} {str(target)!r} is a folder. Give the name of a file.")
    if stat.S_ISLNK(mode):
        raise PlanError(
            f"The {what} {str(target)!r} is a symbolic link, which would be replaced. Name the file itself."
        )
    if not stat.S_ISREG(mode):
        raise PlanError(
            f"The {what} {str(target)!r} is a pipe, a device or the like. Give the name of a file."
        )


def check_folder(target: Path, what: str) -> None:
    """Whether files can be made in the target's folder; what killed runs left there is swept."""
    with as_data_error(target, what), Drafts(target) as drafts:
        with alone_in(target.parent):
            sweep(target, target.parent)
        drafts.new(target)


@contextmanager
def as_data_error(target: Path, what: str) -> Iterator[None]:
    """What the system says about a folder or disk, without a traceback."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"The {what} {str(target)!r} cannot be written: {error.strerror or type(error).__name__}. "
            "Nothing was published. Choose another place."
        ) from None
