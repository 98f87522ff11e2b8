"""A linkage trial: what an outsider who holds an identified register finds in a release.

A record is a candidate for a person where every matched cell covers what the register says: a range its
numbers and dates, a node its leaves, a set its members, a star everything, a plain value itself. A
blank in the register is something the outsider does not know. Persons that no record covers have no
candidate, unless the nearest are asked for, as with means, which cover nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.cover import Cell, KnownColumn, Nodes, Side
from shoal.check.kanonymity import Classes, classes_of, codes_of, join_codes, records_of
from shoal.check.mix import mix_of
from shoal.check.persons import pairs_of
from shoal.check.ruler import number_of
from shoal.errors import DataError, PlanError
from shoal.model.cell import SUPPRESSED, parse_box, parse_range
from shoal.model.exposure import Homogeneity, Linkage
from shoal.model.hierarchy import Hierarchy
from shoal.model.names import check_named
from shoal.model.plain import as_text, check_text
from shoal.model.whom import Behind, Whom

__all__ = ["add_covered", "axes_of", "link", "published_of"]

CHUNK = 2_000_000
"""Pairs of a person and a class that are looked at together."""
MOST_DISTANCES = 4_000_000_000
"""Distances of a person from a class by a column that the nearest may take: under a minute."""
Integers = NDArray[np.int64]


def link(
    release: pl.DataFrame,
    register: pl.DataFrame,
    *,
    match: Mapping[str, str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    count: str | None = None,
    fewer_than: int = 5,
    nearest: bool = False,
    unit: str | None = None,
) -> Linkage:
    """Try to find every person of `register` in `release`; `match` is by the release's column names.

    A column published as two bounds is matched by its plain name; a place by its two columns in the
    register, joined by a plus. `unit` is a column of the release that says who a record belongs to.
    """
    whom = Whom.read(unit=unit, count=count)
    if not match:
        raise PlanError(
            "Nothing is matched. Name columns of the release and the register: age=age,zip=zip.",
            field="match",
        )
    if fewer_than < 1:
        raise PlanError(f"k = {fewer_than} counts nobody. Give at least 1.", field="k")
    there, kept = frozenset(release.columns), frozenset(register.columns)
    shown = {name: _published(there, name) for name in match}
    parts = {name: _parts(kept, column) for name, column in match.items()}
    published = [column for columns in shown.values() for column in columns]
    known = [part for names in parts.values() for part in names]
    check_named([*published, *sensitive, *whom.columns], release.columns, what="release")
    whom.check_against(release.columns)
    check_named(known, register.columns, what="register")
    if register.height == 0:
        raise DataError("The register has no rows. There is nobody to look for.")
    records = records_of(release, whom.count)
    classes = classes_of(release, published, records)
    if classes.total == 0:
        raise DataError("The release holds no records. There is nothing to find.")
    weight, axes, _ = axes_of(release[classes.row], register, parts, shown, hierarchies or {})
    values = [_one_value(release[name], classes) for name in sensitive]
    behind = None if whom.unit is None else Behind(np.arange(release.height), release[whom.unit])
    tally = _Tally(weight.size, classes, values, behind)
    add_covered(axes, classes, tally)
    if nearest:
        _add_nearest(axes, classes, tally)
    candidates = tally.candidates()
    found = candidates > 0
    per_person = np.repeat(candidates[found], weight[found])
    return Linkage(
        persons=register.height,
        records=classes.total,
        classes=classes.sizes.size,
        found=int(weight[found].sum()),
        one_record=int(weight[candidates == 1].sum()),
        one_class=int(weight[tally.kinds == 1].sum()),
        fewest=int(per_person.min()) if per_person.size else 0,
        median=float(np.median(per_person)) if per_person.size else 0.0,
        mean=float(per_person.mean()) if per_person.size else 0.0,
        fewer_than=fewer_than,
        few=int(weight[found & (candidates < fewer_than)].sum()),
        homogeneous=tuple(
            Homogeneity(name, int(weight[hits].sum()))
            for name, hits in zip(sensitive, tally.certain(), strict=True)
        ),
        by_person=whom.counted == "persons",
    )


def published_of(release: pl.DataFrame, name: str) -> tuple[str, ...]:
    """The columns of a release that show a matched one."""
    return _published(frozenset(release.columns), name)


def _published(release: frozenset[str], name: str) -> tuple[str, ...]:
    """The columns that show a matched one: its two bounds where only these are there."""
    ends = (f"{name}_low", f"{name}_high")
    return ends if name not in release and {*ends} <= release else (name,)


def _parts(register: frozenset[str], known: str) -> list[str]:
    return [known] if known in register else [part.strip() for part in known.split("+")]


def _texts(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Columns as text without outer blanks, all at once; empty text is missing."""
    named = list(dict.fromkeys(names))
    for name in named:
        check_text(frame[name])
    texts = pl.DataFrame([as_text(frame[name]).str.strip_chars() for name in named])
    return texts.with_columns(pl.when(pl.all() != "").then(pl.all()))


def axes_of(
    heads: pl.DataFrame,
    register: pl.DataFrame,
    parts_of: Mapping[str, Sequence[str]],
    shown: Mapping[str, tuple[str, ...]],
    trees: Mapping[str, Hierarchy],
) -> tuple[NDArray[np.int64], list[KnownColumn], NDArray[np.int64]]:
    """How many persons are alike, an axis per matched column (a place has two), and who is alike."""
    known: list[tuple[list[Cell], list[Cell | Side], NDArray[np.int64], Nodes | None]] = []
    codes = []
    texts = _texts(heads, (column for columns in shown.values() for column in columns))
    said = _texts(register, (part for parts in parts_of.values() for part in parts))
    for name, parts in parts_of.items():
        place, cells = _distinct([texts[one] for one in shown[name]])
        tree = trees.get(name)
        if len(parts) > 1 and not any(_is_place(cell, len(parts)) for cell in cells):
            raise DataError(
                f"Column {name!r} of the release is matched with {len(parts)} columns of the register, but "
                "none of its cells is a place. Match it with one column.",
                field="match",
                column=name,
            )
        for side, part in enumerate(parts):
            person, values = _distinct([said[part] if tree is None else said[part].replace(tree.within)])
            codes.append(person)
            sides = [_cell(cell, side, len(parts)) for cell in cells]
            if tree is None:
                _check_readable(name, part, sides, [value[0] for value in values if value[0] is not None])
            nodes = tree.nodes(of_others=True) if tree is not None else None
            known.append(([value[0] for value in values], sides, place, nodes))
    key, _ = join_codes(((code, int(code.max()) + 1) for code in codes), register.height)
    _, first, alike, weight = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    columns = [KnownColumn(code[first], *rest) for code, rest in zip(codes, known, strict=True)]
    return weight, columns, alike.ravel()


def _check_readable(name: str, column: str, cells: Sequence[Cell | Side], values: Sequence[str]) -> None:
    """Refuse values none of which is of the kind that the ranges are of: all persons would seem safe."""
    ranges = [parse_range(cell) if isinstance(cell, str) else cell for cell in cells if cell is not None]
    ranges = [ends for ends in ranges if ends[0] != ends[1]]
    kinds = [
        kind
        for kind in ("number", "date")
        if any(
            number_of(low, kind) is not None and number_of(high, kind) is not None for low, high in ranges
        )
    ]
    if (
        not kinds
        or not values
        or any(number_of(value, kind) is not None for kind in kinds for value in values)
    ):
        return
    what, how = ("numbers", "as a number") if "number" in kinds else ("dates", "as YYYY-MM-DD")
    hint = (
        ""
        if "number" in kinds
        else f", or say how they are written: the kind of {name!r} is then date(%d.%m.%Y) or the like"
    )
    raise DataError(
        f"Column {name!r} of the release shows ranges of {what}, but none of the {len(values):,} different "
        f"values of column {column!r} of the register reads {how}, so nobody could be found. Write "
        f"them so{hint}.",
        field="kinds",
        column=name,
    )


def _cell(cell: tuple[str | None, ...], side: int, sides: int) -> Cell | Side:
    """One side of a published cell; bounds that are missing may hide any value."""
    if len(cell) > 1:
        return SUPPRESSED if cell[0] is None or cell[1] is None else (cell[0], cell[1])
    if sides == 1 or cell[0] is None or cell[0] == SUPPRESSED:
        return cell[0]
    box = parse_box(cell[0])
    return box[side] if len(box) == sides else None


def _is_place(cell: tuple[str | None, ...], sides: int) -> bool:
    """Whether a published cell says something on so many sides."""
    return cell[0] in {None, SUPPRESSED} or (len(cell) == 1 and len(parse_box(str(cell[0]))) == sides)


def _distinct(columns: list[pl.Series]) -> tuple[NDArray[np.int64], list[tuple[str | None, ...]]]:
    codes: dict[tuple[str | None, ...], int] = {}
    lines = zip(*(series.to_list() for series in columns), strict=True)
    place = [codes.setdefault(line, len(codes)) for line in lines]
    return np.array(place, dtype=np.int64), list(codes)


def _one_value(series: pl.Series, classes: Classes) -> NDArray[np.int64]:
    """The one value of each class by code, -1 where it has several."""
    mix = mix_of(classes, *codes_of(series))
    return np.where(np.diff(mix.start) == 1, mix.value[mix.start[:-1]], -1)


class Pairing(Protocol):
    """Whoever takes pairs of a class and a person whom it covers."""

    def add(self, number: Integers, person: Integers) -> None:
        """Add pairs."""


class _Tally:
    """What is found of each distinct person, pair by pair of a class and a person whom it covers.

    `many` counts candidates, `kinds` the classes they stand in; `least` and `most` hold the codes of each
    sensitive column, the same where all candidates share one value.
    """

    def __init__(
        self, persons: int, classes: Classes, values: Sequence[Integers], behind: Behind | None
    ) -> None:
        self.sizes, self.values, self.persons = classes.sizes, values, persons
        self.people = None if behind is None else pairs_of(classes, behind)
        self.many = np.zeros(persons, dtype=np.int64)
        self.kinds = np.zeros(persons, dtype=np.int64)
        self.least = [np.full(persons, np.iinfo(np.int64).max) for _ in values]
        self.most = [np.full(persons, -1) for _ in values]
        self.pairs: list[tuple[Integers, Integers]] = []

    def add(self, number: Integers, person: Integers) -> None:
        """Add pairs of a class and a person."""
        counts = np.bincount(person, weights=self.sizes[number], minlength=self.persons)
        self.many += np.rint(counts).astype(np.int64)
        self.kinds += np.bincount(person, minlength=self.persons)
        for value, least, most in zip(self.values, self.least, self.most, strict=True):
            np.minimum.at(least, person, value[number])
            np.maximum.at(most, person, value[number])
        if self.people is not None:
            self.pairs.append((number.astype(np.int32), person.astype(np.int32)))

    def candidates(self) -> Integers:
        """How many candidates each person has: records, or different persons where these are known."""
        if self.people is None or not self.pairs:
            return self.many
        from scipy.sparse import csr_array

        label, who, people = self.people
        classes = self.sizes.size
        number, person = (np.concatenate(side) for side in zip(*self.pairs, strict=True))
        covers = csr_array((np.ones(number.size, bool), (person, number)), shape=(self.persons, classes))
        holds = csr_array((np.ones(label.size, bool), (label, who)), shape=(classes, people))
        step = max(1, CHUNK * 10 // people)
        parts = [
            np.diff((covers[start : start + step] @ holds).indptr) for start in range(0, self.persons, step)
        ]
        return np.concatenate(parts).astype(np.int64)

    def certain(self) -> list[NDArray[np.bool_]]:
        """Per sensitive column, for whom all candidates share one value."""
        return [(least >= 0) & (least == most) for least, most in zip(self.least, self.most, strict=True)]


def add_covered(axes: Sequence[KnownColumn], classes: Classes, tally: Pairing) -> None:
    """Pairs whose cells cover everything: the column that covers fewest is looked up, the others filter."""
    best = np.zeros(classes.sizes.size, dtype=np.int64)
    fewest = axes[0].many()
    for at, axis in enumerate(axes[1:], 1):
        many = axis.many()
        best[many < fewest] = at
        fewest = np.minimum(fewest, many)
    # classes in runs that look up no more than a chunk of pairs
    run = np.cumsum(fewest + 1) // CHUNK
    for numbers in np.split(np.arange(run.size), np.flatnonzero(np.diff(run)) + 1):
        found = [axes[best[number]].look_up(number) for number in numbers.tolist()]
        person = np.concatenate(found)
        number = np.repeat(numbers, [some.size for some in found])
        for axis in axes:
            if person.size == 0:
                break
            fits = axis.fits(number, person)
            number, person = number[fits], person[fits]
        tally.add(number, person)


def _add_nearest(axes: Sequence[KnownColumn], classes: Classes, tally: _Tally) -> None:
    """Give persons without a candidate the nearest classes; some persons with all classes at a time."""
    lost = np.flatnonzero(tally.many == 0)
    work = lost.size * classes.sizes.size * len(axes)
    if work > MOST_DISTANCES:
        raise DataError(
            f"The nearest records of {lost.size:,} persons among {classes.sizes.size:,} classes by "
            f"{len(axes):,} columns are {work:,} distances; {MOST_DISTANCES:,} are allowed. Match fewer "
            "columns, or give a part of the register."
        )
    step = max(1, CHUNK // classes.sizes.size)
    for start in range(0, lost.size, step):
        mine = lost[start : start + step]
        far = np.zeros((mine.size, classes.sizes.size))
        for axis in axes:
            far += axis.distances(mine)
        person, number = np.nonzero(far <= far.min(axis=1, keepdims=True) + 1e-9)
        tally.add(number, mine[person])
