"""A first plan, written to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.errors import PlanError
from shoal.publish.target import Drawing, check_file, draw_alone
from shoal.read.first_plan import guess_plan

__all__ = ["write_plan"]

ENDINGS = (".yaml", ".yml")


def write_plan(
    frame: Any,
    path: str | os.PathLike[str],
    *,
    of: str | os.PathLike[str] = "table.csv",
    inputs: Iterable[str | os.PathLike[str]] = (),
    **written: str | None,
) -> Path:
    """Write a first plan for `frame` as `guess_plan` makes it, in UTF-8.

    `of` is the table's file; what is said of how it is written, such as `encoding`, goes into the plan.

    A file that is there is kept, since it may be a plan that somebody edited, and `inputs` are, too.
    """
    if os.path.lexists(path):
        raise PlanError(
            f"The plan {str(path)!r} is there already, and may hold somebody's work. Give another name, or "
            "remove it first."
        )
    target = check_file(path, "plan", ENDINGS, inputs=inputs)
    text = guess_plan(frame, path=Path(of), **written)
    return draw_alone(Drawing(target, "plan", lambda draft: _write(draft, text)))


def _write(draft: Path, text: str) -> None:
    draft.write_text(text, encoding="utf-8", newline="\n")
