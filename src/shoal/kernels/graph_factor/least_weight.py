"""Least-weight factors of the complete graph of records: degrees between bounds, distances as weights.

Solver: HiGHS, through SciPy (MIT; wheels everywhere; already needed). A matching library would need two
copies of every row and an explicit graph; the linear program works on distinct rows with counts, needs a
few neighbours per row, prices the missing edges by its duals, and gives a bound that any feasible duals
prove. It is half-integral here, and what its odd sets leave open is closed by cuts and a little branching.

Rows are distinct rows with records. An edge between rows u and v may be used several times, by different
copies; copies of one row are joined for nothing, so only the degree towards other rows is asked for.
The limits below count steps, so results repeat.

Solvers have tolerances that no small or large cost survives, so they see scaled costs: whole numbers where
all weights are multiples of the least, and then so is a bound; otherwise the heaviest column
costs about 1. Duals are proved by our own sums; what the integer program says is lowered by more than its
tolerances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.graph_factor.pricing import cheapest_edges, node_prices, pair_distances
from shoal.kernels.neighbours.box_tree import Index, build_tree

__all__ = [
    "GraphFactor",
    "Limits",
    "has_two_values",
    "least_factor",
    "pairs_limits",
    "prove_pairs",
    "prove_triples",
    "triples_limits",
    "unit_of",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEAREST = 10
"""Edges per row to begin with."""
COMPLETE_UP_TO = 60
"""Rows whose complete graph is small enough to be the whole program."""
EXACT_UP_TO = 4000
"""Rows up to which the integer program is solved as a whole."""
MORE = 40
"""Edges per row that may be added when the last gap is closed."""
NODES = 2000
"""Branches HiGHS may open."""
ROUNDS, FEW_ROUNDS = 40, 5
"""Linear programs that may be solved, for tables up to EXACT_UP_TO and above."""
WIDEN = 3
"""Neighbours of a fractional row that its repair may change."""
NEARLY = 0.005
"""How near to the best a repair must come."""
TINY = 1e-7
"""What HiGHS takes for 0 in reduced costs."""
DOUBT = 0.01
"""Whole costs: a bound of the integer program that lies so little above a whole number is that number."""
MULTIPLE = 1e-12
"""How near to whole multiples weights must be, as a share."""


class Limits(NamedTuple):
    """Least and greatest degree of each row towards others; `even` asks for even degrees."""

    low: Ints
    high: Ints
    even: bool


class GraphFactor(NamedTuple):
    """Edges one[i] - other[i] used times[i] >= 1 times; their weight, and what no factor can be below."""

    one: Ints
    other: Ints
    times: Ints
    weight: float
    bound: float


def pairs_limits(count: Ints) -> Limits:
    """[1,2]-factors: a lone record needs an edge; copies cover one another; nobody takes more than two."""
    return Limits((count == 1).astype(np.int64), np.minimum(2 * count, 2**31), even=False)


def triples_limits(count: Ints) -> Limits:
    """2-factors: a cycle passes every record; one or two copies cannot make a cycle of their own."""
    return Limits(np.where(count <= 2, 2, 0), np.minimum(2 * count, 2**31), even=True)


def has_two_values(metric: Any) -> bool:
    """Whether every column that costs anything has at most two values, missing counted as one."""
    return bool((metric.size[metric.most > 0] <= 2).all())


def prove_pairs(lightest: float, metric: Any) -> tuple[str, float]:
    """The bound on stars, with its name, that a lower bound on the weight of [1,2]-factors gives."""
    return "pairs", lightest * (2.0 if has_two_values(metric) else 1.5)


def prove_triples(lightest: float, metric: Any) -> tuple[str, float]:
    """The bound on stars, with its name, that a lower bound on the weight of 2-factors gives."""
    return "triples", lightest * (1.5 if has_two_values(metric) else 1.0)


def unit_of(most: Floats) -> float:
    """The unit of a least weight: the greatest that all are multiples of, if it is the least; else 0."""
    weights = most[most > 0]
    if not weights.size:
        return 0.0
    shares = weights / weights.min()
    return float(weights.min()) if np.allclose(shares, np.rint(shares), rtol=MULTIPLE, atol=0) else 0.0


def _scaled(metric: Any) -> tuple[Any, float]:
    """The metric as the solvers of a least-weight factor see it, and what one of its units is worth."""
    unit = unit_of(metric.most)
    if unit > 0:
        return metric._replace(most=np.rint(metric.most / unit), data=np.rint(metric.data / unit)), unit
    # a power of two changes no digit
    worth = float(2.0 ** np.ceil(np.log2(metric.most.max(initial=0.0)))) if metric.most.any() else 1.0
    return metric._replace(most=metric.most / worth, data=metric.data / worth), worth


def least_factor(codes: NDArray[np.int32], count: Ints, metric: Any, limits: Limits) -> GraphFactor:
    """A factor of least weight within the limits; its bound equals its weight where that is proved."""
    scaled, worth = _scaled(metric)
    tree = build_tree(codes, count, scaled)
    place = tree.place.astype(np.int64)
    program = _Program(tree, scaled, Limits(limits.low[place], limits.high[place], limits.even))
    if not program.asking.size:
        empty = np.zeros(0, dtype=np.int64)
        return GraphFactor(empty, empty, empty, 0.0, 0.0)
    times, bound = program.solve()
    used = times > 0
    one, other = place[program.one[used]], place[program.other[used]]
    weight = worth * float(program.far[used] @ times[used])
    return GraphFactor(one, other, times[used], weight, min(worth * bound, weight))


class _Program:
    """The program over the edges known so far; rows are the tree's."""

    def __init__(self, tree: Index, metric: Any, limits: Limits) -> None:
        """The least-weight program with its first edges: all, or those to the nearest rows."""
        self.tree, self.metric, self.limits = tree, metric, limits
        self.n = tree.place.size
        self.asking = np.flatnonzero(limits.low > 0)
        self.unit = float(unit_of(metric.most) > 0)
        self.dear = 1000.0 * float(metric.most.sum()) + 1.0  # an edge to nowhere
        self.one, self.other = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.far = np.zeros(0)
        self.sets: list[Ints] = []
        self.exact = self.asking.size <= EXACT_UP_TO
        whole = self.n <= COMPLETE_UP_TO
        self._add(np.zeros(self.n), np.full(self.n, np.inf), self.n - 1 if whole else NEAREST)

    # ---- edges

    def _find(self, price: Floats, limit: Floats, most: int) -> tuple[Ints, Floats]:
        """Edges missing from the least-weight program: distance - price below a limit, `most` per row."""
        order = np.lexsort((np.r_[self.other, self.one], np.r_[self.one, self.other]))
        known = np.r_[self.other, self.one][order]
        starts = np.searchsorted(np.r_[self.one, self.other][order], np.arange(self.n + 1))
        room = max(1, min(most, self.n - 1))
        near = np.empty((self.asking.size, room), dtype=np.int64)
        cost = np.empty((self.asking.size, room))
        cheapest_edges(
            self.tree,
            self.metric,
            short_axes(self.metric),
            price,
            node_prices(self.tree, price),
            self.asking,
            limit[self.asking],
            starts,
            known,
            near,
            cost,
        )
        return near, cost

    def _add(self, price: Floats, limit: Floats, most: int) -> int:
        """Add to the least-weight program the edges that `_find` finds; returns how many."""
        near, _ = self._find(price, limit, most)
        row, slot = np.nonzero(near >= 0)
        a, b = self.asking[row], near[row, slot]
        key = np.unique(np.minimum(a, b) * self.n + np.maximum(a, b))
        one, other = key // self.n, key % self.n
        self.one, self.other = np.r_[self.one, one], np.r_[self.other, other]
        self.far = np.r_[self.far, pair_distances(self.tree.codes, self.metric, one, other)]
        return int(key.size)

    @property
    def cap(self) -> Floats:
        """How often an edge of a factor may be used: by different copies at each use."""
        count = self.tree.count.astype(float)
        high = self.limits.high
        most = np.minimum(high[self.one], high[self.other])
        times: Floats = np.minimum(count[self.one] * count[self.other], most)
        return times

    def _degrees(self) -> csr_array:
        """The degree of every row in the least-weight program: one line per row, one column per edge."""
        edges = np.arange(self.one.size)
        rows, columns = np.r_[self.one, self.other], np.r_[edges, edges]
        return csr_array((np.ones(rows.size), (rows, columns)), shape=(self.n, edges.size))

    def _touching(self) -> csr_array:
        """One line of the least-weight program per odd set: the edges that touch it."""
        lines = []
        for line, inside in enumerate(self.sets):
            member = np.zeros(self.n, dtype=bool)
            member[inside] = True
            edges = np.flatnonzero(member[self.one] | member[self.other])
            lines.append((np.full(edges.size, line), edges))
        rows = np.concatenate([line for line, _ in lines]) if lines else np.zeros(0, dtype=int)
        columns = np.concatenate([edges for _, edges in lines]) if lines else np.zeros(0, dtype=int)
        return csr_array((np.ones(rows.size), (rows, columns)), shape=(len(self.sets), self.one.size))

    # ---- the linear program, its bound, and cuts

    def _relax(self) -> tuple[Floats, Floats, Floats]:
        """The linear program of least weight: times of edges, a price per row, and a price per odd set."""
        degrees, touching = self._degrees(), self._touching()
        slack = eye_array(self.n, format="csr")
        need = np.array([(inside.size + 1) // 2 for inside in self.sets], dtype=float)
        none = csr_array((len(self.sets), self.n))
        rows = vstack(
            [hstack([-degrees, -slack]), hstack([degrees, slack]), hstack([-touching, none])], format="csr"
        )
        limit = np.r_[-self.limits.low, self.limits.high, -need].astype(float)
        most = np.r_[self.cap, np.full(self.n, np.inf)]
        found = linprog(
            np.r_[self.far, np.full(self.n, self.dear)],
            A_ub=rows,
            b_ub=limit,
            bounds=np.c_[np.zeros(most.size), most],
            method="highs-ds",
        )
        assert found.status == 0, "an edge to nowhere keeps the program feasible"
        dual = -found.ineqlin.marginals
        price = dual[: self.n] - dual[self.n : 2 * self.n]
        price[self.limits.low == 0] = np.minimum(price[self.limits.low == 0], 0.0)  # it earns nothing
        used: Floats = np.asarray(found.x)[: self.one.size]
        return used, price, np.maximum(dual[2 * self.n :], 0.0)

    def _full_price(self, price: Floats, worth: Floats) -> Floats:
        """Prices in the least-weight program with those of odd sets on each member: too high at most."""
        full = price.copy()
        for inside, value in zip(self.sets, worth, strict=True):
            full[inside] += value
        return full

    def _prove(self, price: Floats, worth: Floats) -> tuple[float, Floats]:
        """The bound on the least weight by these duals, lowered where a missing edge breaks it; prices."""
        price = price - TINY
        full = self._full_price(price, worth)
        near, cost = self._find(full, np.full(self.n, np.inf), 1)
        broken = np.zeros(self.n)
        broken[self.asking] = np.where(near[:, 0] < 0, 0.0, full[self.asking] - cost[:, 0])
        # rows that ask for nothing have no price above 0, so edges between them break nothing
        price = price - np.maximum(broken, 0.0)
        kept = self.far - price[self.one] - price[self.other] - self._touching().T @ worth
        total = np.where(price > 0, price * self.limits.low, price * self.limits.high).sum()
        need = sum(value * ((inside.size + 1) // 2) for inside, value in zip(self.sets, worth, strict=True))
        proved = float(total + need + (self.cap * np.minimum(kept, 0.0)).sum())
        return proved, self._full_price(price, worth)

    def _round(self, bound: float, doubt: float = 1e-4) -> float:
        """A least weight up to the next whole number where costs are whole: every factor weighs one."""
        if self.unit <= 0:
            return max(bound, 0.0)
        return max(float(np.ceil(bound - doubt)), 0.0)

    def _trusted(self, answer: float) -> float:
        """The least weight that the integer program's bound proves: each edge may break it by a little."""
        if self.unit > 0:
            return self._round(answer, DOUBT)
        return answer - TINY * (10.0 + float(self.limits.high.clip(max=self.n).sum()))

    def _cut(self, used: Floats) -> int:
        """Cut the program: odd sets it violates, fractional parts with an odd number of lone records."""
        if self.limits.even:
            return 0
        open_ = np.flatnonzero(np.abs(used - np.rint(used)) > 1e-6)
        graph = coo_array(
            (np.ones(open_.size), (self.one[open_], self.other[open_])), shape=(self.n, self.n)
        )
        _, part = connected_components(graph, directed=False)
        inside = np.unique(np.r_[self.one[open_], self.other[open_]])
        inside = inside[self.limits.low[inside] == 1]
        added = 0
        for name in np.unique(part[inside]):
            members = inside[part[inside] == name]
            if members.size % 2 == 0 or members.size < 3:
                continue
            member = np.zeros(self.n, dtype=bool)
            member[members] = True
            if used[member[self.one] | member[self.other]].sum() < (members.size + 1) // 2 - 1e-6:
                self.sets.append(members)
                added += 1
        return added

    def solve(self) -> tuple[Ints, float]:
        """The factor of least weight: times each edge is used, and the bound."""
        rounds = ROUNDS if self.exact else FEW_ROUNDS
        for left in range(rounds, -1, -1):
            used, price, worth = self._relax()
            full = self._full_price(price, worth)
            if left and self._add(full, full - TINY, 4):
                continue
            if not left or not self._cut(used):
                break
        self.sets = self.sets[: worth.size]
        proved, full = self._prove(price, worth)
        times, answer = self._whole() if self.exact else self._repaired(used)
        weight = float(self.far @ times)
        bound = self._round(proved)
        if answer is None or weight <= bound + self._gap():
            return times, bound
        # a missing edge belongs to a lighter factor only where its reduced cost fits the gap
        spare = weight - self.unit - proved + TINY * self.n
        near, _ = self._find(full, full + spare, MORE)
        crowded = bool((near[:, -1] >= 0).any()) and near.shape[1] < self.n - 1
        if crowded:
            return times, bound
        if (near >= 0).any():
            self._add(full, full + spare, MORE)
            times, answer = self._whole()
        return times, max(bound, self._trusted(min(answer, weight))) if answer is not None else bound

    def _gap(self) -> float:
        return self.unit / 2 if self.unit > 0 else 1e-9

    # ---- integer programs

    def _whole(self) -> tuple[Ints, float | None]:
        """The integer program of least weight over all known edges: times, its own bound (or None)."""
        everyone = np.arange(self.n)
        answer = self._integers(everyone, np.arange(self.one.size), np.zeros(self.n))
        while answer is None:  # too few edges: add more
            added = self._add(np.zeros(self.n), np.full(self.n, np.inf), NEAREST)
            if not added:
                raise RuntimeError("The complete graph has a factor, but the solver found none.")
            answer = self._integers(everyone, np.arange(self.one.size), np.zeros(self.n))
        return answer

    def _repaired(self, used: Floats) -> tuple[Ints, float | None]:
        """A factor from the linear program: round its edges; solve anew around those that are not whole."""
        whole = np.floor(used + 1e-6)
        degree = self._degrees() @ used
        off = np.abs(used - np.rint(used)) > 1e-6
        region = np.zeros(self.n, dtype=bool)
        region[self.one[off]] = region[self.other[off]] = True
        if self.limits.even:
            region |= np.abs(degree / 2 - np.rint(degree / 2)) > 1e-6
        region |= degree < self.limits.low - 1e-6
        if not region.any():
            return whole.astype(np.int64), None
        while True:
            before = region
            region = self._widen(region)
            free = region[self.one] & region[self.other]
            fixed = np.where(free, 0.0, whole)
            taken = self._degrees() @ fixed
            answer = self._integers(np.flatnonzero(region), np.flatnonzero(free), taken, NEARLY)
            if answer is not None:
                times = fixed.astype(np.int64)
                times[free] = answer[0]
                return times, None
            if (region == before).all():
                return self._whole()

    def _widen(self, region: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows whose edges are solved anew, with the nearest neighbours of each."""
        ends, partners = np.r_[self.one, self.other], np.r_[self.other, self.one]
        inside = np.flatnonzero(region[ends])
        order = inside[np.lexsort((partners[inside], np.r_[self.far, self.far][inside], ends[inside]))]
        first = np.searchsorted(ends[order], ends[order])
        wide = region.copy()
        wide[partners[order[np.arange(order.size) - first < WIDEN]]] = True
        return wide

    def _integers(
        self, rows: Ints, edges: Ints, taken: Floats, gap: float = 0.0
    ) -> tuple[Ints, float | None] | None:
        """Whole times for `edges` of a factor: `rows` keep their limits, `taken` is used; None if none."""
        degrees = self._degrees()[rows][:, edges]
        low, high = self.limits.low[rows] - taken[rows], self.limits.high[rows] - taken[rows]
        cost, most = self.far[edges], self.cap[edges]
        if self.limits.even:  # degree = 2 * passes
            matrix = hstack([degrees, -2 * eye_array(rows.size, format="csr")], format="csr")
            constraints = [LinearConstraint(matrix, -taken[rows], -taken[rows])]
            least = np.r_[np.zeros(edges.size), np.ceil(self.limits.low[rows] / 2)]
            most = np.r_[most, self.limits.high[rows] / 2]
            cost = np.r_[cost, np.zeros(rows.size)]
        else:
            constraints = [LinearConstraint(degrees, low, high)]
            least = np.zeros(edges.size)
            if self.sets and rows.size == self.n:
                need = [(inside.size + 1) // 2 for inside in self.sets]
                constraints.append(LinearConstraint(self._touching(), need, np.inf))
        found = milp(
            cost,
            constraints=constraints,
            integrality=np.ones(cost.size, dtype=np.int64),
            bounds=Bounds(least, most),
            options={"mip_rel_gap": gap, "node_limit": NODES},
        )
        if found.x is None:
            return None
        times = np.rint(found.x[: edges.size]).astype(np.int64)
        return times, float(found.mip_dual_bound)
