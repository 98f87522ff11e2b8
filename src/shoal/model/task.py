"""What a method is asked to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import index
from typing import SupportsIndex

from shoal.errors import PlanError

__all__ = ["Doing", "Effort", "Progress", "Task", "quiet", "quota", "stepped", "whole_of"]

Progress = Callable[[str, float], None]
"""Called with what is being done, in words without cell values, and the share done in 0..1.

The words are a `Doing`, which has numbers besides, wherever a whole run is followed.
"""


class Doing(str):
    """What a run is doing, in words, with two numbers where they are known.

    Attributes:
        loss: What the groups so far lose, in percent of all there is to lose; None where it is not known.
        least: What no release of the table can lose less than, in percent; None where it is not known yet.
            Both are measured by the original's values: the certificate's figures, by what is published,
            may differ a little.

    Example:
        >>> step = Doing("improving", loss=4.2, least=3.1)
        >>> step, step.loss, step.least
        ('improving', 4.2, 3.1)

    """

    __slots__ = ("least", "loss")
    loss: float | None
    least: float | None

    def __new__(cls, words: str, *, loss: float | None = None, least: float | None = None) -> Doing:
        """Words with their numbers."""
        step = super().__new__(cls, words)
        step.loss, step.least = loss, least
        return step


def quiet(_what: str, _share: float) -> None:
    """Progress for those who do not look."""


def stepped(progress: Progress) -> Progress:
    """Progress whose words are steps, each with the newest numbers; `quiet` stays as it is."""
    if progress is quiet:
        return quiet
    loss: float | None = None
    least: float | None = None

    def tell(what: str, share: float) -> None:
        nonlocal loss, least
        if isinstance(what, Doing):
            loss = what.loss if what.loss is not None else loss
            least = what.least if what.least is not None else least
        progress(Doing(what, loss=loss, least=least), share)

    return tell


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to try: a named level, a number of steps, or seconds.

    Exactly one of the three is set. Steps repeat exactly; seconds are recorded as the steps done.
    """

    level: str | None = "normal"
    steps: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Effort:
        """Read `quick`, `normal`, `thorough`, `steps=5000` or `60s`."""
        word = text.strip()
        if word in {"quick", "normal", "thorough"}:
            return cls(level=word)
        if match := re.fullmatch(r"steps=(\d+)", word):
            return cls(level=None, steps=int(match[1]))
        if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*s", word):
            return cls(level=None, seconds=float(match[1]))
        raise PlanError(
            f"There is no effort {text!r}. Choose quick, normal, thorough, steps=N or seconds such as 60s.",
            field="effort",
        )

    def __str__(self) -> str:
        if self.level is not None:
            return self.level
        return f"steps={self.steps}" if self.steps is not None else f"{self.seconds:g}s"


@dataclass(frozen=True, slots=True)
class Task:
    """What a method is asked to do with a coded table.

    `withhold` is a number of records, `options` holds every option of the method with its value filled
    in, and `threads` never changes a result. Where it is `guided`, a bound is proved before groups are
    improved, which learns from it; of one part of a table no bound is asked for.
    """

    k: int
    withhold: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    effort: Effort = field(default_factory=Effort)
    improve: bool = False
    stop_at: float | None = None
    seed: int = 0
    threads: int = 0
    guided: bool = True
    progress: Progress = quiet


def whole_of(value: object) -> int | None:
    """A whole number of any library as Python's own; None where it is none.

    >>> whole_of(5), whole_of(5.0), whole_of(True)
    (5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    return index(value)


def quota(fraction: float, records: int) -> int:
    """How many of `records` may be withheld; 0.29 of 100 is 29, not 28.999...

    >>> quota(0.29, 100), quota(0.0, 100)
    (29, 0)
    """
    return int(fraction * records + 1e-9)
