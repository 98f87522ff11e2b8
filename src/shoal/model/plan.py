"""What a user asks for: roles, kinds, and the task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from shoal.errors import PlanError, choices
from shoal.model.column import KINDS
from shoal.model.fitting import RADIUS, SIZE, check_centres, check_ends, check_pseudonym, check_register
from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.kind import Kind
from shoal.model.rule import Rule
from shoal.model.series import MODES, REGISTER
from shoal.model.size import bytes_of
from shoal.model.task import Effort, whole_of
from shoal.model.whom import Whom

__all__ = [
    "CELLS",
    "DISTANCES",
    "FILE",
    "LOSSES",
    "RADIUS",
    "SIZE",
    "STYLES",
    "Plan",
    "words_of",
]

STYLES = ("generalize", "suppress", "centres", "means")
CELLS = ("text", "bounds", "middle", "id")
LOSSES = ("leaves", "levels", "sets")
DISTANCES = ("span", "euclidean", "great-circle", "matrix")
LIGHTEST, HEAVIEST = 0.001, 1000.0
"""The weights a column may have besides 0: farther apart, sums and solvers lose the lighter columns."""
FILE = ("encoding", "delimiter", "decimal", "sheet")
"""How the table's file is written: for doors that read it; they never change a release."""
ROLES = ("quasi", "sensitive", "keep", "identifier")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a run needs besides the table. Complete and consistent once it exists.

    Fields carry the names of the command line's options and the plan file's keys. Mappings are by
    column name. What depends on the table is checked by `encode`.
    """

    k: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    pseudonym: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy | Builder] = field(default_factory=dict)
    graphs: Mapping[str, Graph] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    count: str | None = None
    unit: str | None = None
    rules: tuple[str, ...] = ()
    loss: str = "leaves"
    method: str = "auto"
    options: Mapping[str, object] = field(default_factory=dict)
    style: str = "generalize"
    cells: str = "text"
    distance: str = "span"
    withhold: float = 0.0
    effort: str = "normal"
    improve: bool = False
    stop_at: float | None = None
    series: str | None = None
    seed: int = 0
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    threads: int = 0
    engine: str = "auto"
    memory: str | None = None
    scratch: str | None = None
    part: int = 1_000_000

    def __post_init__(self) -> None:
        for name in (*ROLES, "missing", "rules"):
            object.__setattr__(self, name, words_of(name, getattr(self, name)))
        for name in ("kinds", "hierarchies", "graphs", "weights", "options"):
            object.__setattr__(self, name, _frozen(name, getattr(self, name)))
        for name, least in (("k", 2), ("seed", 0), ("threads", 0), ("part", 1)):
            object.__setattr__(self, name, _whole(name, getattr(self, name), least))
        self._check_words()
        self._check_roles()
        self._check_rules()
        self._check_columns()
        self._check_task()

    def _check_words(self) -> None:
        for name in ("loss", "method", "style", "cells", "distance", "effort", "engine"):
            if not isinstance(getattr(self, name), str):
                raise PlanError(f"{name} = {getattr(self, name)!r} is not a word.", field=name)
        if not isinstance(self.improve, bool):
            raise PlanError(f"improve = {self.improve!r} is neither true nor false.", field="improve")
        for name in ("pseudonym", *FILE):
            if not isinstance(getattr(self, name), str | None):
                raise PlanError(f"{name} = {getattr(self, name)!r} is not a word.", field=name)
        for name, kind in self.kinds.items():
            if not isinstance(kind, str):
                raise PlanError(
                    f"Column {name!r}: there is no kind {kind!r}. {choices(KINDS)}",
                    field="kinds",
                    column=name,
                )

    def _check_roles(self) -> None:
        if not self.quasi:
            raise PlanError("The plan names no quasi-identifier. Name at least one column.", field="quasi")
        role_of: dict[str, str] = {}
        for role in ROLES:
            for name in getattr(self, role):
                if name in role_of:
                    what = "twice" if role_of[name] == role else f"as {role_of[name]} and {role}"
                    raise PlanError(
                        f"Column {name!r} is named {what}. Give it one role.", field=role, column=name
                    )
                role_of[name] = role
        count, unit = self.whom.count, self.whom.unit
        if count in role_of:
            raise PlanError(
                f"Column {count!r} is named as count and {role_of[count]}. Give it one role.",
                field="count",
                column=count,
            )
        # an identifier may well be the unit, or be published as pseudonyms: its values never are
        for word, name in (("unit", unit), ("pseudonym", self.pseudonym)):
            role = "count" if name == count else role_of.get(name or "", "identifier")
            if name is not None and role != "identifier":
                raise PlanError(
                    f"Column {name!r} is named as {word} and {role}. Give it one role.",
                    field=word,
                    column=name,
                )

    def _check_rules(self) -> None:
        for rule in self.rules_read:
            named = ", ".join(self.sensitive) or "none"
            if rule.column in self.quasi:
                raise PlanError(
                    f"A rule names column {rule.column!r}, which is a quasi-identifier: what a neighbour "
                    f"may know. Rules are for sensitive columns, which are: {named}.",
                    field="rules",
                    column=rule.column,
                )
            if rule.column not in self.sensitive:
                raise PlanError(
                    f"A rule names column {rule.column!r}, which is not sensitive. Name it so; the "
                    f"sensitive columns are: {named}.",
                    field="sensitive",
                    column=rule.column,
                )
            if rule.distance == "hierarchy" and rule.column not in self.hierarchies:
                raise PlanError(
                    f"The rule {rule.text!r} needs a hierarchy of column {rule.column!r}. Give it one.",
                    field="hierarchies",
                    column=rule.column,
                )

    def _check_columns(self) -> None:
        for what in ("kinds", "hierarchies", "graphs", "weights"):
            for name in getattr(self, what):
                if what == "hierarchies" and name in self.ruled_by_hierarchy:
                    continue
                if name not in self.quasi:
                    raise PlanError(
                        f"{what} names column {name!r}, which is not a quasi-identifier. "
                        f"The quasi-identifiers are: {', '.join(self.quasi)}.",
                        field=what,
                        column=name,
                    )
        taken = {*self.quasi, *self.sensitive, *self.keep, *self.identifier}
        for name, text in self.kinds.items():
            kind = Kind.parse(text, column=name)
            if name in self.hierarchies and kind.name not in {"tree", "region"}:
                raise PlanError(
                    f"Column {name!r} has a hierarchy and the kind {kind.name!r}. "
                    "Drop the hierarchy, or make it a tree.",
                    field="kinds",
                    column=name,
                )
            if kind.name == "tree" and name not in self.hierarchies:
                raise PlanError(
                    f"Column {name!r} is declared a tree but has no hierarchy. "
                    "Give it one, or declare it a label.",
                    field="hierarchies",
                    column=name,
                )
            for part in kind.parts if kind.name == "place" else ():
                if part in taken:
                    raise PlanError(
                        f"Column {part!r} is part of the place {name!r} and has a role of its own. "
                        "Give it one role.",
                        field="kinds",
                        column=part,
                    )
        for name, graph in self.graphs.items():
            if not isinstance(graph, Graph):
                raise PlanError(
                    f"The graph of column {name!r} is none. Use shoal.read_graph.",
                    field="graphs",
                    column=name,
                )
            found = self.kind(name)
            if found is None or found.name != "region":
                raise PlanError(
                    f"Column {name!r} has a graph, so it is a region. Give it no other kind.",
                    field="kinds",
                    column=name,
                )
        for name in self.quasi:
            found = self.kind(name)
            if found is not None and found.name == "region" and name not in self.graphs:
                raise PlanError(
                    f"Column {name!r} is declared a region but has no graph. Give its edges, or declare it "
                    "a label.",
                    field="graphs",
                    column=name,
                )
        for name, tree in self.hierarchies.items():
            if not isinstance(tree, Hierarchy | Builder):
                raise PlanError(
                    f"The hierarchy of column {name!r} is neither a tree nor a builder. Use "
                    "shoal.read_hierarchy, shoal.prefixes, shoal.bins, shoal.calendar or shoal.flat.",
                    field="hierarchies",
                    column=name,
                )
        check_ends(self)
        for name, weight in self.weights.items():
            if not _is_number(weight) or not (weight == 0 or LIGHTEST <= weight <= HEAVIEST):
                raise PlanError(
                    f"Column {name!r} has the weight {weight!r}. A weight is 0 or a number from "
                    f"{LIGHTEST:g} to {HEAVIEST:g}: what counts is how weights compare, so scale them.",
                    field="weights",
                    column=name,
                )
        if all(self.weights.get(name, 1) == 0 for name in self.quasi):
            raise PlanError(
                "All weights are 0. Give at least one column a weight above 0.", field="weights"
            )

    def _check_task(self) -> None:
        for name, allowed in (
            ("style", STYLES),
            ("cells", CELLS),
            ("loss", LOSSES),
            ("distance", DISTANCES),
        ):
            if getattr(self, name) not in allowed:
                raise PlanError(
                    f"There is no {name} {getattr(self, name)!r}. {choices(allowed)}", field=name
                )
        if not _is_number(self.withhold) or not 0 <= self.withhold < 1:
            raise PlanError(
                f"withhold = {self.withhold!r} is not a share of the rows. "
                "Give a number of at least 0 and below 1: 0.05 for 5 %.",
                field="withhold",
            )
        if self.stop_at is not None and not (_is_number(self.stop_at) and 1 <= self.stop_at < 1e9):
            raise PlanError(f"stop_at = {self.stop_at!r} is not a ratio of at least 1.", field="stop_at")
        if self.style == "centres":
            check_centres(self)
        if self.series is not None and self.series not in MODES:
            raise PlanError(f"There is no series {self.series!r}. {choices(MODES)}", field="series")
        if self.series == REGISTER:
            check_register(self)
        if self.pseudonym is not None:
            check_pseudonym(self, self.pseudonym)
        Effort.parse(self.effort)
        for name in ("memory", "scratch"):
            if not isinstance(getattr(self, name), str | None):
                raise PlanError(f"{name} = {getattr(self, name)!r} is not a word.", field=name)
        if self.memory is not None:
            bytes_of(self.memory)

    def kind(self, column: str) -> Kind | None:
        """The declared kind of a quasi-identifier, or None where it is to be guessed."""
        if column in self.kinds:
            return Kind.parse(self.kinds[column], column=column)
        if column in self.graphs:
            return Kind("region")
        return Kind("tree") if column in self.hierarchies else None

    def weight(self, column: str) -> float:
        """The weight of a quasi-identifier."""
        return float(self.weights.get(column, 1.0))

    def to_yaml(self) -> str:
        """The plan as the text of a plan file; trees are written out, so that it stands alone."""
        from shoal.model.plan_text import yaml_of

        return yaml_of(self)

    @property
    def whom(self) -> Whom:
        """Whom k counts."""
        return Whom.read(unit=self.unit, count=self.count)

    @property
    def centre(self) -> str:
        """What the style `centres` publishes of a group: a `middle`, which is nobody's, or a real `row`."""
        return str(self.options.get("centre", "middle"))

    @property
    def rules_read(self) -> tuple[Rule, ...]:
        """The rules, read from their texts."""
        return tuple(Rule.parse(text) for text in self.rules)

    @property
    def ruled_by_hierarchy(self) -> tuple[str, ...]:
        """The sensitive columns whose hierarchy a rule needs."""
        return tuple(rule.column for rule in self.rules_read if rule.distance == "hierarchy")

    @property
    def tells_ranges(self) -> bool:
        """Whether cells of numbers, dates and places say from where to where they reach."""
        return self.style == "generalize" and self.cells != "middle"

    @property
    def missing_text(self) -> str:
        """The missing marks as one text, whatever their order."""
        return "\0".join(sorted(self.missing))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the table the plan names, once."""
        names: list[str] = []
        for name in self.quasi:
            kind = self.kind(name)
            names.extend(kind.parts if kind is not None and kind.name == "place" else (name,))
        names += [*self.beside, *self.identifier]
        names += self.whom.columns
        return tuple(dict.fromkeys(names))

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns whose cells are published row by row beside the quasi-identifiers."""
        pseudonym = (self.pseudonym,) if self.pseudonym is not None else ()
        return (*self.sensitive, *self.keep, *pseudonym)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The identifiers that are not published in any form."""
        return tuple(name for name in self.identifier if name != self.pseudonym)

    @property
    def nameless(self) -> Plan:
        """The same without pseudonyms, for what is tried and never published."""
        if self.pseudonym is None:
            return self
        return replace(self, pseudonym=None, identifier=(*self.dropped, self.pseudonym))


def _whole(name: str, value: object, least: int) -> int:
    number = whole_of(value)
    if number is None or not least <= number < 2**63:
        aside = " A smaller one hides nobody." if name == "k" else ""
        raise PlanError(f"{name} = {value!r} is not a whole number of at least {least}.{aside}", field=name)
    return number


def words_of(name: str, value: object) -> tuple[str, ...]:
    """Names from one name or several; `name` is what they are called."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        words = list(value)
        if all(isinstance(word, str) for word in words):
            return tuple(
                str(word) for word in (sorted(words) if isinstance(value, set | frozenset) else words)
            )
    raise PlanError(f"{name} must be a list of names.", field=name)


def _frozen(name: str, value: Mapping[str, T]) -> Mapping[str, T]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise PlanError(f"{name} must be a mapping by column name.", field=name)
    return MappingProxyType(dict(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
