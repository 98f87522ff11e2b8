"""What is kept between two releases of a register, and never published.

No name of a person is in it, no sensitive value, no cell of a row: persons are keyed digests, and so are
their quasi-identifiers, each with its person; what was shown of them are the ends of ranges and keyed
digests of nodes. The key is in it, too. Whoever finds it learns who was in the register, if they guess
names; with which quasi-identifiers, if they guess all of a person's together; who is listed together, and
what was shown of whom.
"""

from __future__ import annotations

import io
import json
import secrets
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.model.column import Column
from shoal.model.standing import DIGEST, POINT, Codes, Sides

__all__ = ["NOBODY", "RegisterState", "measured"]

NOBODY = -1
"""No school, or nothing shown."""
FORMAT = "2.0"
LINES = ("person", "school", "cut", "since", "stay", "point")
"""Arrays with a line per person."""
KEY = 32
"""Bytes of the key."""
DIGESTS = ("person", "point")
"""Those of them that nothing makes smaller."""
HEAD: dict[str, type] = {
    "series": str,
    "number": int,
    "release": str,
    "certificate": str,
    "marks": dict,
    "kinds": dict,
    "followed": bool,
}
UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OverflowError),
    *(RuntimeError, zipfile.BadZipFile, zlib.error),  # NotImplementedError is one, too
)
"""What becomes of files that are no states, or of damaged ones."""


def measured(columns: Iterable[Column]) -> dict[str, str]:
    """How columns are measured: by their kind, dates by days or by moments (`datetime`)."""
    return {column.name: column.form if column.kind == "date" else column.kind for column in columns}


@dataclass(frozen=True, slots=True, eq=False)
class RegisterState:
    """A register after release `number`; before the first it holds nobody.

    `person` has a keyed digest per line, in ascending order, and `school` where he is listed, -1 where
    nowhere; `past` has pairs of a person and a school that he has left. `cut` has a line per person and
    the number of a side per column: what all cells shown of him hold in common, -1 where there are none;
    `sides` is what each side covers. `since` is the release of the first of these cells, and `stay` the
    one since which he has been there without a break, in these cells, and has not moved, 0 where he is not
    there. `point` is a keyed digest of his quasi-identifiers now, by which a move is seen; zeros where he
    is not there.
    `marks` are keyed digests of the plan's fields, `kinds` how columns are `measured`, `release` and
    `certificate` the fingerprints of what was published, `followed` whether a later release was made
    after this state.
    """

    key: bytes
    series: str
    number: int
    person: NDArray[np.uint8]
    school: Codes
    past: Codes
    cut: Codes
    since: Codes
    stay: Codes
    point: NDArray[np.uint8]
    sides: tuple[Sides, ...]
    marks: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    release: str = ""
    certificate: str = ""
    followed: bool = False

    @classmethod
    def empty(cls, columns: int) -> RegisterState:
        """A register without anybody, with a new random key."""
        nobody = np.zeros(0, np.int32)
        return cls(
            key=secrets.token_bytes(KEY),
            series=secrets.token_hex(16),
            number=0,
            person=np.zeros((0, DIGEST), np.uint8),
            school=nobody,
            past=np.zeros((0, 2), np.int32),
            cut=np.zeros((0, columns), np.int32),
            since=nobody,
            stay=nobody,
            point=np.zeros((0, POINT), np.uint8),
            sides=tuple(np.zeros((0, 2)) for _ in range(columns)),
        )

    @property
    def is_whole(self) -> bool:
        """Whether all arrays fit one another, in shape and in what they point at."""
        people, columns = len(self.person), len(self.sides)
        shapes = {
            "person": (people, DIGEST),
            "school": (people,),
            "cut": (people, columns),
            "since": (people,),
            "stay": (people,),
            "point": (people, POINT),
        }
        if columns != len(self.kinds) or any(
            getattr(self, name).shape != shape for name, shape in shapes.items()
        ):
            return False
        if any(
            getattr(self, name).dtype != np.int32 for name in ("school", "cut", "since", "stay", "past")
        ):
            return False
        names = np.ascontiguousarray(self.person).view(f"S{DIGEST}").ravel()
        digests = self.person.dtype == self.point.dtype == np.uint8
        in_order = digests and bool((names[1:] > names[:-1]).all())
        sides = all(
            (its.dtype == np.uint8 and its.shape[1:] == (DIGEST,))
            if kind == "tree"
            else (its.dtype == np.float64 and its.shape[1:] == (2,) and _are_ranges(its))
            for its, kind in zip(self.sides, self.kinds.values(), strict=True)
        ) and all(
            bool(((self.cut[:, place] >= NOBODY) & (self.cut[:, place] < len(its))).all())
            for place, its in enumerate(self.sides)
        )
        past = self.past.shape[1:] == (2,) and bool(
            ((self.past[:, 0] >= 0) & (self.past[:, 0] < people)).all()
        )
        times = bool(((self.stay >= 0) & (self.stay <= self.number) & (self.since <= self.number)).all())
        return in_order and sides and past and times and len(self.key) == KEY

    def find(self, persons: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The line of each person, -1 where he is new."""
        if not len(self.person):
            return np.full(len(persons), NOBODY, np.int64)
        mine, asked = (
            np.ascontiguousarray(some).view(f"S{DIGEST}").ravel() for some in (self.person, persons)
        )
        at = np.minimum(np.searchsorted(mine, asked), len(mine) - 1)
        return np.where(mine[at] == asked, at, NOBODY).astype(np.int64)

    def without(self, persons: NDArray[np.uint8]) -> tuple[RegisterState, int]:
        """The state without these persons, and how many of them it knew."""
        at = self.find(persons)
        gone = np.unique(at[at >= 0])
        kept = np.ones(len(self.person), bool)
        kept[gone] = False
        number = np.cumsum(kept) - 1
        past = self.past[kept[self.past[:, 0]]]
        past = np.stack([number[past[:, 0]], past[:, 1]], axis=1).astype(np.int32)
        lines = {name: getattr(self, name)[kept] for name in LINES}
        return replace(self, past=past, **lines), gone.size

    def lines(self, name: str, at: NDArray[np.int64], missing: int) -> NDArray[Any]:
        """What an array of lines says of some lines, `missing` where they are -1."""
        its = getattr(self, name)
        nothing = np.full((1, *its.shape[1:]), missing, its.dtype)
        return np.asarray(np.concatenate([its, nothing])[at])

    def after(
        self,
        persons: NDArray[np.uint8],
        school: NDArray[np.integer],
        left: NDArray[np.integer],
        cut: Codes,
        sides: tuple[Sides, ...],
        since: Codes,
        stay: Codes,
        point: NDArray[np.uint8],
    ) -> tuple[RegisterState, NDArray[np.int64]]:
        """The state after the next release, and the line of every person of it. Whoever left stays in it.

        Everything has a line per person who is there; `left` has pairs of such a line and a school, and
        `sides` all sides, the former ones first.
        """
        at = self.find(persons)
        new = np.flatnonzero(at < 0)
        at[new] = len(self.person) + np.arange(new.size)
        both = np.concatenate([np.arange(len(self.person)), np.full(new.size, -1)])
        lines: dict[str, Any] = {
            "person": np.concatenate([self.person, persons[new]]),
            "school": self.lines("school", both, NOBODY),
            "cut": self.lines("cut", both, NOBODY),
            "since": self.lines("since", both, 0),
            "stay": np.zeros(both.size, np.int32),
            "point": np.zeros((both.size, POINT), np.uint8),
        }
        now = {"school": school, "cut": cut, "since": since, "stay": stay, "point": point}
        for name, its in now.items():
            lines[name][at] = its
        past = np.concatenate([self.past, np.stack([at[left[:, 0]], left[:, 1]], axis=1)])
        order = np.lexsort(lines["person"].T[::-1])
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        lines = {name: its[order] for name, its in lines.items()}
        lines["cut"], sides = _used(lines["cut"], sides)
        past = np.stack([rank[past[:, 0].astype(np.int64)], past[:, 1]], axis=1).astype(np.int32)
        state = replace(self, number=self.number + 1, past=past, sides=sides, followed=False, **lines)
        return state, rank[at]

    def to_bytes(self) -> bytes:
        """The state as a file."""
        head: dict[str, Any] = {"format": FORMAT, "key": self.key.hex()}
        head |= {name: getattr(self, name) for name in HEAD}
        arrays: dict[str, Any] = {name: getattr(self, name) for name in (*LINES, "past")}
        arrays |= {f"side{place}": its for place, its in enumerate(self.sides)}
        text = json.dumps(head, default=dict).encode()  # kinds stay in the order of the columns
        arrays["head"] = np.frombuffer(text, np.uint8)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as pack:
            for name, its in arrays.items():
                member = zipfile.ZipInfo(f"{name}.npy")  # of no time: the same state is the same bytes
                member.compress_type = zipfile.ZIP_STORED if name in DIGESTS else zipfile.ZIP_DEFLATED
                with pack.open(member, "w") as part:
                    np.lib.format.write_array(part, np.ascontiguousarray(its), allow_pickle=False)
        return file.getvalue()

    @classmethod
    def of_bytes(cls, content: bytes, field: str = "after") -> RegisterState:
        """Read what `to_bytes` wrote; errors name the field that gave it."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                head = json.loads(file["head"].tobytes())
                if str(head.pop("format")).partition(".")[0] != FORMAT.partition(".")[0]:
                    raise DataError(
                        "The state was written by another version of Shoal. Use that one.", field=field
                    )
                arrays = {name: file[name] for name in (*LINES, "past")}
                sides = tuple(file[f"side{place}"] for place in range(arrays["cut"].shape[1]))
                state = cls(key=bytes.fromhex(head.pop("key")), sides=sides, **arrays, **head)
                if not _is_typed(head) or not state.is_whole:
                    raise ValueError
        except UNREADABLE:
            raise DataError(
                "The state cannot be read: it is no file that Shoal wrote, or it was changed.",
                field=field,
            ) from None
        return state


def _is_typed(head: Mapping[str, Any]) -> bool:
    """Whether everything is what it should be."""
    texts = [one for name in ("marks", "kinds") for pair in head[name].items() for one in pair]
    typed = all(type(head[name]) is kind for name, kind in HEAD.items())
    return typed and all(isinstance(text, str) for text in texts) and 0 < head["number"] < 2**31 - 1


def _are_ranges(its: Sides) -> bool:
    """Whether each line is a range, everything, or missing."""
    low, high = its.T
    finite = np.isfinite(low) & np.isfinite(high) & (low <= high)
    everything = np.isneginf(low) & np.isposinf(high)
    return bool((finite | everything | np.isnan(its).all(axis=1)).all())


def _used(cut: Codes, sides: tuple[Sides, ...]) -> tuple[Codes, tuple[Sides, ...]]:
    """Cuts and sides without those sides that nobody has."""
    kept = []
    for place, its in enumerate(sides):
        used, number = np.unique(cut[:, place], return_inverse=True)
        none = int(used.size > 0 and used[0] < 0)
        cut[:, place] = number.reshape(-1) - none
        kept.append(its[used[none:]])
    return cut, tuple(kept)
