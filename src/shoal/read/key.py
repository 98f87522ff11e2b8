"""The key of pseudonyms, from a file that nobody else can read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from shoal.errors import DataError
from shoal.model.pseudonym import Key

__all__ = ["read_key"]

LONGEST = 4096
"""Bytes of a file that may be a key."""


def read_key(path: str | os.PathLike[str]) -> Key | None:
    """The key in a file; None where there is no such file. A file that others might know is refused."""
    try:
        # a link may lead to a file of others, and a pipe never ends
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(path, flags)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.ELOOP:
            raise _refused(path, "is a symbolic link", "Name the file itself") from None
        raise _refused(path, "cannot be read", "Check its name and rights") from None
    try:
        _check_alone(path, os.fstat(handle))
        content = os.read(handle, LONGEST + 1)
    finally:
        os.close(handle)
    try:
        return Key.of_text(content.decode("ascii") if len(content) <= LONGEST else "")
    except ValueError:
        raise _refused(
            path,
            "holds no key: a key is 64 hexadecimal digits or more, made at random",
            "Give the file that Shoal made, or a name that is free and Shoal makes one",
        ) from None


def _check_alone(path: str | os.PathLike[str], seen: os.stat_result) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise _refused(path, "is a folder, a pipe or a device", "Give the name of a file")
    if os.name == "nt":  # pragma: no cover  (rights are kept elsewhere there)
        return
    if seen.st_uid != os.geteuid():
        raise _refused(path, "belongs to another user, who may read it", "Give a file of your own")
    if stat.S_IMODE(seen.st_mode) & 0o077:
        raise _refused(
            path,
            f"is open to others (mode {stat.S_IMODE(seen.st_mode):03o})",
            "Whoever has the key can tell who is who: if others may have seen it, make a new one; if not, "
            "chmod 600",
        )


def _refused(path: str | os.PathLike[str], what: str, mend: str) -> DataError:
    return DataError(f"The key file {str(Path(path))!r} {what}. {mend}.", field="key")
