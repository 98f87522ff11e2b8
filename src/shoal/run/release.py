"""What `anonymize` gives back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import engines
from shoal.engines import Published
from shoal.errors import NotAnonymous, PlanError
from shoal.model.certificate import Certificate
from shoal.model.column import Column
from shoal.model.files import Files, Stored
from shoal.model.grouping import Groups
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt
from shoal.model.report import Context, Report
from shoal.model.verdict import Verdict
from shoal.model.whom import Repeats
from shoal.publish.report import losses_drawn
from shoal.run.notes import notes_of
from shoal.run.recoding import Recoding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Release"]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A finished table with its verdict and certificate; `write` publishes it.

    `table` and `lookups` are copies of your own, of the same kind as the frame that came in: whatever you
    do to them, `write` publishes what was judged, or nothing. `left_out` names the columns without a
    role, `guessed` the kinds that nobody declared, `doubts` says which of them may be wrong, `repeats`
    names the identifiers whose values repeat, and left out columns that look like one, where k counts
    rows. `lists` are those of a register, `forgotten` counts persons whom it was asked to forget.
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
    lookups: Mapping[str, Any]
    _published: Published  # as judged: what is written, whatever becomes of `table`
    _receipt: Receipt
    lists: Any = None
    forgotten: int = 0
    _register: Any = None  # what a register keeps and writes besides
    _columns: tuple[Column, ...] = ()  # for the recoding
    _key: str | os.PathLike[str] | None = None  # the file of the key, which nothing is written over

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        delimiter: str = ",",
        inputs: Iterable[str | os.PathLike[str]] = (),
        map_to: str | os.PathLike[str] | None = None,
        for_excel: str | None = None,
    ) -> Files:
        """Publish with certificate and private receipt; the ending says how: CSV, Parquet, Excel, ...

        Nothing is written unless the verdict has passed. `inputs` are files that must not be overwritten.
        A map that is drawn to `map_to` appears with the release or not at all. `for_excel`, "comma" or
        "point" by its decimals, writes a CSV that Excel opens by a double click.
        """
        if for_excel is not None:
            return self._write_for_excel(path, for_excel, inputs=inputs, alone=map_to is None)
        if self._register is not None:
            from shoal.run.keep import write_register

            return write_register(self, path, delimiter=delimiter, inputs=inputs)
        return engines.load(self.plan.engine).publish(
            self._published,
            self.plan,
            self.verdict,
            self.certificate,
            self._receipt,
            path,
            delimiter=delimiter,
            inputs=[*inputs, *((self._key,) if self._key is not None else ())],
            map_to=map_to,
        )

    def _write_for_excel(
        self,
        path: str | os.PathLike[str],
        decimals: str,
        *,
        inputs: Iterable[str | os.PathLike[str]],
        alone: bool,
    ) -> Files:
        from shoal.publish.table import write_release

        is_plain = self._register is None and self.plan.engine == "memory" and self.plan.cells != "id"
        if not (is_plain and alone):
            raise PlanError(
                "For Excel a table is written that is in memory, one file without a map, lookup tables "
                "or a register.",
                field="for_excel",
            )
        table = engines.load(self.plan.engine).sealed(self._published)
        papers = (self.verdict, self.certificate, self._receipt)
        return write_release(table, *papers, path, inputs=inputs, for_excel=decimals)

    def write_database(
        self,
        uri: str,
        table: str | None = None,
        *,
        replace: bool = False,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Stored:
        """Publish to a table of a database, in one transaction: it appears whole or not at all.

        `uri` is as in `read_database`, and may name the table itself: `...#table`. A table of that name is
        replaced only where `replace` says so. Certificate and receipt go to files, when the table is there:
        to `certificate`, or to one of the table's name in the current folder.
        """
        if self._register is not None:
            raise PlanError(
                "A release of a register is several files with a private state beside them, and no "
                "table of a "
                "database. Write it to a file.",
                field="output",
            )
        from shoal.publish.database import write_database

        if self.plan.cells == "id":
            raise PlanError(
                "Sets by their ids need lookup tables, which are files. Choose other cells for a database.",
                field="cells",
            )
        return write_database(
            engines.load(self.plan.engine).sealed(self._published),
            self.verdict,
            self.certificate,
            self._receipt,
            uri,
            table,
            replace=replace,
            papers=certificate,
        )

    @property
    def recoding(self) -> Recoding:
        """How this release was coarsened, to be used for other rows: `shoal.Recoding`."""
        from shoal.recode.again import recoding_of

        if not self.verdict.has_passed:
            raise NotAnonymous(f"The check failed. {' '.join(self.verdict.reasons)}")
        table = engines.load(self.plan.engine).sealed(self._published)
        return Recoding(recoding_of(table, self.plan, self._columns))

    @property
    def receipt(self) -> Receipt:
        """The private receipt: the salt and the exact figures. Never publish it."""
        return self._receipt

    def draw_map(self, path: str | os.PathLike[str]) -> Path:
        """Draw the release to an HTML page or a PNG picture: published rectangles, or regions by group.

        Nothing is drawn unless the verdict has passed, and no point of a person is in it.
        """
        drawn: Path = engines.load(self.plan.engine).draw_map(
            self._published, self.plan, self.verdict, path
        )
        return drawn

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        original: Any = None,
        files: Files | None = None,
        context: Context | str | os.PathLike[str] | None = None,
    ) -> Report:
        """Write the report for a data protection officer: one HTML page, as `shoal.report` does.

        With the `files` that `write` gave back it is a report of the written release, fingerprint and all.
        """
        from shoal.run.report import report

        return report(
            self if files is None else files.table,
            None if files is None else files.certificate,
            path,
            original=original,
            receipt=None if files is None else files.receipt,
            context=context,
            hierarchies=self.plan.hierarchies,
            graphs=self.plan.graphs,
            lookups=self.lookups,
            missing=self.plan.missing,
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A figure of Matplotlib: the loss of every column, and the classes by size; no cell is in it.

        With a `path` (.png or .svg) it is drawn there as well.
        """
        from shoal.publish.plots import draw_figure, release_figure
        from shoal.run.drawings import in_few

        figure = release_figure(self.certificate, in_few(self.verdict.sizes))
        if path is not None:
            draw_figure(figure, path)
        return figure

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed, left out, dropped or doubted, and what a class may tell, without a cell."""
        return tuple(notes_of(self))

    def in_words(self) -> tuple[str, ...]:
        """The release in a few sentences, without any cell."""
        about = self.certificate
        state = "" if self.verdict.has_passed else f"NOT ANONYMOUS. {' '.join(self.verdict.reasons)} "
        classes = f"{about.classes:,} class{'es' * (about.classes != 1)}"
        return (
            f"{state}{about.published:,} of {about.records:,} rows published in {classes}, "
            f"the smallest of {about.smallest_class:,}.",
            *((about.series.in_words(),) if about.series is not None else ()),
            about.in_words(),
            *((about.apart_in_words(),) if about.told_apart_percent is not None else ()),
        )

    def __repr__(self) -> str:
        words = " ".join(self.in_words())
        notes = "".join(f"\n- {note}" for note in self.notes)
        return f"Release(k={self.plan.k}, method={self.certificate.method!r}): {words}{notes}"

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self.in_words())
        losses = losses_drawn((column.name, column.loss) for column in self.certificate.columns)
        # only a table that passed may show its own cells
        head = self._published.first_lines() if self.verdict.has_passed else ""
        title = f"Release, k = {self.plan.k}, {escape(self.certificate.method)}"
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        listed = f"<ul>{notes}</ul>" if notes else ""
        return f"<div><b>{title}</b><br>{lines}<br>{losses}{listed}{head}</div>"

    def __reduce__(self) -> Any:
        raise TypeError("A release is not pickled: it knows which row went where. Use write(path).")
