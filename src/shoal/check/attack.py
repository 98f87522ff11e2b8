"""A linkage trial: what an outsider who holds an identified register finds in a release.

A record is a candidate for a person where every matched cell covers what the register says: a range its
numbers and dates, a node its leaves, a set its members, a star everything, a plain value itself. A
blank in the register is something the outsider does not know. Persons that no record covers have no
candidate, unless the nearest are asked for, as with means, which cover nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.cover import Axis, Cell, Nodes, Side
from shoal.check.kanonymity import Classes, classes_of, codes_of, records_of
from shoal.check.mix import mix_of
from shoal.check.ruler import number_of
from shoal.errors import DataError, PlanError
from shoal.model.cell import SUPPRESSED, parse_box, parse_range
from shoal.model.exposure import Homogeneity, Linkage
from shoal.model.hierarchy import Hierarchy
from shoal.model.names import check_named

__all__ = ["link"]

CHUNK = 2_000_000
"""Pairs of a person and a class that are looked at together where the nearest are asked for."""
NONE_YET, SEVERAL = -2, -1


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
    if fewer_than < 1:
        raise PlanError(f"k = {fewer_than} counts nobody. Give at least 1.")
    shown = {name: _published(release, name) for name in match}
    faces = [column for columns in shown.values() for column in columns]
    known = [part for column in match.values() for part in _parts(register, column)]
    counts = [count] if count is not None else []
    check_named([*faces, *sensitive, *counts], release.columns, what="release")
    check_named(known, register.columns, what="register")
    if register.height == 0:
        raise DataError("The register has no rows. There is nobody to look for.")
    records = records_of(release, count)
    classes = classes_of(release, faces, records)
    if classes.total == 0:
        raise DataError("The release holds no records. There is nothing to find.")
    weight, axes = _axes(release[classes.row], register, match, shown, hierarchies or {})
    values = [_one_value(release[name], classes) for name in sensitive]
    many, kinds, same = _candidates(axes, weight.size, classes, values)
    if nearest:
        _add_nearest(axes, classes, values, many, kinds, same)
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
    """The columns that show a matched one: its two bounds where only these are there."""
    ends = (f"{name}_low", f"{name}_high")
    return ends if name not in release.columns and {*ends} <= {*release.columns} else (name,)


def _parts(register: pl.DataFrame, known: str) -> list[str]:
    return [known] if known in register.columns else [part.strip() for part in known.split("+")]


def _text(series: pl.Series) -> pl.Series:
    text = series.cast(pl.String).str.strip_chars()
    return text.set(text == "", None)


def _axes(
    heads: pl.DataFrame,
    register: pl.DataFrame,
    match: Mapping[str, str],
    shown: Mapping[str, tuple[str, ...]],
    trees: Mapping[str, Hierarchy],
) -> tuple[NDArray[np.int64], list[Axis]]:
    """How many persons are alike, and an axis per matched column; a place has two."""
    known: list[tuple[list[Cell], list[Cell | Side], NDArray[np.int64], Nodes | None]] = []
    codes = []
    for name, column in match.items():
        place, cells = _distinct([_text(heads[one]) for one in shown[name]])
        tree = trees.get(name)
        parts = _parts(register, column)
        if len(parts) > 1 and not any(_is_place(cell, len(parts)) for cell in cells):
            raise DataError(
                f"Column {name!r} of the release is matched with {len(parts)} columns of the register, but "
                "none of its cells is a place. Match it with one column."
            )
        for side, part in enumerate(parts):
            person, values = _distinct([_text(register[part])])
            codes.append(person)
            its = [_cell(cell, side, len(parts)) for cell in cells]
            if tree is None:
                _check_readable(name, part, its, [value[0] for value in values if value[0] is not None])
            known.append(
                ([value[0] for value in values], its, place, tree.nodes(of_others=True) if tree else None)
            )
    key, weight = np.unique(np.column_stack(codes), axis=0, return_counts=True)
    return weight, [Axis(key[:, at].copy(), *its) for at, its in enumerate(known)]


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
    hint = "" if "number" in kinds else f", or say how they are written, as in --kind {name}=date(%d.%m.%Y)"
    raise DataError(
        f"Column {name!r} of the release shows ranges of {what}, but none of the {len(values):,} different "
        f"values of column {column!r} of the register reads {how}, so nobody could be found. Write "
        f"them so{hint}."
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
    frame = pl.DataFrame([series.alias(str(at)) for at, series in enumerate(columns)])
    values = frame.unique(maintain_order=True)
    codes = frame.join(values.with_row_index("\0at"), on=frame.columns, how="left", nulls_equal=True)
    return codes["\0at"].cast(pl.Int64).to_numpy(), values.rows()


def _one_value(series: pl.Series, classes: Classes) -> NDArray[np.int64]:
    """The one value of each class by code, -1 where it has several."""
    mix = mix_of(classes, *codes_of(series))
    return np.where(np.diff(mix.start) == 1, mix.value[mix.start[:-1]], -1)


def _candidates(
    axes: Sequence[Axis], persons: int, classes: Classes, values: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.bool_]]]:
    """Per distinct person: candidates, classes they stand in, and whether they share each value.

    Class by class: the column that covers fewest persons is looked up, the others filter.
    """
    many = np.zeros(persons, dtype=np.int64)
    kinds = np.zeros(persons, dtype=np.int64)
    shared = [np.full(persons, NONE_YET, dtype=np.int64) for _ in values]
    for number, size in enumerate(classes.sizes.tolist()):
        by_size = sorted(axes, key=lambda axis: axis.many(number))
        found = by_size[0].look_up(number)
        for axis in by_size[1:]:
            if found.size == 0:
                break
            found = found[axis.fits(number, found)]
        many[found] += size
        kinds[found] += 1
        for seen, value in zip(shared, values, strict=True):
            agrees = (seen[found] == NONE_YET) | (seen[found] == value[number])
            seen[found] = np.where(agrees, value[number], SEVERAL)
    return many, kinds, [seen >= 0 for seen in shared]


def _add_nearest(
    axes: Sequence[Axis],
    classes: Classes,
    values: Sequence[NDArray[np.int64]],
    many: NDArray[np.int64],
    kinds: NDArray[np.int64],
    same: Sequence[NDArray[np.bool_]],
) -> None:
    """Give persons without a candidate the nearest classes; some persons with all classes at a time."""
    lost = np.flatnonzero(many == 0)
    top = np.iinfo(np.int64).max
    step = max(1, CHUNK // classes.sizes.size)
    for start in range(0, lost.size, step):
        mine = lost[start : start + step]
        far = np.sum([axis.distances(mine) for axis in axes], axis=0)
        fits = far <= far.min(axis=1, keepdims=True) + 1e-9
        many[mine] = fits @ classes.sizes
        kinds[mine] = fits.sum(axis=1)
        for hits, value in zip(same, values, strict=True):
            least = np.where(fits, value, top).min(axis=1)
            hits[mine] = (least >= 0) & (least == np.where(fits, value, -1).max(axis=1))
