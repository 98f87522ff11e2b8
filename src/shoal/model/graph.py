"""Regions and who borders on whom."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shoal.errors import PlanError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Graph"]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """An undirected graph of named regions.

    The regions next to region i are `neighbour[start[i] : start[i + 1]]`, rising, without i itself and
    without repeats. `latitude` and `longitude` are for maps, not-a-number where unknown, None where no
    region has any. `loops` and `repeats` say how many edges were dropped because they joined a region
    to itself or stood twice.
    """

    names: tuple[str, ...]
    start: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    latitude: NDArray[np.float64] | None = field(default=None, repr=False)
    longitude: NDArray[np.float64] | None = field(default=None, repr=False)
    loops: int = 0
    repeats: int = 0

    @classmethod
    def of_edges(
        cls,
        edges: Iterable[tuple[str, str]],
        *,
        regions: Sequence[str] | None = None,
        places: Sequence[tuple[float, float]] | None = None,
    ) -> Graph:
        """A graph from pairs of names; `regions` lists all of them, else they are those the edges name."""
        pairs = [(str(a).strip(), str(b).strip()) for a, b in edges]
        known = {name.strip() for name in regions} if regions is not None else {n for p in pairs for n in p}
        if regions is not None and len(known) < len(regions):
            raise PlanError(
                f"The graph lists {len(regions) - len(known)} regions twice. Name each one once.",
                field="graphs",
            )
        if not known:
            raise PlanError(
                "The graph is empty. Give one line per pair of neighbouring regions.", field="graphs"
            )
        if "" in known:
            raise PlanError(
                "The graph has a region without a name. Fill the empty cells of its files.", field="graphs"
            )
        strange = sum(a not in known or b not in known for a, b in pairs)
        if strange:
            raise PlanError(
                f"{strange} of {len(pairs)} edges of the graph name a region that its list lacks. "
                "Add those regions, or drop the edges.",
                field="graphs",
            )
        names = tuple(sorted(known))
        place = {name: at for at, name in enumerate(names)}
        import numpy as np

        arcs = np.array([(place[a], place[b]) for a, b in pairs], dtype=np.int64).reshape(-1, 2)
        loops = int((arcs[:, 0] == arcs[:, 1]).sum())
        arcs = np.sort(arcs[arcs[:, 0] != arcs[:, 1]], axis=1)
        distinct = np.unique(arcs, axis=0)
        both = np.vstack([distinct, distinct[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        latitude = longitude = None
        if places is not None and regions is not None:
            listed = np.full((len(names), 2), np.nan)
            listed[[place[name.strip()] for name in regions]] = places
            latitude, longitude = np.ascontiguousarray(listed[:, 0]), np.ascontiguousarray(listed[:, 1])
        return cls(
            names,
            np.searchsorted(both[:, 0], np.arange(len(names) + 1)).astype(np.int64),
            both[:, 1].astype(np.int32),
            latitude,
            longitude,
            loops=loops,
            repeats=len(arcs) - len(distinct),
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 over names and borders."""
        digest = hashlib.sha256()
        for name in self.names:
            digest.update(name.encode() + b"\0")
        digest.update(self.start.astype("<i8").tobytes() + self.neighbour.astype("<i4").tobytes())
        return digest.hexdigest()

    def reordered(self, order: Sequence[int]) -> Graph:
        """The same graph with region `order[i]` in place i."""
        import numpy as np

        old = np.asarray(order, dtype=np.int64)
        new = np.empty(old.size, dtype=np.int64)
        new[old] = np.arange(old.size)
        tails = np.repeat(np.arange(old.size), np.diff(self.start))
        arcs = np.column_stack([new[tails], new[self.neighbour]])
        arcs = arcs[np.lexsort((arcs[:, 1], arcs[:, 0]))]
        return Graph(
            tuple(self.names[at] for at in old.tolist()),
            np.searchsorted(arcs[:, 0], np.arange(old.size + 1)).astype(np.int64),
            arcs[:, 1].astype(np.int32),
            None if self.latitude is None else self.latitude[old],
            None if self.longitude is None else self.longitude[old],
            loops=self.loops,
            repeats=self.repeats,
        )
