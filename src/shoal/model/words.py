"""A plan as keywords, typed: what `anonymize` and its like take by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy

__all__ = ["Details", "Names", "Words"]

Names = str | Sequence[str]


class Details(TypedDict, total=False):
    """The fields of a plan besides what a check asks by itself."""

    keep: Names
    identifier: Names
    kinds: Mapping[str, str]
    hierarchies: Mapping[str, Hierarchy | Builder | Any]
    graphs: Mapping[str, Graph | Any]
    weights: Mapping[str, float]
    missing: Names
    loss: str
    method: str
    options: Mapping[str, object]
    style: str
    cells: str
    distance: str
    withhold: float
    effort: str
    improve: bool
    stop_at: float | None
    series: str | None
    seed: int
    encoding: str | None
    delimiter: str | None
    decimal: str | None
    sheet: str | None
    threads: int
    engine: str
    memory: str | None
    scratch: str | None
    part: int


class Words(Details, total=False):
    """The fields of a plan as keywords; `shoal.FIELDS` says what each means."""

    k: int
    quasi: Names
    sensitive: Names
    count: str | None
    unit: str | None
    pseudonym: str | None
    rules: Names
