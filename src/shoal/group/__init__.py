"""Who stands with whom: one file per method, loaded by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from shoal.errors import PlanError, choices
from shoal.model.column import Column
from shoal.model.facts import Facts
from shoal.model.plan import Plan
from shoal.model.rule import CLOSE

__all__ = ["METHODS", "check_fit", "facts", "fill_options", "load"]

METHODS = (
    "cellular",
    "centre",
    "crowd",
    "fold",
    "forest",
    "gather",
    "intervals",
    "k-member",
    "levels",
    "mdav",
    "mondrian",
    "nng",
    "oka",
    "pairs",
    "rectangles",
    "regions",
    "scheme",
    "spread",
    "threshold",
    "triples",
    "weighted-means",
)


def load(name: str) -> ModuleType:
    """The module of a method: FACTS and `group(coded, task)`."""
    if name not in METHODS:
        raise PlanError(f"There is no method {name!r}. {choices((*METHODS, 'auto'))}", field="method")
    return import_module(f"shoal.group.{name.replace('-', '_')}")


def facts(name: str) -> Facts:
    """What a method says of itself."""
    found: Facts = load(name).FACTS
    return found


def choose() -> str:
    """The method behind `auto`: the least loss on tables of every kind and size."""
    return "crowd"


def check_fit(name: str, plan: Plan, columns: tuple[Column, ...]) -> None:
    """Compare what a method declares with what is asked; the only place that does."""
    its = facts(name)
    if its.only_k is not None and plan.k != its.only_k:
        raise PlanError(
            f"Method {name!r} works for k = {its.only_k}; the plan says k = {plan.k}.", field="k"
        )
    if its.most_columns is not None and len(columns) > its.most_columns:
        raise PlanError(
            f"Method {name!r} takes at most {its.most_columns} quasi-identifiers; "
            f"the plan names {len(columns)}.",
            field="method",
        )
    if plan.style not in its.styles:
        raise PlanError(
            f"Method {name!r} has no style {plan.style!r}. {choices(its.styles)}", field="style"
        )
    if plan.style == "centres" and not its.centres:
        raise PlanError(
            f"Method {name!r} has no centres to publish. Choose another style, or gather.", field="style"
        )
    if plan.style == "centres" and plan.distance == "matrix" and plan.centre != "row":
        raise PlanError(
            "A matrix of distances knows rows alone, so the middle of a group has no radius. Say "
            "centre=row, which publishes the quasi-identifiers of real rows, or choose another distance.",
            field="distance",
        )
    if plan.distance not in its.distances:
        raise PlanError(
            f"Method {name!r} has no distance {plan.distance!r}. {choices(its.distances)}", field="distance"
        )
    if plan.withhold > 0 and not its.withholds:
        raise PlanError(f"Method {name!r} cannot withhold rows. Leave out withhold.", field="withhold")
    close = [rule.text for rule in plan.rules_read if rule.kind == CLOSE]
    if close and plan.withhold > 0 and its.obeys == "itself":
        raise PlanError(
            f"Method {name!r} cannot withhold rows under {close[0]!r}: what is withheld would change the "
            "table that every class is compared with. Leave out withhold, or the rule.",
            field="withhold",
        )
    for column in columns:
        if column.kind not in its.takes:
            raise PlanError(
                f"Method {name!r} cannot take column {column.name!r}, which is a {column.kind}. "
                f"It takes: {', '.join(sorted(its.takes))}.",
                field="method",
                column=column.name,
            )


def fill_options(name: str, given: Mapping[str, object]) -> dict[str, object]:
    """Every option of a method with its value; unknown or unreadable ones are an error."""
    known = facts(name).options
    for option in given:
        if option not in known:
            right = choices(known) if known else "It has none."
            raise PlanError(f"Method {name!r} has no option {option!r}. {right}", field="options")
    filled: dict[str, object] = {}
    for option, its in known.items():
        if option not in given:
            filled[option] = its.default
            continue
        try:
            filled[option] = its.read(str(given[option]))
        except ValueError as error:
            raise PlanError(
                f"Option {option!r} of method {name!r} cannot be {given[option]!r}: {error}. "
                f"It means: {its.meaning}",
                field="options",
            ) from None
    return filled
