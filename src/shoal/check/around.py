"""Whether as many records lie within a published radius as its line says, by the original's codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kanonymity import Classes
from shoal.check.ruler import Ruler, number_of
from shoal.model.cell import parse_box
from shoal.model.coded import Coded
from shoal.model.column import LINE, TREE
from shoal.model.plan import RADIUS
from shoal.model.verdict import Finding

__all__ = ["find_radii"]

Floats = NDArray[np.float64]

MOST = 300_000_000
"""Cells looked at: so many lines times rows times columns take some seconds."""
EARTH = 6371.0088
CLOSE = 1e-9


def find_radii(
    table: pl.DataFrame, classes: Classes, coded: Coded, rulers: Sequence[Ruler | None]
) -> Finding:
    """Whether every line's radius holds the records that the line counts; others may lie there too."""
    lines = table[classes.row]
    if coded.space.name == "matrix":
        return Finding("radii", None, "Not recomputable: the matrix of distances is not at hand.")
    if len(lines) * coded.codes.size > MOST or any(ruler is None for ruler in rulers):
        return Finding(
            "radii", None, "Not recomputed: too many lines and rows, or a column not known here."
        )
    radius = lines[RADIUS].cast(pl.Float64, strict=False).fill_null(-1.0).to_numpy()
    wrong = 0
    known = [ruler for ruler in rulers if ruler is not None]
    texts = lines.select(pl.col(ruler.name).cast(pl.String) for ruler in known)
    for line, cells in enumerate(texts.iter_rows()):
        away = _distances(coded, known, cells)
        near = 0 if away is None else int(coded.count[away <= radius[line] * (1 + CLOSE) + CLOSE].sum())
        wrong += near < int(classes.sizes[line])
    detail = f"Within the radius of each of {len(lines)} centres lie the records that its line counts."
    if wrong:
        detail = (
            f"In {wrong} of {len(lines)} lines fewer records lie within the radius than the line counts."
        )
    return Finding("radii", wrong == 0, detail)


def _distances(coded: Coded, rulers: Sequence[Ruler], cells: Sequence[str | None]) -> Floats | None:
    """How far every distinct row lies from a centre; None where its cells cannot be read."""
    if coded.space.name == "great-circle":
        return _over_ground(coded, rulers, cells)
    steps: list[Floats] = []
    for column, ruler, cell in zip(coded.columns, rulers, cells, strict=True):
        for part, axis in enumerate(column.axes):
            at = len(steps)
            if axis.form == LINE:
                by_code = _from_number(coded, at, column.numbers[part], _number(ruler, cell, part))
            else:
                by_code = _from_code(coded, at, _code(ruler, cell))
            if by_code is None:
                return None
            steps.append(by_code[coded.codes[:, at]])
    each = np.stack(steps, axis=1)
    away: Floats = each.sum(axis=1)
    return np.sqrt((each * each).sum(axis=1)) if coded.space.name == "euclidean" else away


def _number(ruler: Ruler, cell: str | None, part: int) -> float | None:
    """The number in a cell, not a number where it is missing, None where it cannot be read."""
    if cell is None:
        return np.nan
    sides = parse_box(cell) if ruler.sides else [(cell, cell)]
    return number_of(sides[part][0], ruler.kind) if part < len(sides) else None


def _code(ruler: Ruler, cell: str | None) -> int | None:
    reading = ruler.read(cell)
    if reading is None or reading.codes is None or reading.codes[0][0] != reading.codes[0][1]:
        return None
    return reading.codes[0][0]


def _from_number(coded: Coded, at: int, values: Floats, number: float | None) -> Floats | None:
    """How far each code of a line lies from a number; missing lies as far as anything from all others."""
    metric = coded.metric
    if number is None or (np.isnan(number) and metric.missing[at] < 0):
        return None
    away = np.full(metric.size[at], metric.most[at])
    place = metric.data[metric.offset[at] :][: values.size]
    if np.isnan(number):
        away[metric.missing[at]] = 0.0
    else:
        away[: values.size] = np.abs(place - np.interp(number, values, place))
    return away


def _from_code(coded: Coded, at: int, code: int | None) -> Floats | None:
    """How far each code of a tree or label lies from one of them."""
    metric = coded.metric
    if code is None:
        return None
    size, start = int(metric.size[at]), int(metric.offset[at])
    away = np.zeros(size)
    if metric.form[at] == TREE:
        gap = metric.data[start : start + size]  # between a code and the next
        away[code + 1 :] = np.maximum.accumulate(gap[code : size - 1])
        away[:code] = np.maximum.accumulate(gap[:code][::-1])[::-1]
    else:
        away[:] = metric.data[start]
        away[code] = 0.0
    return away


def _over_ground(coded: Coded, rulers: Sequence[Ruler], cells: Sequence[str | None]) -> Floats | None:
    """In kilometres, from one place."""
    pairs = [(ruler, cell, part) for ruler, cell in zip(rulers, cells, strict=True) for part in (0, 1)]
    if len(rulers) == 2:
        pairs = [pairs[0], pairs[2]]
    found = [_number(*pair) for pair in pairs]
    if any(number is None or np.isnan(number) for number in found):
        return None
    north, east = np.radians(np.array(found, dtype=np.float64))
    centre = np.array([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
    less = np.linalg.norm(coded.space.points - centre, axis=1)
    more = np.linalg.norm(coded.space.points + centre, axis=1)
    away: Floats = 2.0 * EARTH * np.arctan2(less, more)
    return away
