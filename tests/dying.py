"""Writers that die, or are interrupted, at a file call of their own choice."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

import pytest

from shoal.publish.atomic import Draft

CALLS = ((os, "open"), (os, "fsync"), (os, "replace"), (os, "unlink"), (os, "chmod"), (io, "open"))


class Died(BaseException):
    """What a kill looks like from inside: from now on nothing reaches the disk."""


def interrupted(patch: pytest.MonkeyPatch, step: int, act: Callable[[int], None]) -> Callable[[], int]:
    """Call `act` before and after every file call from the one numbered `step` on; counts them."""
    made = 0
    opening = (os.open, io.open)

    def watch(real):
        def call(*args, **words):
            nonlocal made
            made += 1
            if made > step:
                act(made - step)
            result = real(*args, **words)
            if real not in opening:  # whoever asked would never close what was opened
                made += 1
                if made > step:
                    act(made - step)
            return result

        return call

    for module, name in CALLS:
        patch.setattr(module, name, watch(getattr(module, name)))
    return lambda: made


def let_go(patch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Close, when called, all drafts opened since: the dead hold no file open."""
    opened: list[Draft] = []
    real = Draft.open
    patch.setattr(Draft, "open", lambda draft, mode: opened.append(draft) or real(draft, mode))

    def close() -> None:
        for draft in opened:
            if draft._file >= 0:
                os.close(draft._file)
                draft._file = -1
        opened.clear()

    return close
