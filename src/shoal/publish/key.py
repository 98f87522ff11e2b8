"""A new key of pseudonyms: there whole, for one user alone, and never over another file."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import DataError
from shoal.model.pseudonym import Key
from shoal.publish.atomic import PRIVATE, Drafts, sync_folder
from shoal.publish.target import as_data_error, check_folder, check_name

__all__ = ["check_key", "write_key"]


def check_key(path: str | os.PathLike[str]) -> None:
    """Whether a new key can be written there, before any work is done."""
    check_name(Path(path), "key")
    check_folder(Path(path), "key")


def write_key(key: Key, path: str | os.PathLike[str]) -> None:
    """Write a key to a file that is not there."""
    target = Path(path)
    with as_data_error(target, "key"), Drafts(target) as drafts:
        draft = drafts.new(target, mode=PRIVATE)
        draft.write(key.to_text())
        try:
            os.link(draft.path, target)  # unlike a rename, it replaces nothing
        except FileExistsError:
            raise DataError(
                f"The key file {str(target)!r} was made by another run meanwhile. Run again, with its key.",
                field="key",
            ) from None
        sync_folder(target.parent)
