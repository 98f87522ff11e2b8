"""Judges a release by what was published and by the original, with rules of its own (docs/check.md)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fuzzing.cases import Case
from fuzzing.cells import Cell, Line, Place, counts_in
from fuzzing.flow import unmatched
from fuzzing.frames import cells_of, kind_of, plain_value, read_as
from fuzzing.optimum import least_loss
from fuzzing.published import Published
from fuzzing.rules import holds

__all__ = ["Fault", "judge"]

NEAR = 1e-6


@dataclass(frozen=True)
class Fault:
    """Something wrong with a release: what, and where, without a cell."""

    what: str
    detail: str


def judge(
    case: Case,
    published: Published,
    original: Any,
    labels: Sequence[int] | None,
    lines: Sequence[int | None] | None = None,
) -> Iterator[Fault]:
    """Everything that a finished release must be.

    `labels` is the group of each row, where it is known, and `lines` the published line that it stands
    behind: groups that look alike are one class.
    """
    judged = _Judged(case, published, original, labels, lines)
    yield from judged.faults()


class _Judged:
    def __init__(
        self,
        case: Case,
        published: Published,
        original: Any,
        labels: Sequence[int] | None,
        lines: Sequence[int | None] | None,
    ) -> None:
        self.lines = lines
        self.case, self.published, self.original, self.labels = case, published, original, labels
        words = case.words
        self.k, self.style, self.cells = words["k"], words["style"], words["cells"]
        self.certificate = published.certificate
        self.count = case.count
        self.records = case.records
        self.total = sum(self.records)
        self.kinds = {name: kind_of(cells_of(original, name)) for name in case.kept}
        self.measures = case.measures()
        self.is_unit_known = True

    def faults(self) -> Iterator[Fault]:
        if self.style == "centres":
            yield from self.centre_faults()
        else:
            yield from self.line_faults()
        yield from self.person_faults()
        yield from self.bound_faults()

    # lines

    def line_faults(self) -> Iterator[Fault]:
        faces = [name for name in self.published.names if name not in {*self.case.kept, self.count}]
        expected = [name for one in self.case.quasi for name in self.face_names(one)]
        others = [*self.case.kept, *([self.count] if self.count else [])]
        if sorted(self.published.names) != sorted([*expected, *others]):
            yield Fault(
                "columns", f"{len(self.published.names)} columns, not those that the plan publishes"
            )
            return
        many = [int(cell) for cell in self.published.cells(self.count)] if self.count else None
        self.many = many or [1] * len(self.published.rows)
        classes: dict[tuple[str, ...], list[int]] = defaultdict(list)
        columns = [self.published.cells(name) for name in faces]
        for at, face in enumerate(zip(*columns, strict=True)):
            classes[tuple(map(repr, face))].append(at)
        sizes = [sum(self.many[at] for at in rows) for rows in classes.values()]
        if not sizes or min(sizes) < self.k:
            yield Fault("class below k", f"in style {self.style}, cells {self.cells}")
        yield from self.record_faults(sum(self.many))
        yield from self.claim_faults(sizes)
        if not sizes:
            return
        yield from self.rule_faults(list(classes.values()))
        cells, faults = self.read_cells()
        if not faults and self.measure_as_published(cells):
            cells, faults = self.read_cells()
        yield from faults
        if not faults:
            yield from self.match_faults(cells)
            yield from self.loss_faults(cells)
        if self.style == "means":
            yield from self.mean_faults()

    def face_names(self, one: Any) -> tuple[str, ...]:
        parts = one.parts or (one.name,)
        is_guessed = one.name not in self.case.words.get("kinds", {}) and one.name in self.published.names
        if is_guessed and all(value is None for value in self.measures[one.name].values):
            return (one.name,)  # of a kind that no cell tells
        if self.style == "means":
            return parts
        if self.style == "generalize" and one.kind in {"number", "date", "place"}:
            if self.cells == "bounds":
                return tuple(f"{part}_{end}" for part in parts for end in ("low", "high"))
            if self.cells == "middle" and one.kind == "place":
                return tuple(name for part in parts for name in (part, f"{part}_size"))
        return (one.name,)

    def record_faults(self, published: int) -> Iterator[Fault]:
        said = self.certificate
        withheld = said["withheld"]
        if (
            published + withheld != self.total
            or said["published"] != published
            or said["records"] != self.total
        ):
            yield Fault(
                "row lost",
                f"published and withheld are not what came in, {self.style} to {self.case.ending}",
            )
        if withheld > math.floor(self.case.words.get("withhold", 0.0) * self.total + 1e-9):
            yield Fault("withheld too many", f"by {said['method']}")

    def claim_faults(self, sizes: Sequence[int]) -> Iterator[Fault]:
        said = self.certificate
        if said["smallest_class"] != min(sizes, default=0) or said["classes"] != len(sizes):
            yield Fault(
                "claim", f"other classes than counted, {self.style}, {self.cells} to {self.case.ending}"
            )

    def read_cells(self) -> tuple[dict[str, list[Cell | None]], list[Fault]]:
        """Every quasi-identifier cell understood; None where it does not say what it covers."""
        read: dict[str, list[Cell | None]] = {}
        faults: list[Fault] = []
        for one in self.case.quasi:
            names = self.face_names(one)
            columns = [self.published.cells(name) for name in names]
            measure, lookup = self.measures[one.name], self.published.lookups.get(one.name, {})
            blurred = self.cells == "middle" and isinstance(measure, Line | Place)
            if self.style == "means" or blurred:
                read[one.name] = [None] * len(self.published.rows)
                continue
            found: list[Cell | None] = []
            for ends in zip(*columns, strict=True):
                try:
                    if len(ends) > 1:
                        found.append(measure.read_ends(*ends))  # type: ignore[attr-defined]
                    elif ends[0] in lookup:
                        some = set(lookup[ends[0]])
                        found.append(Cell(measure.cost(some), lambda value, some=some: value in some))
                    else:
                        found.append(measure.read(ends[0]))
                except (ValueError, TypeError, IndexError) as error:
                    faults.append(Fault("cell unreadable", f"a {one.kind} cell: {type(error).__name__}"))
                    found.append(None)
            read[one.name] = found
        return read, faults[:1]

    def measure_as_published(self, cells: dict[str, list[Cell | None]]) -> bool:
        """Whether figures are in the unit of what is published, which certificates are since version 2.

        Where cells do not tell their ranges, the unit is known only if every value is behind some cell.
        """
        if int(str(self.certificate["version"]).partition(".")[0]) < 2:
            return False
        for name, measure in self.measures.items():
            if not isinstance(measure, Line | Place):
                continue
            if all(cell is not None for cell in cells[name]):
                ends = [cell.ends for cell in cells[name] if cell is not None and cell.ends]
                measure.measure_by([one[0] for one in ends] if isinstance(measure, Line) else ends)
            elif self.certificate["withheld"] or measure.has_missing or not all(self.records):
                self.is_unit_known = False
        return True

    def match_faults(self, cells: dict[str, list[Cell | None]]) -> Iterator[Fault]:
        """Every published record gets a row of its own that its cells cover and whose values it has."""
        case, marks = self.case, self.case.marks
        before = [
            [plain_value(cell, marks) for cell in cells_of(self.original, name)] for name in case.kept
        ]
        after = [self.kept_values(name) for name in case.kept]
        for name, had, has in zip(case.kept, before, after, strict=True):
            spare = _counted(had, self.records)
            spare.subtract(_counted(has, self.many))
            if min(spare.values(), default=0) < 0 or sum(spare.values()) != self.certificate["withheld"]:
                yield Fault("values changed", f"column of {self.kinds[name]}")
        fits = []
        for line in range(len(self.published.rows)):
            fit = set()
            for row in range(case.rows):
                same = all(has[line] == had[row] for has, had in zip(after, before, strict=True))
                if same and all(
                    found[line] is None or found[line].covers(self.measures[name].values[row])  # type: ignore[union-attr]
                    for name, found in cells.items()
                ):
                    fit.add(row)
            fits.append(fit)
        lacking = unmatched(self.many, self.records, fits)
        if lacking:
            yield Fault("row invented", "published records fit no row that is left")

    def kept_values(self, name: str) -> list[Any]:
        marks, cells = self.case.marks, self.published.cells(name)
        if self.published.is_text:
            return [read_as(cell, self.kinds[name], marks) for cell in cells]
        return [plain_value(cell, marks) for cell in cells]

    # figures

    def loss_faults(self, cells: dict[str, list[Cell | None]]) -> Iterator[Fault]:
        said, weights = self.certificate, self.case.words.get("weights", {})
        known = all(
            cell is not None and cell.share == cell.share for found in cells.values() for cell in found
        )
        if not known or not self.total:
            return
        total = everything = 0.0
        claims = {column["name"]: column.get("loss") for column in said.get("columns", ())}
        for name, found in cells.items():
            shares = sum(cell.share * many for cell, many in zip(found, self.many, strict=True) if cell)
            lost = (shares + said["withheld"]) / self.total
            weight = weights.get(name, 1.0)
            total += weight * lost * self.total
            everything += weight * self.total
            if claims.get(name) is not None and not _agrees(claims[name], lost):
                yield Fault("wrong loss", f"a {type(self.measures[name]).__name__} column")
        for claim, own in (("loss", total), ("loss_percent", 100 * total / everything)):
            if said.get(claim) is None or not _agrees(said[claim], own):
                yield Fault("wrong loss", f"{claim} of {self.style}, {self.cells}")
        for exact in _figures(self.published.receipt, "loss"):
            if abs(exact - total) > NEAR * max(1.0, total):
                yield Fault("wrong loss", "in the receipt")
        if said["objective"] == "loss" and not _agrees(said["value"], total):
            yield Fault("wrong loss", "the value is not the loss")

    def bound_faults(self) -> Iterator[Fault]:
        said = self.certificate
        bound, value = said["bound"], said["value"]
        if bound is None:
            return
        if not bound <= value * (1 + 1e-12) + 1e-15:
            yield Fault("bound above value", f"{said['objective']} by {said['bound_name']}")
        is_small = self.total <= 8 and self.total == sum(1 for many in self.records if many)
        is_small = is_small and self.is_unit_known
        if said["objective"] == "loss" and is_small and self.style in {"generalize", "suppress", "means"}:
            weights = self.case.words.get("weights", {})
            rows = [row for row, many in enumerate(self.records) if many]
            columns = [
                (weights.get(name, 1.0), measure, [measure.values[row] for row in rows])
                for name, measure in self.measures.items()
            ]
            quota = math.floor(self.case.words.get("withhold", 0.0) * self.total + 1e-9)
            best = least_loss(columns, self.k, quota)
            for claim in [bound, *_figures(self.published.receipt, "bound")]:
                if claim > best * (1 + 1e-9) + 1e-12:
                    yield Fault("bound above optimum", f"by {said['bound_name']}, {self.style}")

    def mean_faults(self) -> Iterator[Fault]:
        """Means add up to the sums they were made of, and none is the value of one person alone."""
        said = self.certificate
        for one in self.case.quasi:
            if one.kind != "number" or said["withheld"]:
                continue
            values = self.measures[one.name].values
            if None not in values:
                # as fractions: the sum of the largest numbers there are is none of them
                own = sum(Fraction(value) * many for value, many in zip(values, self.records, strict=True))
                shown = sum(
                    Fraction(float(cell)) * many
                    for cell, many in zip(self.published.cells(one.name), self.many, strict=True)
                )
                largest = max(Fraction(abs(value)) for value in values)
                if abs(own - shown) * 10**9 > max(largest * self.total, Fraction(1, 10**300)):
                    yield Fault("wrong mean", "the means of a number column do not add up")
            elif self.labels is not None and self.lines is not None and self.count is None:
                groups: dict[int, list[int]] = defaultdict(list)
                for row, label in enumerate(self.labels):
                    groups[label].append(row)
                cells = self.published.cells(one.name)
                for rows in groups.values():
                    present = [row for row in rows if values[row] is not None]
                    line = self.lines[present[0]] if len(present) == 1 < len(rows) else None
                    if line is not None and cells[line] not in {None, "*"}:
                        yield Fault("mean of one", "a mean is the value of the one person who has it")

    # rules and persons

    def rule_faults(self, classes: Sequence[Sequence[int]]) -> Iterator[Fault]:
        for rule in self.case.words.get("rules", ()):
            name, body = rule.rsplit(": ", 1)
            coarse = self.kept_values(name)
            raw = [_seen(cell, self.case.marks) for cell in self.published.cells(name)]
            readings = {"as values": coarse, "as written": raw}
            if "ordered" in body or "hierarchy" in body:
                del readings["as written"]
            for what, values in readings.items():
                tree = self.case.rule_trees.get(name)
                for rows in classes:
                    own = [values[at] for at in rows for _ in range(min(self.many[at], 2000))]
                    everyone = [
                        values[at] for at, many in enumerate(self.many) for _ in range(min(many, 2000))
                    ]
                    if not holds(body, own, everyone, tree.paths if tree else ()):
                        yield Fault("rule broken", f"{body}, {what}, of {self.kinds[name]}")
                        break

    def person_faults(self) -> Iterator[Fault]:
        """Persons per group, by the group of each row, which only the keeper knows.

        The records of a row with a count may stand in several groups, which the labels do not tell.
        """
        words = self.case.words
        who = words.get("unit") or next(iter(words.get("identifier", ())), None)
        if who is None or self.labels is None or self.count is not None or words.get("unit") == "rows":
            return
        groups: dict[Any, set[Any]] = defaultdict(set)
        persons = self.case.column(who).cells
        for row, (label, many, person) in enumerate(zip(self.labels, self.records, persons, strict=True)):
            if label >= 0 and many:
                groups[self.class_of(row, label)].add(person or None)
        few = [label for label, persons in groups.items() if len(persons) < self.k]
        if few:
            what = "persons below k" if words.get("unit") else "identifier repeats"
            yield Fault(what, "some group has fewer than k of them")

    def class_of(self, row: int, label: int) -> Any:
        """The published class of a row; its group where its line is not known or is a class of its own."""
        line = self.lines[row] if self.lines is not None else None
        if line is None or self.style == "centres":
            return label
        kept = {*self.case.kept, self.count}
        cells = zip(self.published.names, self.published.rows[line], strict=True)
        return tuple(repr(cell) for name, cell in cells if name not in kept)

    # centres

    def centre_faults(self) -> Iterator[Fault]:
        sizes = [int(cell) for cell in self.published.cells("group_size")]
        self.many = sizes
        if not sizes or min(sizes) < self.k:
            yield Fault("class below k", "in style centres")
        yield from self.record_faults(sum(sizes))
        yield from self.claim_faults(sizes)
        marks = self.case.marks
        for name in self.case.kept:
            before = _counted(
                [plain_value(cell, marks) for cell in cells_of(self.original, name)], self.records
            )
            try:
                lists = [counts_in(cell) for cell in self.published.cells(name)]
            except (ValueError, AttributeError, IndexError):
                yield Fault("cell unreadable", "a list of counts")
                continue
            if any(sum(many for _, many in line) != size for line, size in zip(lists, sizes, strict=True)):
                yield Fault("row lost", "counts do not add up to the size of their group")
            after: Counter[Any] = Counter()
            for line in lists:
                for text, many in line:
                    after[read_as(text, self.kinds[name], marks)] += many
            before.subtract(after)
            if min(before.values(), default=0) < 0:
                yield Fault("values changed", f"column of {self.kinds[name]}, in lists of counts")


def _seen(cell: Any, marks: Sequence[str]) -> Any:
    """A cell to a reader who takes every writing for a value of its own, but for the plan's marks."""
    return None if cell is None or cell == "" or cell in marks else repr(cell)


def _counted(values: Iterable[Any], many: Sequence[int]) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for value, times in zip(values, many, strict=True):
        counts[value] += times
    return counts


def _agrees(said: float, own: float) -> bool:
    """Whether a public figure is the exact one, or that rounded up to three digits."""
    slack = 1e-9 + NEAR * abs(own)
    if own <= 1e-9:  # too small for its digits to matter, and for a step of them
        return abs(said - own) <= slack
    step = 10.0 ** (math.floor(math.log10(own)) - 2)
    return own - slack <= said <= math.ceil(own / step - 1e-9) * step + slack


def _figures(value: Any, name: str) -> Iterator[float]:
    """Every number of that name, wherever it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == name and isinstance(inner, int | float):
                yield float(inner)
            if key != "columns":
                yield from _figures(inner, name)
