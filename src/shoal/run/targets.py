"""Whether something can be written, asked before a long run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.model.files import Files, Stored

__all__ = [
    "check_database",
    "check_map",
    "check_output",
    "check_plot",
    "check_recoding",
    "check_report",
    "check_target",
]


def check_target(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    delimiter: str = ",",
    engine: str = "memory",
    for_excel: str | None = None,
) -> Files:
    """Whether a release can be written to `path` by an engine; asked before a long run."""
    if engine == "spark":
        from shoal.publish.folder import check_elsewhere, check_new_folder, is_elsewhere

        if is_elsewhere(path):
            return check_elsewhere(os.fspath(path), inputs=inputs)
        return check_new_folder(path, inputs=inputs)
    from shoal.publish.table import check_target as check

    return check(path, inputs=inputs, delimiter=delimiter, in_parts=engine == "stream", for_excel=for_excel)


def check_database(
    uri: str,
    table: str | None = None,
    *,
    replace: bool = False,
    certificate: str | os.PathLike[str] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Stored:
    """Whether a release can be written to a table of a database; asked before a long run."""
    from shoal.publish.database import check_database as check

    return check(uri, table, replace=replace, certificate=certificate, inputs=inputs)


def check_output(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a table can be written to `path`; asked before a long run."""
    from shoal.publish.formats import WRITERS, check_parts
    from shoal.publish.target import check_file

    check_parts(check_file(path, "output", WRITERS, inputs=inputs).suffix.lower())


def check_recoding(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a recoding can be written to `path`; asked before a long run."""
    from shoal.publish.target import check_file

    check_file(path, "recoding", (".json",), inputs=inputs)


def check_map(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a map can be drawn to `path`; asked before a long run."""
    from shoal.publish.map import check_map as check

    check(path, inputs=inputs)


def check_plot(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a plot can be drawn to `path`; asked before a long run."""
    from shoal.publish.plots import check_plot as check

    check(path, inputs=inputs)


def check_report(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a report can be written to `path`; asked before a long run."""
    from shoal.publish.report import check_report as check

    check(path, inputs=inputs)
