"""Whether something can be written, asked before a long run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.model.files import Files

__all__ = ["check_map", "check_plot", "check_report", "check_target"]


def check_target(
    path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = (), delimiter: str = ","
) -> Files:
    """Whether a release can be written to `path`; asked before a long run."""
    from shoal.publish.table import check_target as check

    return check(path, inputs=inputs, delimiter=delimiter)


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
