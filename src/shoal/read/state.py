"""The state of a register, with the release that it belongs to: all of it, or an error."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.errors import DataError
from shoal.model.certificate import Certificate
from shoal.model.files import Files, register_beside
from shoal.model.register import RegisterState
from shoal.model.series import SCHOOL, SINCE

__all__ = ["read_lists", "read_state", "states_in"]


def read_state(
    path: str | os.PathLike[str], *, redo: bool
) -> tuple[RegisterState, pl.DataFrame, Certificate]:
    """The state, the lists and the certificate of a release, if they are of one and not followed."""
    place = Path(path)
    state = RegisterState.of_bytes(_bytes(place))
    files = register_beside(Files.beside(place.with_suffix(".csv")))
    certificate = Certificate.of_json(
        _bytes(files.certificate).decode(errors="replace"), release=state.release
    )
    assert files.lists is not None, "a register has lists"
    content = _bytes(files.lists)
    said = certificate.series.register if certificate.series is not None else None
    whole = (
        certificate.digest == state.certificate
        and said is not None
        and said.lists == hashlib.sha256(content).hexdigest()
        and any(_hash(one) == state.release for one in place.parent.iterdir() if _is_table(one, files))
    )
    if not whole:
        raise DataError(
            f"The files beside {place.name!r} are not those of its release: the table, its "
            "certificate and its "
            "lists lie together, as they were written. Put them back; if that release was never finished, "
            "continue after the one before.",
            field="after",
        )
    if state.followed and not redo:
        raise DataError(
            f"Release {state.number + 1} was already made after this state, or a run that made it was "
            "killed. Continue after the state of that release, or say redo if it reached nobody.",
            field="redo",
        )
    return replace(state, followed=False), read_lists(content), certificate


def read_lists(content: bytes) -> pl.DataFrame:
    """Lists as they were written: texts, with numbers for schools and releases."""
    try:
        lists = pl.read_csv(content, infer_schema=False)
        return lists.with_columns(pl.col(SCHOOL, SINCE).cast(pl.Int64))
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise DataError(
            "The lists cannot be read. Give the file that Shoal wrote.", field="after"
        ) from None


def states_in(folder: Path) -> list[tuple[Path, RegisterState]]:
    """Every state that lies in a folder and can be read."""
    found = []
    for path in sorted(folder.glob("*.state")):
        try:
            found.append((path, RegisterState.of_bytes(path.read_bytes())))
        except (OSError, DataError):
            continue
    return found


def _is_table(path: Path, files: Files) -> bool:
    """Whether a file may be the table that the others belong to."""
    return path.stem == files.table.stem and path.suffix != ".state" and path.is_file()


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise DataError(
            f"The file {str(path)!r} cannot be read. Give the state that Shoal wrote, with the files "
            "of its release beside it.",
            field="after",
        ) from None
