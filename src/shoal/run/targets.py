"""Whether something can be written, asked before a long run."""

from __future__ import annotations

import os
from collections.abc import Iterable

from shoal import engines
from shoal.model.files import Files

__all__ = ["check_map", "check_plot", "check_target"]


def check_target(
    path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = (), delimiter: str = ","
) -> Files:
    """Whether a release can be written to `path`; asked before a long run."""
    files: Files = engines.load("local").check_target(path, inputs=inputs, delimiter=delimiter)
    return files


def check_map(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a map can be drawn to `path`; asked before a long run."""
    engines.load("local").check_map(path, inputs=inputs)


def check_plot(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a plot can be drawn to `path`; asked before a long run."""
    engines.load("local").check_plot(path, inputs=inputs)
