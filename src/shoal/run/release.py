"""What `anonymize` gives back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import engines
from shoal.model.certificate import Certificate
from shoal.model.files import Files
from shoal.model.grouping import Groups
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Release", "Repeats"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """An identifier whose values repeat: k counts rows, so one person may fill a group alone."""

    column: str
    values: int
    rows: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A finished table with its verdict and certificate; `write` publishes it.

    `table` is of the same kind as the frame that came in. `left_out` names the columns without a role,
    `guessed` the kinds that nobody declared, `doubts` says which of them may be wrong, `repeats` names the
    identifiers whose values repeat.
    """

    table: Any
    groups: Groups
    verdict: Verdict
    certificate: Certificate
    plan: Plan
    left_out: tuple[str, ...]
    guessed: Mapping[str, str]
    doubts: tuple[str, ...]
    repeats: tuple[Repeats, ...]
    _published: pl.DataFrame  # as judged: what is written, whatever becomes of `table`
    _receipt: Receipt
    lookups: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        delimiter: str = ",",
        inputs: Iterable[str | os.PathLike[str]] = (),
    ) -> Files:
        """Publish to CSV, Parquet or Arrow by the file's ending, with certificate and private receipt.

        Nothing is written unless the verdict has passed. `inputs` are files that must not be overwritten.
        """
        files: Files = engines.load(self.plan.engine).publish(
            self._published,
            self.verdict,
            self.certificate,
            self._receipt,
            path,
            delimiter=delimiter,
            inputs=inputs,
            lookups=self.lookups,
        )
        return files

    def draw_map(self, path: str | os.PathLike[str]) -> Path:
        """Draw the release to an HTML page or a PNG picture: published rectangles, or regions by group.

        Nothing is drawn unless the verdict has passed, and no point of a person is in it.
        """
        at = engines.load(self.plan.engine)
        table = at.from_ids(self._published, self.lookups)
        drawn: Path = at.draw_map(table, self.plan, self.verdict, path)
        return drawn

    def in_words(self) -> tuple[str, ...]:
        """The release in a few sentences, without any cell."""
        about = self.certificate
        state = "" if self.verdict.has_passed else f"NOT ANONYMOUS. {' '.join(self.verdict.reasons)} "
        classes = f"{about.classes:,} class{'es' * (about.classes != 1)}"
        return (
            f"{state}{about.published:,} of {about.records:,} rows published in {classes}, "
            f"the smallest of {about.smallest_class:,}.",
            about.in_words(),
        )

    def __repr__(self) -> str:
        return f"Release(k={self.plan.k}, method={self.certificate.method!r}): {' '.join(self.in_words())}"

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self.in_words())
        rows = "".join(
            f"<tr><td>{escape(column.name)}</td><td>{100 * column.loss:.2f} %</td></tr>"
            for column in self.certificate.columns
            if column.loss is not None
        )
        losses = f"<table><tr><th>column</th><th>loss</th></tr>{rows}</table>" if rows else ""
        # only a table that passed may show its own cells
        head = self._published.head(5)._repr_html_() if self.verdict.has_passed else ""
        title = f"Release, k = {self.plan.k}, {escape(self.certificate.method)}"
        return f"<div><b>{title}</b><br>{lines}{losses}{head}</div>"

    def __reduce__(self) -> Any:
        raise TypeError("A release is not pickled: it knows which row went where. Use write(path).")
