"""Blocks of items that stand together, cut elsewhere each time: each is then worked on by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut_blocks"]


def cut_blocks(
    middle: NDArray[np.integer],
    weight: NDArray[np.integer],
    most: int,
    random: np.random.Generator,
    gaps: list[NDArray[np.float64]] | None = None,
) -> list[NDArray[np.int64]]:
    """Cut items until a part weighs at most `most`, at random but rather where the gap is wide.

    `middle` holds least plus greatest code per axis, `gaps` the distance from each code to the next, all
    alike where they are not given.
    """
    if gaps is None:
        gaps = [np.ones(top // 2 + 1) for top in middle.max(axis=0).tolist()]
    done: list[NDArray[np.int64]] = []
    todo = [np.arange(len(middle))]
    while todo:
        items = todo.pop()
        held = weight[items].sum()
        if held <= most or items.size < 2:
            done.append(items)
            continue
        best, is_left = -1.0, np.arange(items.size) < items.size // 2
        for axis, gap in enumerate(gaps):
            values = middle[items, axis]
            below = np.cumsum(np.bincount(values, weights=weight[items], minlength=2 * gap.size + 1))
            share = below[0 : 2 * gap.size : 2] / held
            wide = np.where((share > 0.3) & (share < 0.7), gap * random.uniform(0.5, 1, gap.size), -1.0)
            code = int(np.argmax(wide)) if wide.size else 0
            if wide.size and wide[code] >= 0 and (rank := wide[code] * random.random()) > best:
                best, is_left = rank, values <= 2 * code
        todo += [items[~is_left], items[is_left]]
    return done
