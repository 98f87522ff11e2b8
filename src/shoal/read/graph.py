"""Graphs of regions: edges, and where wanted the regions with their coordinates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.errors import DataError, PlanError
from shoal.model.graph import Graph
from shoal.read.table import read_table

__all__ = ["read_graph"]

NAMES = ("id", "region", "code", "name", "zip", "zcta", "geoid", "fips")
LATITUDE = ("lat", "latitude")
LONGITUDE = ("lon", "lng", "long", "longitude")
PAIR = 2


def read_graph(edges: Any, nodes: Any = None) -> Graph:
    """A graph from edges: a file, a frame (its first two columns), a list of pairs, or a graph.

    `nodes`, a file or a frame, lists all regions in its first column, with coordinates in columns called
    lat and lon where it has them. Without it the regions are those the edges name.
    """
    if isinstance(edges, Graph):
        return edges
    if isinstance(edges, dict):
        strange = sorted(set(edges) - {"edges", "nodes"})
        if strange or "edges" not in edges:
            raise PlanError("A graph is given by its edges and, where wanted, its nodes.", field="graphs")
        return read_graph(edges["edges"], edges.get("nodes", nodes))
    pairs = _pairs(edges)
    if nodes is None:
        return Graph.of_edges(pairs)
    names, places = _regions(nodes)
    return Graph.of_edges(pairs, regions=names, places=places)


def _pairs(edges: Any) -> list[tuple[str, str]]:
    frame = _frame(edges)
    if frame is not None:
        if len(frame.columns) < PAIR:
            raise PlanError("The edges of a graph need two columns, a region in each.", field="graphs")
        columns = [_texts(frame[name]) for name in frame.columns[:PAIR]]
        if any(cell is None for column in columns for cell in column):
            raise PlanError(
                "The edges of the graph have empty cells. Name two regions in each line.", field="graphs"
            )
        return list(zip(*columns, strict=True))
    if isinstance(edges, Iterable) and not isinstance(edges, str | bytes):
        listed = [tuple(pair) if isinstance(pair, tuple | list) else () for pair in edges]
        if all(len(pair) == PAIR for pair in listed):
            return [(str(a), str(b)) for a, b in listed]
    raise PlanError("The edges of a graph are a file, a frame or a list of pairs of names.", field="graphs")


def _regions(nodes: Any) -> tuple[list[str], list[tuple[float, float]] | None]:
    frame = _frame(nodes)
    if frame is None or not frame.columns:
        raise PlanError(
            "The nodes of a graph are a file or a frame with the regions in its first column.",
            field="graphs",
        )
    lowered = {name.strip().lower(): name for name in frame.columns}
    names = _texts(frame[frame.columns[0]])
    latitude = next((lowered[word] for word in LATITUDE if word in lowered), None)
    longitude = next((lowered[word] for word in LONGITUDE if word in lowered), None)
    listed = [name or "" for name in names]
    if latitude is None or longitude is None:
        return listed, None
    sides = [[_degrees(cell) for cell in _texts(frame[name])] for name in (latitude, longitude)]
    return listed, list(zip(*sides, strict=True))


def _frame(given: Any) -> Any:
    import narwhals as nw  # only where there is a graph

    if isinstance(given, str | os.PathLike):
        try:
            return nw.from_native(read_table(Path(given)).frame, eager_only=True)
        except DataError as error:
            raise PlanError(f"The graph cannot be read. {error}", field="graphs") from None
    try:
        frame = nw.from_native(given)
    except TypeError:
        return None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _texts(series: Any) -> list[str | None]:
    return [
        None if cell is None or str(cell).strip() == "" else str(cell).strip() for cell in series.to_list()
    ]


def _degrees(cell: str | None) -> float:
    try:
        return float(cell) if cell is not None else float("nan")
    except ValueError:
        return float("nan")
