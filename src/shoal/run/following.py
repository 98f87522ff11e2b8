"""A series from Python: one release after the other, each after the one before."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

from shoal.errors import PlanError
from shoal.model.files import Files
from shoal.model.plan import Plan
from shoal.model.series import REGISTER
from shoal.model.task import Progress, quiet
from shoal.model.words import Words
from shoal.run.anonymize import anonymize
from shoal.run.plans import plan_of
from shoal.run.release import Release

__all__ = ["Series"]


class Series:
    """Releases of one register or ledger, each written after the one before.

    Say what is wanted by a `Plan`, by keywords, or by both, once for all releases. `after` is the file
    that the next release follows: the state of a register, or the certificate of a ledger; None before
    the first.

    Attributes:
        plan: What every release asks for.
        after: The file that the next release follows.
        files: Where the latest release lies; None before the first.

    Example:
        >>> import tempfile, polars as pl, shoal
        >>> folder = tempfile.mkdtemp()
        >>> rows = {"who": list("abcdef"), "age": [1, 2, 3, 4, 5, 6], "flu": list("ynynyn")}
        >>> asked = {"k": 3, "quasi": ["age"], "sensitive": ["flu"], "kinds": {"age": "number"}}
        >>> series = shoal.Series(**asked, unit="who", series="register")
        >>> series.release(pl.DataFrame(rows), f"{folder}/q1.csv").table.height
        6
        >>> series.release(pl.DataFrame(rows), f"{folder}/q2.csv").certificate.series.number
        2

    """

    def __init__(
        self,
        plan: Plan | None = None,
        *,
        after: str | os.PathLike[str] | None = None,
        **words: Unpack[Words],
    ) -> None:
        self.plan = plan_of(plan, words)
        self.after = None if after is None else Path(after)
        self.files: Files | None = None
        if self.plan.series is None and after is None:
            raise PlanError("The plan names no series. Say series = register, or ledger.", field="series")

    def release(
        self,
        frame: Any,
        path: str | os.PathLike[str],
        *,
        redo: bool = False,
        forget: Iterable[Any] = (),
        progress: Progress = quiet,
    ) -> Release:
        """Make, judge and write the next release; the one after it will follow this one.

        `redo` and `forget` are as `anonymize` takes them.
        """
        release = anonymize(frame, self.plan, after=self.after, redo=redo, forget=forget, progress=progress)
        self.files = release.write(path)
        of_register = release.plan.series == REGISTER
        self.after = self.files.state if of_register else self.files.certificate
        return release
