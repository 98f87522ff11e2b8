"""What a plan may say besides, where it publishes centres or pseudonyms, or is that of a register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import PlanError
from shoal.model.ends import check_measure
from shoal.model.hierarchy import Builder
from shoal.model.series import SCHOOL, SINCE

if TYPE_CHECKING:
    from shoal.model.plan import Plan

__all__ = [
    "RADIUS",
    "SIZE",
    "check_centres",
    "check_ends",
    "check_pseudonym",
    "check_register",
    "unfit_for_register",
]

SIZE, RADIUS = "group_size", "group_radius"
"""What the style `centres` publishes of a group besides its centre and its values."""


def check_pseudonym(plan: Plan, column: str) -> None:
    """Pseudonyms stand in one row for each person of one table; docs/proofs/pseudonyms.md says why."""
    for name, holds, what in (
        ("count", plan.count is None, "each of its rows is one person: leave out count"),
        ("style", plan.style != "centres", "lines of centres are no rows of persons"),
        ("series", plan.series is None, "they would link releases that follow one another"),
    ):
        if not holds:
            raise PlanError(
                f"Column {column!r} is to hold pseudonyms, which the plan's {name} does not fit: {what}.",
                field=name,
                column=column,
            )


def check_register(plan: Plan) -> None:
    """What a register can do: one line per person, ranges and nodes, and lists of what persons have."""
    if plan.whom.unit is None:
        raise PlanError(
            "A register follows persons from release to release. Name the column that says who a row "
            "belongs to as unit.",
            field="unit",
        )
    for name, holds, what in (
        ("count", plan.count is None, "a row of a register is one person: leave out count"),
        ("style", plan.style == "generalize", "a register publishes ranges and nodes: style = generalize"),
        ("cells", plan.cells in {"text", "bounds"}, "a register takes the cells text and bounds"),
        ("loss", plan.loss != "sets", "a register shows nodes, not sets: loss = leaves or levels"),
        ("distance", plan.distance == "span", "a register takes the distance span"),
        ("withhold", plan.withhold == 0, "a register shows everybody: leave out withhold"),
        ("graphs", not plan.graphs, "a register takes numbers, dates and trees, no regions"),
        ("sensitive", plan.sensitive or plan.keep, "it lists what persons have: name a sensitive column"),
    ):
        if not holds:
            raise PlanError(f"The plan's {name} does not fit a register: {what}.", field=name)
    for name in plan.quasi:
        kind = plan.kind(name)
        if kind is not None and kind.name not in {"number", "date", "tree"}:
            raise unfit_for_register(name, kind.name)
    _check_free(plan, (SCHOOL, SINCE), "A register", "series")


def check_centres(plan: Plan) -> None:
    """The style `centres` has columns of its own."""
    _check_free(plan, (SIZE, RADIUS), "The style 'centres'", "style")


def check_ends(plan: Plan) -> None:
    """Ends are coded in trees: not in columns that are published as they are, nor in regions."""
    for name, tree in plan.hierarchies.items():
        kind = plan.kind(name)
        if name not in plan.quasi:
            check_measure(tree, name)
        elif isinstance(tree, Builder) and tree.ends and kind is not None and kind.name == "region":
            raise PlanError(
                f"Column {name!r} is a region, which has no ends to code. Leave out {tree.text}.",
                field="hierarchies",
                column=name,
            )


def _check_free(plan: Plan, names: tuple[str, str], what: str, field: str) -> None:
    taken = [name for name in names if name in plan.columns]
    if taken:
        raise PlanError(
            f"{what} publishes columns named {names[0]} and {names[1]}; the plan names {', '.join(taken)} "
            "too. Rename it first.",
            field=field,
            column=taken[0],
        )


def unfit_for_register(column: str, kind: str) -> PlanError:
    """The error for a quasi-identifier whose cells no register can keep."""
    return PlanError(
        f"Column {column!r} is a {kind}; a register shows ranges of numbers and dates and nodes of "
        "trees. Give it "
        "a hierarchy: a file, or flat() for a value or a star.",
        field="hierarchies",
        column=column,
    )
