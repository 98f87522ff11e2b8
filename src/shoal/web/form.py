"""What the pages ask of a user, as plain values; and from them to a plan and back.

The server and the hand speak of this: it holds names and words of a plan, and no cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import shoal

__all__ = ["ROLES", "ColumnForm", "PlanForm"]

ROLES = ("", "identifier", "quasi", "sensitive", "keep")
ASIDE = ("count", "loss", "cells", "distance", "improve", "stop_at", "options", "threads", "series")
"""Fields of a plan without a place on the page: kept as they were loaded."""


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """A column: its role ("" to leave it out), kind, hierarchy as text, weight, rules, and why."""

    name: str
    role: str = ""
    kind: str = ""
    tree: str = ""
    weight: str = "1"
    rule: str = ""
    why: str = ""

    @property
    def tree_line(self) -> str:
        """The hierarchy in a few words."""
        lines = self.tree.strip().splitlines()
        return "" if not lines else lines[0] if len(lines) == 1 else f"a tree of {len(lines):,} lines"


@dataclass(frozen=True, slots=True)
class PlanForm:
    """Everything that the Columns page asks for."""

    columns: tuple[ColumnForm, ...] = ()
    k: str = "5"
    unit: str = ""
    withhold: str = "0"
    effort: str = "normal"
    method: str = "auto"
    style: str = "generalize"
    missing: str = ""
    seed: str = "0"
    aside: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> PlanForm:
        """Read what `to_plain` wrote."""
        return cls(**{**plain, "columns": tuple(ColumnForm(**one) for one in plain["columns"])})

    def to_plain(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    def of_role(self, role: str) -> tuple[str, ...]:
        """The columns of a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    def changed(self, name: str, **words: str) -> PlanForm:
        """The same with one column changed."""
        columns = (replace(one, **words) if one.name == name else one for one in self.columns)
        return replace(self, columns=tuple(columns))

    def plan(self) -> shoal.Plan:
        """The plan that was asked for; errors carry the field and the column they speak of."""
        quasi = [column for column in self.columns if column.role == "quasi"]
        sensitive = [column for column in self.columns if column.role == "sensitive"]
        trees = {
            column.name: shoal.parse_hierarchy(column.tree, column=column.name)
            for column in quasi
            if column.tree.strip()
        }
        return shoal.Plan(
            k=_whole("k", self.k),
            quasi=tuple(column.name for column in quasi),
            sensitive=tuple(column.name for column in sensitive),
            keep=self.of_role("keep"),
            identifier=self.of_role("identifier"),
            kinds={one.name: one.kind for one in quasi if one.kind and one.name not in trees},
            hierarchies=trees,
            weights={
                one.name: _number("weights", one.weight, one.name)
                for one in quasi
                if one.weight.strip() not in {"", "1"}
            },
            rules=tuple(
                f"{one.name}: {rule.strip()}"
                for one in sensitive
                for rule in one.rule.split(";")
                if rule.strip()
            ),
            unit=self.unit or None,
            withhold=_number("withhold", self.withhold) / 100,
            effort=self.effort,
            method=self.method,
            style=self.style,
            missing=tuple(mark.strip() for mark in self.missing.split(",") if mark.strip()),
            seed=_whole("seed", self.seed),
            **self.aside,
        )

    def laid_over(self, words: Mapping[str, Any]) -> PlanForm:
        """The form as a plan file says, for the same columns; what it does not name is left out."""
        if words.get("graphs"):
            raise shoal.PlanError(
                "The plan names graphs, for which the workbench has no page. Use the command line.",
                field="graphs",
            )
        if words.get("pseudonym"):
            raise shoal.PlanError(
                "The plan asks for pseudonyms; the workbench keeps no key for them. Use the command line.",
                field="pseudonym",
            )
        if words.get("series") == "register":
            raise shoal.PlanError(
                "The plan is of a register; the workbench keeps no state between its releases. Use the "
                "command line.",
                field="series",
            )
        named = [*words.get("quasi", ()), *words.get("sensitive", ()), *words.get("keep", ())]
        strange = [name for name in named if name not in {column.name for column in self.columns}]
        if strange:
            raise shoal.PlanError(
                f"The plan names the column {strange[0]!r}, which the table does not have. Is it the plan "
                "of another table?",
                column=strange[0],
            )
        rules: dict[str, list[str]] = {}
        for rule in map(shoal.Rule.parse, words.get("rules", ())):
            rules.setdefault(rule.column, []).append(rule.body)
        role_of = {name: role for role in ROLES if role for name in words.get(role, ())}
        columns = tuple(
            ColumnForm(
                name=column.name,
                role=role_of.get(column.name, ""),
                kind=words.get("kinds", {}).get(column.name, ""),
                tree=_text_of(words.get("hierarchies", {}).get(column.name)),
                weight=f"{words.get('weights', {}).get(column.name, 1):g}",
                rule="; ".join(rules.get(column.name, ())),
                why="as in the plan",
            )
            for column in self.columns
        )
        default = PlanForm()
        return PlanForm(
            columns=columns,
            withhold=f"{100 * words.get('withhold', 0):g}",
            missing=", ".join(words.get("missing", ())),
            aside={name: words[name] for name in ASIDE if name in words},
            **{
                name: str(words.get(name) or getattr(default, name))
                for name in ("k", "unit", "effort", "method", "style", "seed")
            },
        )


def _text_of(tree: shoal.Hierarchy | Any | None) -> str:
    if tree is None:
        return ""
    return shoal.outline_of(tree) if isinstance(tree, shoal.Hierarchy) else str(tree.text)


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise shoal.PlanError(f"{name} = {text!r} is not a whole number.", field=name) from None


def _number(name: str, text: str, column: str | None = None) -> float:
    try:
        return float(text)
    except ValueError:
        where = f"Column {column!r}: " if column else ""
        raise shoal.PlanError(
            f"{where}{name} = {text!r} is not a number.", field=name, column=column
        ) from None
