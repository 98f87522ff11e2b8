"""What is kept between two releases of a register, and never published.

No name of a person is in it, no sensitive value, no cell of a row: persons are keyed digests, boxes the
ends of ranges and keyed digests of nodes. Whoever finds it learns who was in the register, if they guess
names, and which persons stood together.
"""

from __future__ import annotations

import io
import json
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.model.standing import DIGEST, Codes, Sides

__all__ = ["NOBODY", "RegisterState"]

NOBODY = -1
"""No box, or no school."""
FORMAT = "1.0"
HEAD = ("series", "number", "release", "certificate", "marks", "kinds", "followed")


@dataclass(frozen=True, slots=True, eq=False)
class RegisterState:
    """A register after release `number`; before the first it holds nobody.

    `person` has a keyed digest per line, in ascending order; `box` and `school` are where he stands, -1
    where nowhere; `past` has pairs of a person and a school that he has left. `boxes` has a line per box
    and a side per column, `sides` what each side covers. `marks` are keyed digests of the plan's fields,
    `kinds` how columns are measured, `release` and `certificate` the fingerprints of what was published,
    `followed` whether a later release was made after this state.
    """

    key: bytes
    series: str
    number: int
    person: NDArray[np.uint8]
    box: Codes
    school: Codes
    past: Codes
    boxes: Codes
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
            key=secrets.token_bytes(32),
            series=secrets.token_hex(16),
            number=0,
            person=np.zeros((0, DIGEST), np.uint8),
            box=nobody,
            school=nobody,
            past=np.zeros((0, 2), np.int32),
            boxes=np.zeros((0, columns), np.int32),
            sides=tuple(np.zeros((0, 2)) for _ in range(columns)),
        )

    def find(self, persons: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The line of each person, -1 where he is new."""
        if not len(self.person):
            return np.full(len(persons), NOBODY, np.int64)
        mine, asked = (
            np.ascontiguousarray(some).view(f"S{DIGEST}").ravel() for some in (self.person, persons)
        )
        known = {digest: at for at, digest in enumerate(mine.tolist())}
        return np.array([known.get(digest, NOBODY) for digest in asked.tolist()], np.int64)

    def without(self, persons: NDArray[np.uint8]) -> tuple[RegisterState, int]:
        """The state without these persons, and how many of them it knew."""
        lines = self.find(persons)
        gone = np.unique(lines[lines >= 0])
        kept = np.ones(len(self.person), bool)
        kept[gone] = False
        number = np.cumsum(kept) - 1
        past = self.past[kept[self.past[:, 0]]]
        past = np.stack([number[past[:, 0]], past[:, 1]], axis=1).astype(np.int32)
        state = replace(
            self, person=self.person[kept], box=self.box[kept], school=self.school[kept], past=past
        )
        return state, gone.size

    def to_bytes(self) -> bytes:
        """The state as a file."""
        head: dict[str, Any] = {"format": FORMAT, "key": self.key.hex()}
        head |= {name: getattr(self, name) for name in HEAD}
        arrays: dict[str, Any] = {
            name: getattr(self, name) for name in ("person", "box", "school", "past", "boxes")
        }
        arrays |= {f"side{place}": its for place, its in enumerate(self.sides)}
        text = json.dumps(head, sort_keys=True, default=dict).encode()
        file = io.BytesIO()
        np.savez_compressed(file, head=np.frombuffer(text, np.uint8), **arrays)
        return file.getvalue()

    @classmethod
    def of_bytes(cls, content: bytes) -> RegisterState:
        """Read what `to_bytes` wrote."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                head = json.loads(file["head"].tobytes())
                if str(head.pop("format")).partition(".")[0] != FORMAT.partition(".")[0]:
                    raise DataError("The state was written by another version of Shoal. Use that one.")
                boxes = file["boxes"]
                state = cls(
                    key=bytes.fromhex(head.pop("key")),
                    person=file["person"],
                    box=file["box"],
                    school=file["school"],
                    past=file["past"],
                    boxes=boxes,
                    sides=tuple(file[f"side{place}"] for place in range(boxes.shape[1])),
                    **head,
                )
        except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile):
            raise DataError(
                "The state cannot be read: it is no file that Shoal wrote, or it was changed.",
                field="after",
            ) from None
        return state
