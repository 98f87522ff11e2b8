"""A release as whoever receives it reads it, from its file or as it was made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from shoal.errors import DataError
from shoal.read.frames import to_polars
from shoal.read.release import ReleaseRead, read_release, typed_columns
from shoal.run.outsider import is_release

__all__ = ["received"]


def received(
    release: Any,
    *,
    certificate: str | os.PathLike[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> ReleaseRead:
    """What a release says, typed; a `Release` knows its own trees."""
    if isinstance(release, ReleaseRead):
        return release
    if isinstance(release, str | os.PathLike):
        return read_release(release, certificate=certificate, hierarchies=hierarchies)
    if not is_release(release):
        raise DataError(
            "The release is none. Give the path of a published table, what read_release gave, or a Release."
        )
    told = release.certificate
    trees = {one.name: one.hierarchy for one in release._columns if one.hierarchy is not None}
    _, frame = to_polars(release.table)
    return ReleaseRead(typed_columns(frame, told, trees), told, told.plan.kinds, trees)
