"""A table over time, and two who attack what is published of it: for bench/series.py.

Nothing here knows how a release was made. An insider knows who stands in which class, or is listed with
whom, at all times; he rules values out until nothing changes. Cells are read from the published table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from adult import read_paths, table_path

SENSITIVE = "occupation"
SEVEN = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")

Codes = NDArray[np.int32]


class Adult:
    """The table as codes: leaves stand in the order of their tree, so that a node is a run of codes."""

    def __init__(self) -> None:
        frame = pl.read_csv(table_path())
        self.texts: list[list[str]] = []
        self.runs: list[dict[str, tuple[int, int]]] = []
        self.size: list[int] = []
        columns = []
        for name in SEVEN:
            if name == "age":
                least, most = frame[name].to_numpy().min(), frame[name].to_numpy().max()
                texts = [str(age) for age in range(least, most + 1)]
                runs = {text: (at, at) for at, text in enumerate(texts)}
            else:
                paths = sorted(read_paths(name), key=lambda path: path[::-1])
                texts = [path[0] for path in paths]
                runs = {}
                for level in range(len(paths[0]) - 1, -1, -1):
                    for at, path in enumerate(paths):
                        low, _ = runs.get(path[level], (at, at))
                        runs[path[level]] = (min(low, at), at)
            code = {text: at for at, text in enumerate(texts)}
            columns.append([code[text] for text in frame[name].cast(pl.String).to_list()])
            self.texts.append(texts)
            self.runs.append(runs)
            self.size.append(len(texts))
        self.codes = np.array(columns, np.int32).T.copy()
        self.names = frame[SENSITIVE].unique().sort().to_list()
        place = {name: at for at, name in enumerate(self.names)}
        self.values = np.array([place[name] for name in frame[SENSITIVE].to_list()], np.int32)

    def frame(self, moment: Moment) -> pl.DataFrame:
        """The table of one moment, as a user has it."""
        cells = {name: [self.texts[c][x] for x in moment.codes[:, c]] for c, name in enumerate(SEVEN)}
        frame = pl.DataFrame({"id": moment.ids, **cells})
        values = [self.names[value] for value in moment.values]
        return frame.with_columns(pl.col("age").cast(pl.Int64), pl.Series(SENSITIVE, values))

    def read(self, table: pl.DataFrame) -> tuple[Codes, Codes]:
        """What the cells of each line cover."""
        low, high = np.empty((table.height, 7), np.int32), np.empty((table.height, 7), np.int32)
        for c, name in enumerate(SEVEN):
            texts = table[name].cast(pl.String).to_list()
            runs = {text: self._run(c, text) for text in set(texts)}
            both = np.array([runs[text] for text in texts], np.int32)
            low[:, c], high[:, c] = both[:, 0], both[:, 1]
        return low, high

    def _run(self, c: int, text: str) -> tuple[int, int]:
        if text == "*":
            return 0, self.size[c] - 1
        if text.startswith("[") and c == 0:
            low, _, high = text[1:-1].partition(", ")
            return self.runs[0][low][0], self.runs[0][high][1]
        return self.runs[c][text]

    def loss_percent(self, low: Codes, high: Codes) -> float:
        """The mean share of each column that a cell leaves open."""
        widths = np.array(self.size, float) - 1
        return float(100 * ((high - low) / widths).mean())


@dataclass(frozen=True)
class Moment:
    """The table at one time: who is there, with which codes and value; a life is one person's value."""

    ids: NDArray[np.int64]
    codes: Codes
    values: Codes
    life: NDArray[np.int64]
    value_of_life: Codes


def story(
    codes: Codes, values: Codes, first: int, releases: int, come: float, leave: float, seed: int = 1
) -> Iterator[Moment]:
    """Persons come and leave; 1 % change a quasi-identifier, 1 % their value; 2 % of leavers return."""
    luck = np.random.default_rng(seed)
    order = luck.permutation(len(codes))
    here, unused, gone = list(order[:first]), list(order[first:]), []
    codes, values = codes.copy(), values.copy()
    life = np.arange(len(codes))
    of_life = list(values)
    for _ in range(releases):
        ids = np.array(sorted(here))
        yield Moment(ids, codes[ids], values[ids], life[ids], np.array(of_life, np.int32))
        out = luck.random(ids.size) < leave
        gone_now, here = list(ids[out]), list(ids[~out])
        some = int(0.01 * len(here))
        for i in luck.choice(here, some, replace=False):
            c = luck.integers(codes.shape[1])
            codes[i, c] = codes[luck.integers(len(codes)), c]
        for i in luck.choice(here, some, replace=False):
            value = values[luck.integers(len(values))]
            if value != values[i]:
                values[i] = value
                of_life.append(value)
                life[i] = len(of_life) - 1
        back = [one for one in gone if luck.random() < 0.02]
        gone = [one for one in gone if one not in set(back)] + gone_now
        new = min(len(unused), int(come * ids.size) - len(back))
        here += back + unused[:new]
        unused = unused[new:]


@dataclass
class Watcher:
    """Whoever keeps all releases: classes or lists by life, and the cells shown of everybody, cut."""

    people: int
    k: int
    told: list[tuple[Any, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.low = np.zeros((self.people, 7), np.int32)
        self.high = np.full((self.people, 7), 1 << 20, np.int32)
        self.point = np.full((self.people, 7), -1, np.int32)
        self.since = np.zeros(self.people, np.int64)
        self.stay = np.zeros(self.people, np.int64)
        self.held = np.zeros(self.people, np.int64)
        self.number = 0

    def see(self, moment: Moment, who: Any, low: Codes, high: Codes) -> tuple[float, float]:
        """Cut the cells of everybody, anew once he lies outside.

        Shares of persons whose cut never held k, they and others who were there as long and did not move,
        and holds one person of now.
        """
        self.number += 1
        absent = np.ones(self.people, bool)
        absent[moment.ids] = False
        moved = moment.ids[(self.point[moment.ids] != moment.codes).any(axis=1)]
        low_of, high_of = self.low[moment.ids], self.high[moment.ids]
        outside = ((moment.codes < low_of) | (moment.codes > high_of)).any(axis=1)
        outside = moment.ids[outside | (self.since[moment.ids] == 0)]
        self.low[outside], self.high[outside] = 0, 1 << 20
        self.since[outside] = self.number
        self.stay[moment.ids] = np.where(self.stay[moment.ids] == 0, self.number, self.stay[moment.ids])
        self.stay[moved] = self.number
        self.stay[absent] = 0
        self.point[moment.ids] = moment.codes
        new_low, new_high = np.maximum(self.low[who], low), np.minimum(self.high[who], high)
        changed = ((new_low != self.low[who]) | (new_high != self.high[who])).any(axis=1)
        self.low[who], self.high[who] = new_low, new_high
        held = _inside(new_low, new_high, self.since[who], moment.codes, self.stay[moment.ids], self.k)
        held += self.stay[who] > self.since[who]  # whoever moved or returned is still one himself
        self.held[who] = np.where(changed, held, np.maximum(held, self.held[who]))
        always = np.full(len(who), self.number)
        alone = _inside(new_low, new_high, always, moment.codes, self.stay[moment.ids], 2)
        return 100 * float((self.held[who] < self.k).mean()), 100 * float((alone == 1).mean())

    def insider(self, values: Codes, fewer: int) -> tuple[float, float]:
        """Shares of lives of whose value he is certain, and with fewer values left than that."""
        starts, members, counts = [0], [], []
        size = int(values.max()) + 1
        for life, label in self.told:
            order = np.argsort(label, kind="stable")
            order = order[label[order] >= 0]
            for part in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
                members.append(life[part])
                starts.append(starts[-1] + part.size)
                counts.append(np.bincount(values[life[part]], minlength=size))
        domain = np.zeros(len(values), np.int64)
        everyone = np.concatenate(members)
        domain[everyone] = (1 << size) - 1
        _eliminate(domain, np.array(starts), everyone, np.array(counts))
        left = np.array([int(one).bit_count() for one in domain[np.unique(everyone)]])
        return 100 * float((left == 1).mean()), 100 * float((left < fewer).mean())


@njit(cache=True)
def _inside(low, high, since, points, stay, most):  # type: ignore[no-untyped-def]
    """Per box how many points it holds that were there since its time, up to `most`."""
    out = np.zeros(low.shape[0], np.int64)
    for b in range(low.shape[0]):
        for i in range(points.shape[0]):
            if stay[i] > since[b]:
                continue
            inside = True
            for c in range(points.shape[1]):
                if points[i, c] < low[b, c] or points[i, c] > high[b, c]:
                    inside = False
                    break
            out[b] += inside
            if out[b] >= most:
                break
    return out


@njit(cache=True)
def _eliminate(domain, starts, members, counts):  # type: ignore[no-untyped-def]
    """Rule values out, class by class, until nothing changes: a value may have no takers to spare."""
    changed = True
    while changed:
        changed = False
        for g in range(starts.size - 1):
            for v in range(counts.shape[1]):
                bit = np.int64(1) << v
                can = 0
                fixed = 0
                for s in range(starts[g], starts[g + 1]):
                    can += (domain[members[s]] & bit) > 0
                    fixed += domain[members[s]] == bit
                if can == counts[g, v] and fixed < can:
                    for s in range(starts[g], starts[g + 1]):
                        if domain[members[s]] & bit:
                            domain[members[s]] = bit
                    changed = True
                elif fixed == counts[g, v] and can > fixed:
                    for s in range(starts[g], starts[g + 1]):
                        if domain[members[s]] != bit:
                            domain[members[s]] &= ~bit
                    changed = True


def query_error(moment: Moment, low: Codes, high: Codes, weight: Any, queries: int = 500) -> float:
    """Median relative error of counts by two quasi-identifiers and a value; `weight` by line and value."""
    luck = np.random.default_rng(0)
    top = moment.codes.max(axis=0)
    boxes, place = np.unique(np.hstack([low, high]), axis=0, return_inverse=True)
    told = np.zeros((len(boxes), weight.shape[1]))
    np.add.at(told, place.reshape(-1), weight)
    low, high = boxes[:, :7], boxes[:, 7:]
    errors: list[float] = []
    while len(errors) < queries:
        columns = luck.choice(7, 2, replace=False)
        ends = []
        for c in columns:
            width = max(1, int(luck.uniform(0.1, 0.5) * (top[c] + 1)))
            start = luck.integers(0, top[c] + 2 - width)
            ends.append((start, start + width - 1))
        value = moment.values[luck.integers(moment.values.size)]
        hit = moment.values == value
        share = told[:, value].copy()
        for c, (start, stop) in zip(columns, ends, strict=True):
            hit &= (moment.codes[:, c] >= start) & (moment.codes[:, c] <= stop)
            common = np.minimum(high[:, c], stop) - np.maximum(low[:, c], start) + 1
            share *= np.maximum(common, 0) / (high[:, c] - low[:, c] + 1)
        true = int(hit.sum())
        if true >= 0.003 * moment.values.size:
            errors.append(abs(share.sum() - true) / true)
    return 100 * float(np.median(errors))
