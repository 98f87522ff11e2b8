"""A linkage trial: what an outsider who holds an identified register finds in a release.

A record is a candidate for a person where every matched cell covers what the register says: a range its
numbers and dates, a node its leaves, a set its members, a star everything, a plain value itself. A
blank in the register is something the outsider does not know. Persons that no record covers have no
candidate, unless the nearest are asked for, as with means, which cover nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kanonymity import Classes, classes_of, codes_of, records_of
from shoal.check.mix import mix_of
from shoal.check.ruler import number_of
from shoal.errors import DataError, PlanError
from shoal.model.cell import SUPPRESSED, parse_box, parse_range, parse_set, parse_value
from shoal.model.exposure import Homogeneity, Linkage
from shoal.model.hierarchy import Hierarchy

__all__ = ["link"]

CHUNK = 2_000_000
"""Pairs of a person and a class that are looked at together."""
Floats = NDArray[np.floating]


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
) -> Linkage:
    """Try to find every person of `register` in `release`; `match` is by the release's column names.

    A column published as two bounds is matched by its plain name; a place by its two columns in the
    register, joined by a plus.
    """
    if not match:
        raise PlanError(
            "Nothing is matched. Name columns of the release and the register: age=age,zip=zip."
        )
    shown = {name: _published(release, name) for name in match}
    _check(register, match, sensitive, count, release)
    faces = [column for columns in shown.values() for column in columns]
    records = records_of(release, count)
    classes = classes_of(release, faces, records)
    if classes.total == 0:
        raise DataError("The release holds no records. There is nothing to find.")
    heads = release[classes.row]
    trees = hierarchies or {}
    distances = []
    codes = []
    for name, known in match.items():
        person, values = _persons(register, known)
        cell, cells = _cells(heads, shown[name])
        tree = trees.get(name)
        read = _reader(values, tree.nodes() if tree is not None else None)
        table = np.empty((len(values), len(cells)), dtype=np.float32)
        for at, one in enumerate(cells):
            table[:, at] = read(one)
        distances.append((_scaled(table), cell))
        codes.append(person)
    key, weight = np.unique(np.column_stack(codes), axis=0, return_counts=True)
    homogeneous = [_one_value(release[name], classes) for name in sensitive]
    many, kinds, same = _candidates(key, distances, classes, homogeneous, nearest)
    found = many > 0
    per_person = np.repeat(many[found], weight[found])
    return Linkage(
        persons=register.height,
        records=classes.total,
        classes=classes.sizes.size,
        found=int(weight[found].sum()),
        one_record=int(weight[many == 1].sum()),
        one_class=int(weight[kinds == 1].sum()),
        fewest=int(per_person.min()) if per_person.size else 0,
        median=float(np.median(per_person)) if per_person.size else 0.0,
        mean=float(per_person.mean()) if per_person.size else 0.0,
        fewer_than=fewer_than,
        few=int(weight[found & (many < fewer_than)].sum()),
        homogeneous=tuple(
            Homogeneity(name, int(weight[hits].sum())) for name, hits in zip(sensitive, same, strict=True)
        ),
    )


def _published(release: pl.DataFrame, name: str) -> tuple[str, ...]:
    if name in release.columns:
        return (name,)
    ends = (f"{name}_low", f"{name}_high")
    if all(end in release.columns for end in ends):
        return ends
    columns = ", ".join(release.columns)
    raise DataError(f"The release has no column {name!r}. Its columns are: {columns}.")


def _check(
    register: pl.DataFrame,
    match: Mapping[str, str],
    sensitive: Sequence[str],
    count: str | None,
    release: pl.DataFrame,
) -> None:
    for known in match.values():
        for part in _parts(register, known):
            if part not in register.columns:
                columns = ", ".join(register.columns)
                raise DataError(f"The register has no column {part!r}. Its columns are: {columns}.")
    for name in (*sensitive, *((count,) if count is not None else ())):
        if name not in release.columns:
            columns = ", ".join(release.columns)
            raise DataError(f"The release has no column {name!r}. Its columns are: {columns}.")
    if register.height == 0:
        raise DataError("The register has no rows. There is nobody to look for.")


def _parts(register: pl.DataFrame, known: str) -> list[str]:
    return [known] if known in register.columns else [part.strip() for part in known.split("+")]


def _text(series: pl.Series) -> pl.Series:
    text = series.cast(pl.String).str.strip_chars()
    return text.set(text == "", None)


def _persons(register: pl.DataFrame, known: str) -> tuple[NDArray[np.int64], list[tuple[str | None, ...]]]:
    """The place of each person's value, and the values; a place has two parts."""
    return _distinct([_text(register[part]) for part in _parts(register, known)])


def _cells(
    heads: pl.DataFrame, columns: Sequence[str]
) -> tuple[NDArray[np.int64], list[tuple[str | None, ...]]]:
    return _distinct([_text(heads[name]) for name in columns])


def _distinct(columns: list[pl.Series]) -> tuple[NDArray[np.int64], list[tuple[str | None, ...]]]:
    frame = pl.DataFrame([series.alias(str(at)) for at, series in enumerate(columns)])
    values = frame.unique(maintain_order=True)
    codes = frame.join(values.with_row_index("\0at"), on=frame.columns, how="left", nulls_equal=True)
    return codes["\0at"].cast(pl.Int64).to_numpy(), values.rows()


def _reader(
    values: list[tuple[str | None, ...]], nodes: Mapping[str, tuple[int, int, int]] | None
) -> Callable[[tuple[str | None, ...]], Floats]:
    """How far each value is from a cell: 0 where it is covered, infinity where that cannot be said."""
    unknown = np.array([all(part is None for part in value) for value in values])
    parts = list(zip(*values, strict=True))
    numbers = {kind: [_numbers(part, kind) for part in parts] for kind in ("number", "date")}
    place = {value[0]: at for at, value in enumerate(values) if len(value) == 1 and value[0] is not None}
    leaf = np.array([nodes.get(value[0] or "", (-1,))[0] if nodes else -1 for value in values])

    def between(ends: Sequence[tuple[str, str]]) -> Floats:
        for kind, columns in numbers.items():
            sides = [(number_of(low, kind), number_of(high, kind)) for low, high in ends]
            whole = [(low, high) for low, high in sides if low is not None and high is not None]
            if len(whole) == len(columns) == len(ends):
                total = np.zeros(len(values))
                for (low, high), column in zip(whole, columns, strict=True):
                    total += np.maximum(0.0, np.maximum(low - column, column - high))
                return np.where(np.isnan(total), np.inf, total)
        return np.full(len(values), np.inf)

    def read(cell: tuple[str | None, ...]) -> Floats:
        one = cell[0]
        if len(cell) > 1:  # two bounds; both missing may hide any value
            apart = between([(one, cell[1])]) if one is not None and cell[1] is not None else 0.0 * leaf
        elif one is None:
            apart = np.full(len(values), np.inf)
        elif one == SUPPRESSED:
            apart = np.zeros(len(values))
        elif len(parts) > 1:
            apart = between(parse_box(one))
        else:
            apart = np.full(len(values), np.inf)
            is_set = one.startswith("{") and one.endswith("}")
            node = nodes.get(parse_value(one)) if nodes is not None and not is_set else None
            if node is not None:
                apart[(leaf >= node[0]) & (leaf <= node[1])] = 0.0
            elif not is_set and nodes is None:
                apart = between([parse_range(one)])
            for member in parse_set(one):
                if member in place:
                    apart[place[member]] = 0.0
        apart[unknown] = 0.0  # the outsider does not know it
        return apart

    return read


def _numbers(texts: Sequence[str | None], kind: str) -> Floats:
    found = [None if text is None else number_of(text, kind) for text in texts]
    return np.array([np.nan if number is None else number for number in found], dtype=np.float64)


def _scaled(table: Floats) -> Floats:
    """Distances as shares of the largest; what cannot be compared is that far."""
    most = table[np.isfinite(table)].max(initial=0.0)
    if most > 0:
        table = table / most
    return np.minimum(table, 1.0)


def _one_value(series: pl.Series, classes: Classes) -> NDArray[np.int64]:
    """The one value of each class by code, -1 where it has several."""
    mix = mix_of(classes, *codes_of(series))
    return np.where(np.diff(mix.start) == 1, mix.value[mix.start[:-1]], -1)


def _candidates(
    key: NDArray[np.int64],
    distances: Sequence[tuple[Floats, NDArray[np.int64]]],
    classes: Classes,
    homogeneous: Sequence[NDArray[np.int64]],
    nearest: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.bool_]]]:
    """Per distinct person: candidates, classes they stand in, and whether they share each value."""
    step = max(1, CHUNK // classes.sizes.size)
    many = np.zeros(len(key), dtype=np.int64)
    kinds = np.zeros(len(key), dtype=np.int64)
    same = [np.zeros(len(key), dtype=np.bool_) for _ in homogeneous]
    top = np.iinfo(np.int64).max
    covers = [table == 0 for table, _ in distances]
    for start in range(0, len(key), step):
        mine = slice(start, start + step)
        fits = np.ones((len(key[mine]), classes.sizes.size), dtype=np.bool_)
        for at, (_, cell) in enumerate(distances):
            fits &= covers[at][key[mine, at]][:, cell]
        if nearest:
            lost = np.flatnonzero(~fits.any(axis=1))
            far = np.zeros((lost.size, classes.sizes.size))
            for at, (table, cell) in enumerate(distances):
                far += table[key[mine, at][lost]][:, cell]
            fits[lost] = far <= far.min(axis=1, keepdims=True) + 1e-9
        many[mine] = fits @ classes.sizes
        kinds[mine] = fits.sum(axis=1)
        for hits, value in zip(same, homogeneous, strict=True):
            least = np.where(fits, value, top).min(axis=1)
            hits[mine] = (least >= 0) & (least < top) & (least == np.where(fits, value, -1).max(axis=1))
    return many, kinds, same
