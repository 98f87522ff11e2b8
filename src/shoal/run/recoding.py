"""A recoding used again: new rows as coarse as an earlier release."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, NotAnonymous, PlanError, TooFewRows
from shoal.model.recoding import Coarsening
from shoal.model.rule import Rule
from shoal.model.verdict import Verdict
from shoal.model.whom import ROWS

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.model.hierarchy import Builder
    from shoal.recode.again import OldBoxes

__all__ = ["Applied", "Recoding"]

DAY = 86_400e6
"""Microseconds: dates count days, moments these."""
WAYS = {"unfit": ("widen", "withhold"), "small": ("join", "withhold")}


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """New rows, recoded by an earlier release and judged by themselves; `write` publishes them.

    `widened` rows fitted no box, so that one was widened for them; `withheld` ones are left out.
    """

    table: Any
    verdict: Verdict
    records: int
    widened: int
    withheld: int
    _table: pl.DataFrame

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        delimiter: str = ",",
        inputs: Iterable[str | os.PathLike[str]] = (),
    ) -> Path:
        """Write the table, if it has passed; the ending says how, as in `Release.write`."""
        from shoal.publish.formats import WRITERS, check_parts
        from shoal.publish.target import Drawing, check_file, draw_alone

        if not self.verdict.has_passed:
            raise NotAnonymous(
                f"The check failed and nothing was written. {' '.join(self.verdict.reasons)}"
            )
        target = check_file(path, "output", WRITERS, inputs=inputs)
        check_parts(target.suffix.lower())
        writer = WRITERS[target.suffix.lower()]
        return draw_alone(Drawing(target, "output", lambda draft: writer(self._table, draft, delimiter)))


@dataclass(frozen=True, slots=True)
class Recoding:
    """How a release was coarsened: its classes as boxes in values, to be used for other rows.

    It tells what the release tells, and which values each published node stands for; no row of anybody is
    in it.
    """

    coarsening: Coarsening

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Recoding:
        """Read what `write` wrote."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise DataError(f"The recoding {str(path)!r} cannot be read.") from None
        return cls(Coarsening.of_json(text))

    def write(self, path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
        """Write it to a file, .json."""
        from shoal.publish.target import Drawing, check_file, draw_alone

        target = check_file(path, "recoding", (".json",), inputs=inputs)
        text = self.coarsening.to_json()
        return draw_alone(Drawing(target, "recoding", lambda draft: _write(draft, text)))

    def get_feature_names_out(self, _input_features: Any = None) -> list[str]:
        """The columns that come out of `transform`."""
        return list(self.coarsening.quasi)

    def transform(self, frame: Any, *, missing: Iterable[str] = ()) -> Any:
        """The quasi-identifiers of each row as coarse as in the release, in the order of the rows.

        A row gets the cells of the cheapest box that holds it, or of the one that costs least to widen. The
        result is for a model that was trained on the release; it is not checked for k, and not for others.
        """
        import polars as pl

        from shoal.read.frames import to_polars
        from shoal.read.hand_back import hand_back, origin_of

        native, table = to_polars(frame)
        boxes, row = self._boxes(table, tuple(missing))
        found = boxes.fit()
        known: dict[int, tuple[str | None, ...]] = {}
        lines = []
        for at, box in enumerate(found.tolist()):
            if box < 0:
                lines.append(boxes.widened(at))
            else:
                if box not in known:
                    known[box] = boxes.cells(box)
                lines.append(known[box])
        schema = dict.fromkeys(self.coarsening.quasi, pl.String)
        cells = pl.DataFrame(lines, schema=schema, orient="row")[row]
        return hand_back(cells, origin_of(native, table, ()).plain)

    def apply(
        self,
        frame: Any,
        *,
        k: int | None = None,
        unfit: str = "widen",
        small: str = "join",
        unit: str | None = None,
        missing: Iterable[str] = (),
    ) -> Applied:
        """Recode new rows for publication, and judge them by themselves.

        Args:
            frame: A pandas, Polars or Arrow frame with the columns of the release; others are left out.
            k: How many rows each class must hold; None for the k of the release.
            unfit: What becomes of rows that no box holds: `widen` the box that costs least, or `withhold`.
            small: What becomes of classes below k: `join` the one that costs least, or `withhold`.
            unit: `rows` says that each row is one person, where the release counted persons.
            missing: Texts that mean missing.

        Returns:
            The table, sorted by its published values, with its verdict; `Applied.write` publishes it.

        """
        import numpy as np
        import polars as pl

        from shoal.model.missing import missing_to_null
        from shoal.read.frames import to_polars
        from shoal.read.hand_back import hand_back, origin_of
        from shoal.recode.anew import anew
        from shoal.run.check import check_table

        about = self.coarsening
        k = about.k if k is None else k
        for word, given in (("unfit", unfit), ("small", small)):
            if given not in WAYS[word]:
                raise PlanError(f"{word} = {given!r} is neither {' nor '.join(WAYS[word])}.", field=word)
        if k < 2:
            raise PlanError(f"k = {k} is not a whole number of at least 2.", field="k")
        if about.unit is not None and unit != ROWS:
            raise PlanError(
                f"The release counted persons by column {about.unit!r}, and a recoding counts rows. Say "
                "unit = rows if each row is another person.",
                field="unit",
            )
        rules = [Rule.parse(text) for text in about.rules]
        if any(rule.distance == "hierarchy" for rule in rules):
            raise PlanError(
                "A recoding holds no hierarchy for rules, so this one cannot be judged.", field="rules"
            )
        native, table = to_polars(frame)
        absent = [rule.column for rule in rules if rule.column not in table.columns]
        if absent:
            raise PlanError(
                f"Column {absent[0]!r}, on which the release has a rule, is not in the table.",
                column=absent[0],
            )
        boxes, row = self._boxes(table, tuple(missing))
        found = boxes.fit()
        misfits = np.flatnonzero(found < 0)
        widened = 0
        if unfit == "widen":
            for at in misfits.tolist():
                found[at] = boxes.widen(at)
            widened = int(np.isin(row, misfits).sum())
        label = found[row]
        if small == "join":
            label = boxes.merge(label, k)
        size = np.bincount(label[label >= 0], minlength=boxes.boxes)
        kept = (label >= 0) & (size[label] >= k)
        if not kept.any():
            if table.height < k:
                raise TooFewRows(rows=table.height, k=k)
            raise DataError(
                f"No class of the release holds k = {k} of the {table.height} new rows, so that all would "
                "be withheld. Let small classes join, or rows widen them.",
                field="small",
            )
        names = [name for name in about.others if name in table.columns]
        lines = {int(box): boxes.cells(int(box)) for box in np.unique(label[kept])}
        cells = pl.DataFrame(
            [lines[int(box)] for box in label[kept]],
            schema=dict.fromkeys(about.quasi, pl.String),
            orient="row",
        )
        rest = [missing_to_null(table[name], tuple(missing)).filter(pl.Series(kept)) for name in names]
        made = pl.DataFrame([*cells.iter_columns(), *rest])
        # made anew when it stands in published order: memory in another order would tell that of the input
        made = anew(made.sort(made.columns, nulls_last=True, maintain_order=False))
        told = [rule.column for rule in rules]
        verdict = check_table(
            made, quasi=about.quasi, sensitive=tuple(dict.fromkeys(told)), k=k, rules=about.rules
        )
        return Applied(
            hand_back(made, origin_of(native, table, names)),
            verdict,
            records=table.height,
            widened=int((widened and np.isin(row, misfits)[kept].sum()) or 0),
            withheld=int((~kept).sum()),
            _table=made,
        )

    def _boxes(self, table: pl.DataFrame, missing: tuple[str, ...]) -> tuple[OldBoxes, NDArray[np.int64]]:
        """The boxes with the distinct rows of a table, and the distinct row of each row."""
        import numpy as np

        from shoal.encode.survey import look_up, missing_to_null, survey
        from shoal.model.plan import Plan
        from shoal.read.hierarchy import parse_builder
        from shoal.recode.again import OldBoxes

        about = self.coarsening
        lacking = [name for name in about.quasi if name not in table.columns]
        if lacking:
            raise PlanError(
                f"The recoding is for another table: column {lacking[0]!r} is not in this one, which lacks "
                f"{len(lacking)} of its {len(about.quasi)} columns.",
                column=lacking[0],
            )
        plan = Plan(
            k=2, quasi=about.quasi, kinds={one.name: one.kind for one in about.columns}, missing=missing
        )
        builders = {one.name: parse_builder(one.tree) for one in about.columns if one.tree}
        table = table.with_columns(
            _coded(missing_to_null(table[name], plan), one) for name, one in builders.items() if one.ends
        )
        codes, values = [], []
        for book, coarse in zip(survey(table, plan).books, about.columns, strict=True):
            column = book.column
            numbers = column.numbers[0] if column.numbers else None
            if numbers is not None and (coarse.form, column.form) == ("date", "datetime"):
                numbers = np.floor(numbers / DAY)
            elif numbers is not None and (coarse.form, column.form) == ("datetime", "date"):
                numbers = numbers * DAY
            values.append(numbers if numbers is not None else list(column.values))
            codes.append(look_up(table, book)[0].astype(np.int64))
        distinct, row = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
        return OldBoxes(_with_trees(about, values), values, distinct), row.ravel()


def _with_trees(about: Coarsening, values: list[Any]) -> Coarsening:
    """The recoding with its built trees built again, over the new values."""
    from shoal.read.hierarchy import parse_builder
    from shoal.recode.again import nodes_over

    columns = []
    for at, (coarse, new) in enumerate(zip(about.columns, values, strict=True)):
        one = coarse
        if coarse.tree and coarse.sort == "node":
            nodes = nodes_over(new, [box[at] for box in about.boxes], parse_builder(coarse.tree))
            one = replace(coarse, nodes=nodes, size=len(new))
        columns.append(one)
    return replace(about, columns=tuple(columns))


def _coded(series: pl.Series, builder: Builder) -> pl.Series:
    """A column with its ends coded; what the builder cannot place might lie there, and is refused."""
    from shoal.encode.tree import to_text

    text = to_text(series)
    return text.replace(builder.coded(text.drop_nulls().unique().to_list(), column=series.name))


def _write(draft: Path, text: str) -> None:
    draft.write_text(text, encoding="utf-8", newline="\n")
