"""Counts of a release for its readers: mixed cells are counted with the width that they leave."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import polars as pl

from shoal.errors import PlanError
from shoal.model.names import check_named
from shoal.model.plan import words_of
from shoal.model.tabulation import Tabulated, Tabulation
from shoal.model.whom import Whom
from shoal.model.words import Names
from shoal.read.release import ReleaseRead
from shoal.run.received import received

__all__ = ["tabulate"]

MOST_LINES = 100_000
BINS = 10
NOTHING = "(missing)"

Shares = list[tuple[str, float]]


def tabulate(
    release: Any,
    *,
    by: Names,
    widths: Mapping[str, float] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Tabulation:
    """Count the records of a release by one or more of its columns.

    Cells of one column may be of several widths, such as `27`, `[20, 39]` and `*`, so a plain count by cell
    says little. Here every line says how many records have its values at least, by expectation and at
    most. Numbers are counted in bins (`widths`, else about ten), dates by year, labels one by one, nodes of
    a tree by leaf where its hierarchy is given, else as they stand: then it is not known what is expected
    and what may be at most, since one node may hold another.

    Args:
        release: The published table, what `read_release` gave, or a `Release`, which knows its trees.
        by: Columns to count by.
        widths: The width of a number column's bins, which begin at 0.
        hierarchies: Trees of columns that are published as nodes.

    Example:
        >>> import polars as pl, shoal, tempfile
        >>> table = pl.DataFrame({"age": [21, 22, 35, 36], "sex": ["f", "m", "f", "f"]})
        >>> release = shoal.anonymize(table, k=2, quasi=["age", "sex"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = release.write(f"{folder}/out.csv")
        ...     shoal.tabulate(files.table, by="sex")
        sex  least  expected  most
        f  2  3.0  4
        m  0  1.0  2

    """
    release = received(release, hierarchies=hierarchies)
    named = words_of("by", by)
    if not named:
        raise PlanError("Nothing says by which columns to count. Name at least one.", field="by")
    quasi = release.certificate.plan.quasi
    check_named([name for name in named if name not in quasi], release.frame.columns)
    readers = [_reader(release, name, (widths or {}).get(name)) for name in named]
    columns = list(dict.fromkeys(column for names, _, _ in readers for column in names))
    count = Whom.read(count=release.certificate.plan.count).count
    records = pl.lit(1) if count is None else pl.col(count).cast(pl.Int64)
    counted = release.frame.with_columns(records.alias("\0rows"))
    frame = counted.group_by(columns, maintain_order=True).agg(pl.col("\0rows").sum())
    least: dict[tuple[str, ...], int] = {}
    most: dict[tuple[str, ...], int] = {}
    expected: dict[tuple[str, ...], float] = {}
    for row in frame.iter_rows(named=True):
        shares = [read([row[name] for name in names]) for names, read, _ in readers]
        rows = row["\0rows"]
        if math.prod(map(len, shares)) * frame.height > 100 * MOST_LINES:
            raise PlanError(
                "So many lines would be counted that nobody reads them. Count by fewer columns."
            )
        for cell in itertools.product(*shares):
            key = tuple(value for value, _ in cell)
            share = math.prod(part for _, part in cell)
            most[key] = most.get(key, 0) + rows
            expected[key] = expected.get(key, 0.0) + share * rows
            least[key] = least.get(key, 0) + (rows if all(len(one) == 1 for one in shares) else 0)
    unknown = tuple(name for name in named if _is_unknown(release, name))
    orders = [order for _, _, order in readers]
    keys = sorted(most, key=lambda key: [order(value) for order, value in zip(orders, key, strict=True)])
    lines = tuple(
        Tabulated(key, least[key], *((None, None) if unknown else (expected[key], most[key])))
        for key in keys
    )
    return Tabulation(named, int(counted["\0rows"].sum()), lines, unknown)


def _is_unknown(release: ReleaseRead, name: str) -> bool:
    """Whether a column shows nodes of which nothing here says which holds which."""
    plan = release.certificate.plan
    return (
        f"{name}_node" in release.frame.columns
        and name not in release.hierarchies
        and plan.style != "suppress"
        and plan.hierarchies.get(name) != "flat()"
    )


def _reader(release: ReleaseRead, name: str, width: float | None) -> tuple[list[str], Any, Any]:
    """The columns that tell of `name`, how a row of them becomes shares of values, and their order."""
    frame = release.frame
    kind = release.kinds.get(name, "").partition("(")[0]
    if width is not None and (f"{name}_low" not in frame.columns or not width > 0):
        raise PlanError(
            f"Column {name!r} gets a width, but a width above 0 is for numbers and dates alone.",
            field="widths",
            column=name,
        )
    plan = release.certificate.plan
    if plan.style == "centres" or (name in plan.quasi and plan.style == "means"):
        raise PlanError(
            f"Column {name!r} has one cell for each class ({plan.style}), which does not say "
            "what it covers: nobody can say what a count is at least and at most.",
            field="by",
            column=name,
        )
    if f"{name}_middle" in frame.columns:
        raise PlanError(
            f"Column {name!r} is published by the middles of its ranges: how wide they were is gone, so "
            "nobody can say what a count is at least and at most. Ask for one with cells text or bounds.",
            field="by",
            column=name,
        )
    if f"{name}_low" in frame.columns:
        return _ranges(frame, name, kind, width)
    if f"{name}_set" in frame.columns:
        column = frame[f"{name}_set"]
        values = column.drop_nulls().explode().unique().drop_nulls().sort().to_list()

        def of_set(cell: list[list[str | None] | None]) -> Shares:
            members = cell[0] if cell[0] is not None else values or [None]
            return [(NOTHING if m is None else m, 1 / len(members)) for m in members]

        return [f"{name}_set"], of_set, str
    if f"{name}_node" in frame.columns:
        return _nodes(release, name)
    return [name], lambda cell: [(NOTHING if cell[0] is None else str(cell[0]), 1.0)], str


def _nodes(release: ReleaseRead, name: str) -> tuple[list[str], Any, Any]:
    tree = release.hierarchies.get(name)
    seen = release.frame[f"{name}_node"].drop_nulls().unique().sort().to_list()
    plain = [node for node in seen if node != "*"]
    nodes = tree.nodes(of_others=True) if tree is not None else {}
    strange = sum(node not in nodes for node in seen) if tree is not None else 0
    if strange:
        raise PlanError(
            f"Column {name!r} shows {strange} nodes that its hierarchy does not have. Give the hierarchy "
            "that the release was made with.",
            field="hierarchies",
            column=name,
        )
    spreads = not _is_unknown(release, name)

    def of_node(cell: list[str | None]) -> Shares:
        node = cell[0]
        if node is None:
            return [(NOTHING, 1.0)]
        if tree is not None:
            first, last, _ = nodes[node]
            leaves: Any = tree.leaves[first : last + 1]
        else:
            leaves = (plain or [node]) if node == "*" and spreads else [node]
        return [(leaf, 1 / len(leaves)) for leaf in leaves]

    order = {leaf: at for at, leaf in enumerate(tree.leaves)} if tree is not None else {}
    return [f"{name}_node"], of_node, lambda value: (order.get(value, -1), value)


def _ranges(frame: pl.DataFrame, name: str, kind: str, width: float | None) -> tuple[list[str], Any, Any]:
    """Numbers in bins, dates by the year; an end is counted with its bin."""
    ends = [f"{name}_low", f"{name}_high"]
    low, high = frame[ends[0]].min(), frame[ends[1]].max()
    if low is None or high is None:
        return ends, lambda _: [(NOTHING, 1.0)], str
    is_date = kind == "date"
    step = 1.0 if is_date else float(width or _usual(float(high) - float(low)))  # type: ignore[arg-type]
    first, last = _place(low, is_date) // step, _place(high, is_date) // step

    def named(at: float) -> str:
        return f"{int(at * step)}" if is_date else f"[{at * step:g}, {(at + 1) * step:g})"

    def of_range(cell: list[Any]) -> Shares:
        if len(cell) > 2 and not cell[2]:
            return [(NOTHING, 1.0)]
        if cell[0] is None:
            count = int(last - first) + 1
            return [(named(first + at), 1 / count) for at in range(count)]
        start, end = _place(cell[0], is_date), _place(cell[1], is_date)
        bins = range(int(start // step), int(end // step) + 1)
        if len(bins) == 1 or start == end:
            return [(named(bins[0]), 1.0)]
        whole = end - start
        inside = [min(end, (at + 1) * step) - max(start, at * step) for at in bins]
        return [(named(at), part / whole) for at, part in zip(bins, inside, strict=True)]

    return [*ends, *([name] if name in frame.columns else [])], of_range, _edge


def _edge(value: str) -> float:
    return -math.inf if value == NOTHING else float(value.strip("[)").partition(",")[0])


def _place(value: Any, is_date: bool) -> float:
    """A number, or a day as a year with its share."""
    if not is_date:
        return float(value)
    day = value.date() if isinstance(value, datetime) else value
    assert isinstance(day, date), "dates are read as dates"
    return day.year + (day.timetuple().tm_yday - 1) / 366


def _usual(extent: float) -> float:
    """1, 2 or 5 times a power of ten, so that about ten bins fill the extent."""
    if extent <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(extent / BINS))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= extent / BINS)
