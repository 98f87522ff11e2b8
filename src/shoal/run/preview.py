"""What the holder of a table may look at before and after a release: cells are shown to nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.encode.number import dates_as_published
from shoal.encode.tree import to_text
from shoal.errors import DataError
from shoal.model.cell import SUPPRESSED, parse_range, parse_set
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.kind import Kind
from shoal.model.preview import Preview, PreviewLevel, Profile, ProfileBar
from shoal.read.frames import to_polars
from shoal.run.release import Release

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["preview_hierarchy", "profile"]

LARGEST = 5
COMMONEST = 8
RANGES = 12


def preview_hierarchy(
    frame: Any, column: str, hierarchy: Hierarchy | Builder, *, missing: Sequence[str] = ()
) -> Preview:
    """Try a hierarchy on a column: its levels with their rows, and the values that have no place in it.

    The preview holds cells: it is for the one who holds the table.

    Args:
        frame: A pandas, Polars or Arrow frame.
        column: The column.
        hierarchy: A tree or a builder.
        missing: Cells that mean missing.

    Returns:
        What the hierarchy makes of the column.

    Raises:
        DataError: There is no such column, or it has no text.

    Example:
        >>> import polars as pl, shoal
        >>> table = pl.DataFrame({"zip": ["10115", "10117", "8001"]})
        >>> tried = shoal.preview_hierarchy(table, "zip", shoal.prefixes(5, 3))
        >>> tried.values, [level.names for level in tried.levels], tried.unplaced
        (3, [3, 2, 1], ())

    """
    counts = _counts(_column(frame, column), missing)
    if isinstance(hierarchy, Builder):
        tree, unplaced = _built(hierarchy, counts, column)
    else:
        tree, unplaced = hierarchy, [value for value in counts if value not in set(hierarchy.leaves)]
    levels = () if tree is None else tuple(_level(tree, level, counts) for level in range(tree.height + 1))
    return Preview(column, len(counts), tuple(unplaced), sum(counts[value] for value in unplaced), levels)


def profile(frame: Any, release: Release, column: str) -> Profile:
    """A quasi-identifier before and after: rows by range for numbers and dates, else by value.

    The profile holds cells of the original: it is for the one who holds the table.

    Args:
        frame: The original, as it was given to `anonymize`.
        release: What came of it.
        column: The quasi-identifier.

    Returns:
        How many rows have what, before and after.

    Raises:
        DataError: There is no such column, or it is not published under its own name.

    Example:
        >>> import polars as pl, shoal
        >>> table = pl.DataFrame({"age": [21, 22, 35, 36]})
        >>> shoal.profile(table, shoal.anonymize(table, k=2, quasi=["age"]), "age")
        Profile of 'age': 4 different cells before, 2 after

    """
    before = _column(frame, column)
    after = _column(release.table, column)
    plan = release.plan
    kind = plan.kind(column) or Kind.parse(release.guessed.get(column, "label"), column=column)
    if kind.name == "date":
        before = dates_as_published(before, kind)
    was, now = _counts(before, plan.missing), _counts(after, ())
    ranges = plan.style in {"generalize", "suppress"} and plan.cells == "text"
    found = _by_range(was, now, is_date=kind.name == "date") if kind.name in {"number", "date"} else None
    bars = found if found is not None and ranges else _by_value(was, now)
    coarser = sum(rows for cell, rows in now.items() if _is_coarse(cell, kind.name, was))
    return Profile(column, len(was), len(now), coarser, bars)


def _column(frame: Any, column: str) -> pl.Series:
    _, table = to_polars(frame)
    if column not in table.columns:
        raise DataError(f"There is no column {column!r}. Check the name.", column=column)
    return table[column]


def _counts(series: pl.Series, missing: Sequence[str]) -> dict[str, int]:
    """Rows by present value, in the order of the values."""
    text = to_text(series).drop_nulls().str.strip_chars()
    counted = text.rename("value").value_counts(name="rows").sort("value")
    left_out = {"", *missing}
    return {value: rows for value, rows in counted.iter_rows() if value not in left_out}


def _built(builder: Builder, counts: Mapping[str, int], column: str) -> tuple[Hierarchy | None, list[str]]:
    unplaced = []
    for value in counts:
        try:
            builder.leaf(value), builder.order(value), builder.path(value)
        except (ValueError, ArithmeticError):
            unplaced.append(value)
    placed = set(counts) - set(unplaced)
    return builder.build(placed, column=column) if placed else None, unplaced


def _level(tree: Hierarchy, level: int, counts: Mapping[str, int]) -> PreviewLevel:
    rows: dict[str, int] = {}
    held = dict.fromkeys(tree.leaves, 0)
    for value, many in counts.items():
        if tree.leaf_of(value) in held:
            held[tree.leaf_of(value)] += many
    runs = zip(tree.leaves, tree.first[level].tolist(), tree.last[level].tolist(), strict=True)
    for leaf, first, last in runs:
        name = tree.names[first, last]
        rows[name] = rows.get(name, 0) + held[leaf]
    largest = sorted(rows.items(), key=lambda one: -one[1])[:LARGEST]
    return PreviewLevel(len(rows), tuple(largest))


def _by_value(was: Mapping[str, int], now: Mapping[str, int]) -> tuple[ProfileBar, ...]:
    common = sorted(was, key=lambda value: -was[value])[:COMMONEST]
    bars = [ProfileBar(value, was[value], now.get(value, 0)) for value in common]
    if len(was) > len(common):
        rest = set(was) - set(common)
        other = sum(was[value] for value in rest), sum(now.get(value, 0) for value in rest)
        bars.append(ProfileBar(f"{len(rest):,} others", *other))
    return tuple(bars)


def _by_range(
    was: Mapping[str, int], now: Mapping[str, int], *, is_date: bool
) -> tuple[ProfileBar, ...] | None:
    """Rows in equal ranges; None where some cell is no range."""
    import numpy as np

    shown = {cell: rows for cell, rows in now.items() if cell != SUPPRESSED}
    try:
        points = np.array([_place(value, is_date) for value in was])
        ends = np.array([[_place(end, is_date) for end in parse_range(cell)] for cell in shown])
    except ValueError:
        return None
    if not len(points) or not np.isfinite(points).all():
        return None
    edges = np.linspace(points.min(), points.max(), RANGES + 1)
    before = np.histogram(points, bins=edges, weights=np.array(list(was.values()), dtype=float))[0]
    after = np.zeros(RANGES)
    for (low, high), rows in zip(ends.tolist(), shown.values(), strict=True):
        after += rows * _shares(edges, low, high)
    return tuple(
        ProfileBar(_label(edges[at], edges[at + 1], is_date), float(before[at]), float(after[at]))
        for at in range(RANGES)
    )


def _shares(edges: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """How a range lies over the edges: evenly, all in one where it is a single value."""
    import numpy as np

    if high <= low:
        at = min(max(int(np.searchsorted(edges, low, side="right")) - 1, 0), RANGES - 1)
        alone = np.zeros(RANGES)
        alone[at] = 1.0
        return alone
    inside = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    shares: NDArray[np.float64] = np.maximum(inside, 0.0) / (high - low)
    return shares


def _place(text: str, is_date: bool) -> float:
    from datetime import date

    return float(date.fromisoformat(text[:10]).toordinal()) if is_date else float(text)


def _label(low: float, high: float, is_date: bool) -> str:
    from datetime import date

    if is_date:
        return f"{date.fromordinal(int(low))} to {date.fromordinal(int(high))}"
    return f"{low:.4g} to {high:.4g}"


def _is_coarse(cell: str, kind: str, was: Mapping[str, int]) -> bool:
    if kind in {"number", "date"}:
        low, high = parse_range(cell)
        return cell == SUPPRESSED or low != high
    return (cell not in was and parse_set(cell)[0] not in was) or len(parse_set(cell)) > 1
