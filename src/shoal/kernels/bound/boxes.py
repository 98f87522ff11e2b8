"""The boxes of a table as cells and windows: what bounds look at."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.shares import cell_floors
from shoal.kernels.crowd.cheapest_first import Swept, sweep_rows
from shoal.kernels.crowd.cube import Cube, build_cube, shape_of

__all__ = ["Boxes", "list_boxes"]


class Boxes(NamedTuple):
    """Cells over rows in sweep order, with the least their windows can cost: `floor` for k records or more.

    `axes` are those of the cells. `looks` are the rows in all windows that cost at most `cap`: what it
    takes to look at each once.
    """

    swept: Swept
    cube: Cube
    floor: NDArray[np.float64]
    axes: NDArray[np.int64]
    metric: Any
    k: int
    cap: float
    looks: int


def list_boxes(
    codes: NDArray[np.int32], count: NDArray[np.int64], metric, k: int, cap: float, room: int
) -> Boxes | None:
    """All boxes a bound looks at, of cost at most `cap`; None where they take more than `room` entries.

    Number columns other than the sweep are left out.
    """
    shape = shape_of(codes, count, metric, -1)
    swept = sweep_rows(codes, count, metric, shape)
    cube = build_cube(swept.code, swept.held, shape, metric, k, cap, room, 12 * room)
    if not cube.whole:
        return None
    # a group in a window of several labels need not hold all of them: two is all that can be charged
    charged = Cube(cube.entry, cube.start, cube.cost, np.zeros_like(cube.open_sets), True)
    floor, looks = cell_floors(swept, charged, k, cap)
    return Boxes(swept, charged, floor, shape.axis, metric, k, cap, int(looks[floor < cap].sum()))
