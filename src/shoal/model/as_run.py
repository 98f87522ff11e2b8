"""The plan as it was run, as a certificate tells it to everybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Plan

__all__ = ["AsRun"]


@dataclass(frozen=True, slots=True)
class AsRun:
    """A plan with its defaults filled in, without what never changes a release.

    That is where it ran and in which parts (`threads`, `engine`, `memory`, `scratch`, `part`), and how the
    original's file was written (`encoding` ...).
    What may come from the data is told by a salted fingerprint: graphs, missing marks (None where there are
    none) and hierarchies, but for those that a builder makes, which are told by its text. `kinds` has the
    kind of every quasi-identifier. Nothing is checked but types: a certificate may say anything.
    """

    k: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    keep: tuple[str, ...]
    identifier: tuple[str, ...]
    kinds: Mapping[str, str]
    hierarchies: Mapping[str, str]
    graphs: Mapping[str, str]
    weights: Mapping[str, float]
    missing: str | None
    count: str | None
    unit: str | None
    rules: tuple[str, ...]
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
    seed: int
    series: str | None = field(default=None, metadata={"since": "2.1"})
    pseudonym: str | None = field(default=None, metadata={"since": "2.2"})

    @classmethod
    def of(cls, plan: Plan, *, method: str, kinds: Mapping[str, str], mark: Callable[[str], str]) -> AsRun:
        """Tell a plan; `mark` gives the salted fingerprint of a text."""
        words = {item.name: getattr(plan, item.name) for item in fields(cls)}
        words |= {name: dict(value) for name, value in words.items() if isinstance(value, Mapping)}
        words |= {
            "method": method,
            # a declared kind may hold what its name alone does not: a date's format, a place's columns
            "kinds": {name: plan.kinds.get(name, kind) for name, kind in kinds.items()},
            "weights": {name: float(weight) for name, weight in plan.weights.items()},
            "withhold": float(plan.withhold),
            "stop_at": None if plan.stop_at is None else float(plan.stop_at),
            "missing": mark(plan.missing_text) if plan.missing else None,
            "graphs": {name: mark(graph.fingerprint) for name, graph in plan.graphs.items()},
            "hierarchies": {
                name: tree.text if isinstance(tree, Builder) else mark(tree.fingerprint)
                for name, tree in plan.hierarchies.items()
            },
        }
        return cls(**words)

    def planned(
        self,
        *,
        hierarchies: Mapping[str, Hierarchy | Builder],
        graphs: Mapping[str, Graph],
        missing: tuple[str, ...],
    ) -> Plan:
        """The plan again, with what was told by fingerprints."""
        words = {item.name: getattr(self, item.name) for item in fields(self)}
        return Plan(**words | {"hierarchies": hierarchies, "graphs": graphs, "missing": missing})
