"""A flow of records from published lines into rows, by augmenting paths; tables are tiny."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["unmatched"]


def unmatched(lines: Sequence[int], rows: Sequence[int], fits: Sequence[set[int]]) -> int:
    """How many records of the lines find no row: a row takes as many records as it stands for."""
    left = list(lines)
    room = list(rows)
    given: list[dict[int, int]] = [{} for _ in rows]  # per row, the records it took from each line
    for line in range(len(lines)):
        while left[line]:
            path = _way(line, fits, room, given)
            if path is None:
                break
            steps = list(zip(path[::2], path[1::2], strict=True))  # (line, row), ...
            most = min(left[line], room[steps[-1][1]])
            for (_, row), (moved, _) in pairwise(steps):
                most = min(most, given[row][moved])
            for at, row in steps:
                given[row][at] = given[row].get(at, 0) + most
            for (_, row), (moved, _) in pairwise(steps):
                given[row][moved] -= most
            room[steps[-1][1]] -= most
            left[line] -= most
    return sum(left)


def _way(
    line: int, fits: Sequence[set[int]], room: Sequence[int], given: Sequence[dict[int, int]]
) -> list[int] | None:
    """Line, row, line, row, ... to a row with room, moving records on the way."""
    came: dict[int, tuple[int, int | None]] = {}  # row -> (line it is reached from, row that line leaves)
    queue: list[tuple[int, int | None]] = [(line, None)]
    for at, leaves in queue:
        for row in sorted(fits[at]):
            if row in came:
                continue
            came[row] = (at, leaves)
            if room[row]:
                path: list[int] = []
                step: int | None = row
                while step is not None:
                    from_line, before = came[step]
                    path = [from_line, step, *path]
                    step = before
                return path
            queue += [(other, row) for other, many in given[row].items() if many]
    return None
