"""Brute force for tiny geographic and label tables, in obvious Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np


def partitions(items: int) -> Iterator[list[list[int]]]:
    """Every way to split items 0..n-1 into groups."""
    groups: list[list[int]] = []

    def place(item: int) -> Iterator[list[list[int]]]:
        if item == items:
            yield groups
            return
        for group in list(groups):
            group.append(item)
            yield from place(item + 1)
            group.pop()
        groups.append([item])
        yield from place(item + 1)
        groups.pop()

    return place(0)


def least_largest(
    weight: Sequence[int], k: int, allowed: Callable[[list[list[int]]], bool] = lambda groups: True
) -> int | None:
    """The least weight of the heaviest group over all allowed splits; None where there is none."""
    best: int | None = None
    for groups in partitions(len(weight)):
        levels = [sum(weight[i] for i in group) for group in groups]
        if min(levels) >= k and (best is None or max(levels) < best) and allowed(groups):
            best = max(levels)
    return best


def are_runs(groups: list[list[int]]) -> bool:
    """Whether every group is a run of neighbouring items."""
    return all(max(group) - min(group) == len(group) - 1 for group in groups)


def is_connected(nodes: Sequence[int], edges: Sequence[tuple[int, int]]) -> bool:
    """Whether the nodes hang together by edges among themselves."""
    inside, reached = set(nodes), {nodes[0]}
    while True:
        more = {b for a, b in edges if a in reached and b in inside} | {
            a for a, b in edges if b in reached and a in inside
        }
        if more <= reached:
            return reached == inside
        reached |= more


def boxes_are_apart(groups: list[list[int]], points: Sequence[tuple[float, float]]) -> bool:
    """Whether the bounding boxes of the groups share no point."""
    boxes = []
    for group in groups:
        xs, ys = [points[i][0] for i in group], [points[i][1] for i in group]
        boxes.append((min(xs), max(xs), min(ys), max(ys)))
    for at, (left, right, bottom, top) in enumerate(boxes):
        for other_left, other_right, other_bottom, other_top in boxes[:at]:
            if left <= other_right and other_left <= right and bottom <= other_top and other_bottom <= top:
                return False
    return True


def levels(weight: np.ndarray, label: np.ndarray) -> list[int]:
    return [
        sum(int(w) for w, at in zip(weight, label, strict=True) if at == g) for g in set(label.tolist())
    ]


def tiny(random: np.random.Generator) -> tuple[np.ndarray, int]:
    """Items and a k that they can meet; now and then a heavy one."""
    weight = random.integers(1, random.integers(2, 14), size=random.integers(4, 9))
    return weight.astype(np.int64), int(random.integers(2, max(3, weight.sum() // 2)))
