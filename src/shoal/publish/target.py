"""A file that is about to be written: asked for before any work is done, and what the system says of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import DataError, PlanError
from shoal.publish.atomic import Draft, is_same

__all__ = ["as_data_error", "check_ending", "check_file", "check_name"]


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
    with as_data_error(target, what), Draft(target):
        pass
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
    """Whether the name is neither that of a folder nor that of an input."""
    if target.is_dir():
        raise PlanError(f"The {what} {str(target)!r} is a folder. Give the name of a file.")
    if any(is_same(target, Path(source)) for source in inputs):
        raise PlanError(f"The {what} {str(target)!r} is one of the inputs. Write it to another name.")


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
