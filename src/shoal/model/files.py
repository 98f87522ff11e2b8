"""Where the parts of a release lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Files", "lookup_path"]


@dataclass(frozen=True, slots=True)
class Files:
    """Where the parts of a release lie; the receipt is private.

    `formulas` counts, by column, the written cells that a spreadsheet would take for formulas.
    """

    table: Path
    certificate: Path
    receipt: Path
    lookups: tuple[Path, ...] = ()
    formulas: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def beside(cls, path: str | os.PathLike[str]) -> Files:
        """The names that go with a table at `path`."""
        table = Path(path)
        return cls(
            table,
            table.with_name(f"{table.stem}.certificate.json"),
            table.with_name(f"{table.stem}.receipt.json"),
        )


def lookup_path(table: str | os.PathLike[str], column: str) -> Path:
    """Where the members behind the ids of a column lie, beside a table."""
    path = Path(table)
    return path.with_name(f"{path.stem}.{''.join(c if c.isalnum() else '_' for c in column)}.csv")
