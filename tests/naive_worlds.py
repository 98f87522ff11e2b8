"""The strongest attacker of a series, by enumeration: he knows who is listed with whom, and who changed.

A life is a person with one value; a list shows the values of its lives. A world gives every life a value
so that every list shows what it shows and no person keeps a value that he is known to have changed.
Nothing here knows how a series was made.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations


def worlds(lists: list[list], truth: dict, differ: list[tuple]) -> list[dict]:
    """Every world, list by list. Needs small lists."""
    found = [{}]
    for lives in lists:
        shown = [truth[life] for life in lives]
        grown = []
        for world in found:
            for values in set(permutations(shown)):
                new = dict(zip(lives, values, strict=True))
                if any(life in world and world[life] != value for life, value in new.items()):
                    continue
                grown.append(world | new)
        found = grown
        found = [w for w in found if all(w[a] != w[b] for a, b in differ if a in w and b in w)]
    return found


def parts_of(lists: list[list], differ: list[tuple]) -> list[list[list]]:
    """Lists that constrain one another, part by part."""
    parts: list[tuple[set, list]] = []
    links = dict(differ) | {b: a for a, b in differ}
    for lives in lists:
        seen = {*lives, *(links[life] for life in lives if life in links)}
        mine = [part for part in parts if part[0] & seen]
        parts = [part for part in parts if not part[0] & seen]
        parts.append((seen.union(*(p[0] for p in mine)), [*(one for p in mine for one in p[1]), lives]))
    return [lists for _, lists in parts]


def exposed(lists: list[list], truth: dict, differ: list[tuple], diverse: int) -> tuple[int, int, float]:
    """Lives with one value left, lives with fewer than `diverse`, and the greatest posterior."""
    certain = few = 0
    share = 0.0
    for part in parts_of(lists, differ):
        found = worlds(part, truth, differ)
        assert found, "the truth is a world"
        for life in {life for lives in part for life in lives}:
            seen = Counter(world[life] for world in found)
            certain += len(seen) == 1
            few += len(seen) < diverse
            share = max(share, max(seen.values()) / len(found))
    return certain, few, share


def held_by_cut(shown: list[dict], tables: list[dict], k: int) -> int:
    """Persons whose cells, cut with one another while they did not move, held fewer than k at every time.

    `shown` has by release and person the sides of his cells, `tables` by release and person his point.
    """
    below = 0
    cut: dict = {}
    stood: dict = {}
    for at, (cells, table) in enumerate(zip(shown, tables, strict=True)):
        for person, sides in cells.items():
            old = cut.get(person) if stood.get(person) == table[person] else None
            pairs = zip(old or sides, sides, strict=True)
            now = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
            cut[person], stood[person] = now, table[person]
            most = max(
                sum(
                    all(a <= x <= b for x, (a, b) in zip(point, now, strict=True)) for point in one.values()
                )
                for one in tables[: at + 1]
            )
            below += most < k
    return below
