"""Keywords become a plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Unpack

from shoal.errors import PlanError
from shoal.model.fields import FIELDS
from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Plan
from shoal.model.words import Words
from shoal.read.graph import read_graph

__all__ = ["check_words", "graphs_of", "plan_of", "read_plan", "trees_of"]

ALIKE = 0.75
"""How much a word resembles a field that was meant, 1 where they are the same."""


def read_plan(path: str | os.PathLike[str], **words: Unpack[Words]) -> Plan:
    """Read a plan file, with `words` laid over what it says.

    Files of hierarchies are looked for from the plan's own folder. `plan_words` reads a file that leaves
    something to others, such as k.
    """
    return plan_of(Path(path), words)


def plan_of(
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str] | None, words: Mapping[str, Any]
) -> Plan:
    """A plan with `words` laid over it; words that are not its fields become options of the method."""
    names = {item.name for item in fields(Plan)}
    given = {name: value for name, value in words.items() if name in names}
    extra = {name: value for name, value in words.items() if name not in names}
    check_words(extra)
    if isinstance(plan, str | os.PathLike):
        from shoal.read.plan import plan_words  # and with it a reader of YAML

        plan = plan_words(Path(plan))
    if isinstance(plan, Mapping):
        check_words(plan)
        given = {**plan, **given}
    elif plan is not None:
        if not isinstance(plan, Plan):
            raise PlanError(
                "The second argument is a shoal.Plan, a plan file, or what plan_words gave. Give other "
                "words by name."
            )
        given = {name: getattr(plan, name) for name in names} | given
    if extra:
        given["options"] = {**given.get("options", {}), **extra}
    if given.get("graphs"):
        given["graphs"] = graphs_of(given["graphs"])
    if given.get("hierarchies"):
        given["hierarchies"] = trees_of(given["hierarchies"])
    for name in ("k", "quasi"):
        if name not in given:
            raise PlanError(f"Nothing says {name}. Give k and quasi, or a plan.", field=name)
    return Plan(**given)


def check_words(words: Iterable[str]) -> None:
    """Refuse words that resemble a field: an option of a method never does, so a typing error it is."""
    for word in (word for word in words if word not in FIELDS):
        near = get_close_matches(word, FIELDS, n=1, cutoff=ALIKE)
        if near:
            raise PlanError(f"There is no keyword {word!r}. Did you mean {near[0]!r}?", field=near[0])


def trees_of(given: Any) -> dict[str, Hierarchy | Builder]:
    """Hierarchies from what was given by column: trees, builders, texts, files, mappings or frames."""
    if not isinstance(given, Mapping):
        raise PlanError("hierarchies must be a mapping by column name.", field="hierarchies")
    from shoal.read.hierarchy import hierarchy_of

    return {name: hierarchy_of(tree, column=str(name)) for name, tree in given.items()}


def graphs_of(given: Any) -> dict[str, Graph]:
    """Graphs from what was given for each column: files, frames, pairs of names or graphs."""
    if not isinstance(given, Mapping):
        raise PlanError("graphs must be a mapping by column name.", field="graphs")
    return {name: graph if isinstance(graph, Graph) else read_graph(graph) for name, graph in given.items()}
