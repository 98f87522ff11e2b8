"""Keywords become a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from shoal.errors import PlanError
from shoal.model.graph import Graph
from shoal.model.plan import Plan
from shoal.read.graph import read_graph

__all__ = ["graphs_of", "plan_of"]


def plan_of(plan: Plan | None, words: dict[str, Any]) -> Plan:
    """A plan with `words` laid over it; words that are not its fields become options of the method."""
    names = {item.name for item in fields(Plan)}
    given = {name: value for name, value in words.items() if name in names}
    extra = {name: value for name, value in words.items() if name not in names}
    if plan is not None:
        if not isinstance(plan, Plan):
            raise PlanError("The second argument is a shoal.Plan. Give other words by name.")
        given = {name: getattr(plan, name) for name in names} | given
    if extra:
        given["options"] = {**given.get("options", {}), **extra}
    if given.get("graphs"):
        given["graphs"] = graphs_of(given["graphs"])
    for name in ("k", "quasi"):
        if name not in given:
            raise PlanError(
                f"Nothing says {name}. Give k and quasi (-k and -q on the command line), or a plan."
            )
    return Plan(**given)


def graphs_of(given: Any) -> dict[str, Graph]:
    """Graphs from what was given for each column: files, frames, pairs of names or graphs."""
    if not isinstance(given, Mapping):
        raise PlanError("graphs must be a mapping by column name.")
    return {name: graph if isinstance(graph, Graph) else read_graph(graph) for name, graph in given.items()}
