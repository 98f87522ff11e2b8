"""Sets that unite: each has a member that names it, found by way of those above."""

from __future__ import annotations

from shoal.kernels.compile.decorators import inner

__all__ = ["find"]


@inner
def find(above, row):
    """The name of the set that holds `row`, with the path halved on the way."""
    while above[row] != row:
        above[row] = above[above[row]]
        row = above[row]
    return row
