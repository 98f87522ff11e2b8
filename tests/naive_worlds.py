"""The strongest attacker of a series, by enumeration: he knows who is listed with whom, and who changed.

A life is a person with one value; a list shows the values of its lives. A world gives every life a value so
that every list shows what it shows, no person keeps a value that he is known to have changed, and whoever
was listed anew has no value of the lists he was in before. Nothing here knows how a series was made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST = 200_000
"""Steps after which an enumeration is given up, and counted as such."""


@dataclass
class Tale:
    """What is known: lists of lives, each life's true value, pairs that differ, values that lives lack."""

    lists: list[list] = field(default_factory=list)
    truth: dict = field(default_factory=dict)
    differ: list[tuple] = field(default_factory=list)
    lacks: dict = field(default_factory=dict)


@dataclass
class Exposed:
    """Lives with one value left, with fewer than asked for, with other chances than their list's shares.

    `share` is the greatest chance of any value, `given_up` counts parts with too many worlds.
    """

    lives: int = 0
    certain: int = 0
    few: int = 0
    uneven: int = 0
    share: float = 0.0
    given_up: int = 0

    def __add__(self, other: Exposed) -> Exposed:
        sums = (getattr(self, n) + getattr(other, n) for n in ("lives", "certain", "few", "uneven"))
        return Exposed(*sums, max(self.share, other.share), self.given_up + other.given_up)


def parts_of(tale: Tale) -> list[list[list]]:
    """Lists that constrain one another, part by part; values that never meet do not."""
    shows: dict = {}
    for lives in tale.lists:
        for life in lives:
            shows.setdefault(life, set()).update(tale.truth[one] for one in lives)
    links: dict = {}
    for a, b in tale.differ:
        if shows.get(a, set()) & shows.get(b, set()):
            links.setdefault(a, set()).add(b)
            links.setdefault(b, set()).add(a)
    parts: list[tuple[set, list]] = []
    for lives in tale.lists:
        seen = {*lives}.union(*(links.get(life, ()) for life in lives))
        mine = [part for part in parts if part[0] & seen]
        parts = [part for part in parts if not part[0] & seen]
        parts.append((seen.union(*(p[0] for p in mine)), [*(one for p in mine for one in p[1]), lives]))
    return [lists for _, lists in parts]


def worlds(lists: list[list], tale: Tale) -> list[dict] | None:
    """Every world of one part, or None where there are too many: life by life, list by list."""
    at: dict = {}
    for number, lives in enumerate(lists):
        for life in lives:
            at.setdefault(life, []).append(number)
    left = [Counter(tale.truth[life] for life in lives) for lives in lists]
    rivals: dict = {}
    for a, b in tale.differ:
        if a in at and b in at:
            rivals.setdefault(a, []).append(b)
            rivals.setdefault(b, []).append(a)
    line = list(at)  # list by list, so that lists fill up early
    world, found, steps = {}, [], 0

    def fits(life, value):
        if value in tale.lacks.get(life, ()) or any(left[n][value] == 0 for n in at[life]):
            return False
        return all(world.get(rival) != value for rival in rivals.get(life, ()))

    def go(i):
        nonlocal steps
        steps += 1
        if steps > MOST:
            return False
        if i == len(line):
            found.append(dict(world))
            return True
        life = line[i]
        for value in sorted(left[at[life][0]]):
            if not fits(life, value):
                continue
            for n in at[life]:
                left[n][value] -= 1
            world[life] = value
            whole = go(i + 1)
            del world[life]
            for n in at[life]:
                left[n][value] += 1
            if not whole:
                return False
        return True

    return found if go(0) else None


def exposed(tale: Tale, diverse: int) -> Exposed:
    """What all worlds together leave of every life."""
    out = Exposed()
    for part in parts_of(tale):
        found = worlds(part, tale)
        if found is None:
            out += Exposed(given_up=1)
            continue
        assert found, "the truth is a world"
        for life in {life: None for lives in part for life in lives}:
            seen = Counter(world[life] for world in found)
            own = next(lives for lives in part if life in lives)
            shows = Counter(tale.truth[one] for one in own)
            alike = all(seen[value] * len(own) == many * len(found) for value, many in shows.items())
            out += Exposed(
                1, len(seen) == 1, len(seen) < diverse, not alike, max(seen.values()) / len(found)
            )
    return out


def held_by_cut(shown: list[dict], tables: list[dict], k: int) -> int:
    """Persons whose cells, cut with one another while they lay inside, were shared by fewer than k.

    `shown` has by release and person the sides of his cells, `tables` by release and person his point. When
    his cut became as fine as it is, there must be k, he among them, each of the others in every release
    since the first of these cells, and at his own point of that time inside the cell that was shown then.
    """
    below = 0
    cut: dict = {}
    run: dict = {}
    finest: dict = {}
    for now, (cells, table) in enumerate(zip(shown, tables, strict=True)):
        for person, sides in cells.items():
            if person not in cut or not _lies_in(table[person], cut[person]):
                cut[person], run[person] = None, {}
            was = cut[person] or [(float("-inf"), float("inf"))] * len(sides)
            cut[person] = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(was, sides, strict=True)]
            run[person][now] = sides
            if cut[person] != was:
                finest[person] = now
            first, last = min(run[person]), finest[person]
            others = [
                other
                for other in tables[last]
                if other != person
                and all(other in tables[time] for time in range(first, last + 1))
                and all(_lies_in(tables[t][other], its) for t, its in run[person].items() if t <= last)
            ]
            below += len(others) + 1 < k
    return below


def _lies_in(point: tuple, sides: list) -> bool:
    return all(a <= x <= b for x, (a, b) in zip(point, sides, strict=True))
