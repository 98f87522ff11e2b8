"""The table that every tool is measured on: where it lies, its columns, its hierarchies."""

from __future__ import annotations

import csv
import os
from pathlib import Path

QUASI = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
NUMBERS = ("age",)
SENSITIVE = "salary-class"

ROOT = Path(__file__).resolve().parent.parent


def shared() -> Path:
    """The folder of public tables: SHOAL_SHARED, or `shared/data` beside the repository."""
    named = os.environ.get("SHOAL_SHARED")
    folders = [Path(named), Path(named, "data")] if named else [ROOT.parent / "shared" / "data"]
    for folder in folders:
        if (folder / "adult" / "arx_adult.csv").exists():
            return folder
    raise SystemExit(
        "The table is not there: name the folder that holds adult/arx_adult.csv as SHOAL_SHARED."
    )


def table_path() -> Path:
    """Adult: 30,162 complete rows."""
    return shared() / "adult" / "arx_adult.csv"


def hierarchies_path() -> Path:
    """One file per column, with comma and header."""
    return shared() / "adult" / "hierarchies_arx"


def read_rows(path: Path) -> list[dict[str, str]]:
    """A CSV as one mapping per row."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_paths(column: str, folder: Path | None = None) -> list[list[str]]:
    """The hierarchy of a column: one path per value, the value first."""
    with ((folder or hierarchies_path()) / f"{column}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]
