"""A published release for those who receive it: cells as typed columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError, PlanError
from shoal.model.cell import SUPPRESSED, parse_box, parse_range, parse_set, parse_value
from shoal.model.certificate import Certificate
from shoal.model.files import Files
from shoal.model.guess import guess_kind
from shoal.model.hierarchy import Hierarchy
from shoal.model.kind import Kind
from shoal.model.names import check_named
from shoal.read.hierarchy import hierarchy_of
from shoal.read.table import read_table

__all__ = ["ReleaseRead", "read_release", "typed_columns"]

MOMENT = "%Y-%m-%d %H:%M:%S%.f"


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseRead:
    """A release as its reader needs it.

    `frame` has the columns of the file, numbers and dates that are published as they are typed (codes
    stay text), and beside each quasi-identifier what its cells say:
    `x_low` and `x_high`, typed, of a number or date (null where nothing is told), or `x_middle` where
    `cells` is `middle`, since widths are gone there; `x_node`, and `x_level` where the hierarchy is known,
    of a tree; `x_set`, a list, of labels. `kinds` says how each quasi-identifier was measured.
    """

    frame: pl.DataFrame
    certificate: Certificate
    kinds: Mapping[str, str]
    hierarchies: Mapping[str, Hierarchy]


def read_release(
    path: str | os.PathLike[str],
    *,
    certificate: str | os.PathLike[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> ReleaseRead:
    """Read a release of ours into typed columns, by the certificate that lies beside it.

    Args:
        path: The published table.
        certificate: Its certificate, where it lies elsewhere.
        hierarchies: By column, trees whose nodes the release shows, or their files, mappings or frames:
            they say each node's level. Builders make trees of values that a release may not show.

    Raises:
        DataError: There is no certificate, or the table is not the one it speaks of.
        PlanError: A hierarchy is given by a builder.

    Example:
        >>> import polars as pl, shoal, tempfile
        >>> table = pl.DataFrame({"age": [21, 22, 35, 36], "sex": ["f", "m", "f", "f"]})
        >>> release = shoal.anonymize(table, k=2, quasi=["age", "sex"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = release.write(f"{folder}/out.csv")
        ...     shoal.read_release(files.table).frame.rows()
        [('[21, 22]', '{f, m}', 21, 22, ['f', 'm']), ('[21, 22]', '{f, m}', 21, 22, ['f', 'm']), \
('[35, 36]', 'f', 35, 36, ['f']), ('[35, 36]', 'f', 35, 36, ['f'])]

    """
    told = _certificate(Files.beside(path).certificate if certificate is None else Path(certificate))
    frame = read_table(Path(path)).frame
    others = [name for name in (*told.plan.sensitive, *told.plan.keep) if name in frame.columns]
    frame = frame.with_columns(_as_kind(frame[name]) for name in others)
    trees = {name: _tree_of(tree, name) for name, tree in (hierarchies or {}).items()}
    return ReleaseRead(typed_columns(frame, told, trees), told, told.plan.kinds, trees)


def typed_columns(
    frame: pl.DataFrame, certificate: Certificate, hierarchies: Mapping[str, Hierarchy]
) -> pl.DataFrame:
    """A published table with what its cells say in columns of their own."""
    plan = certificate.plan
    added: dict[str, pl.Series] = {}
    for name in plan.quasi:
        kind = Kind.parse(plan.kinds.get(name, "label"), column=name)
        if plan.style in {"generalize", "suppress"}:
            added |= _typed(frame, name, kind, hierarchies.get(name), plan.style, plan.cells)
    return frame.with_columns(series.alias(name) for name, series in added.items())


def _tree_of(given: Any, column: str) -> Hierarchy:
    tree = hierarchy_of(given, column=column)
    if isinstance(tree, Hierarchy):
        return tree
    raise PlanError(
        f"The hierarchy of column {column!r} is the builder {tree.text}, which makes a tree of all values "
        "of the original; a release does not show them all. Give the tree: a file with one path per value.",
        field="hierarchies",
        column=column,
    )


def _certificate(path: Path) -> Certificate:
    if not path.exists():
        raise DataError(
            f"There is no certificate {str(path)!r}. Put it beside the release, or name it: it says how "
            "each column is published."
        )
    try:
        return Certificate.of_json(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"The certificate {str(path)!r} cannot be read. Put it beside the release, or name it: it says "
            "how each column is published."
        ) from None


def _typed(
    frame: pl.DataFrame, name: str, kind: Kind, tree: Hierarchy | None, style: str, published: str
) -> dict[str, pl.Series]:
    """The columns to add for one quasi-identifier."""
    if kind.name in {"number", "date"} and name not in frame.columns:  # two columns in the file
        ends = {f"{name}_{end}": f"{name}_{end}" for end in ("low", "high")}
        check_named(list(ends), frame.columns)
        return {new: _values(frame[old].cast(pl.String), kind) for new, old in ends.items()}
    if name not in frame.columns:
        return {}
    cells = frame[name].cast(pl.String)
    cells = cells.set(cells == "", None)
    if kind.name in {"number", "date"} and published == "middle":
        return {f"{name}_middle": _values(cells.set(cells == SUPPRESSED, None), kind)}
    if kind.name in {"number", "date"}:
        pairs = [parse_range(cell) if _tells(cell) else (None, None) for cell in cells.to_list()]
        return {
            f"{name}_{end}": _values(pl.Series([pair[at] for pair in pairs], dtype=pl.String), kind)
            for at, end in enumerate(("low", "high"))
        }
    if kind.name == "place":
        boxes = [parse_box(cell) if _tells(cell) else [(None, None)] * 2 for cell in cells.to_list()]
        return {
            f"{part}_{end}": _values(pl.Series([box[side][at] for box in boxes], dtype=pl.String), kind)
            for side, part in enumerate(kind.parts)
            for at, end in enumerate(("low", "high"))
        }
    if kind.name == "tree" or style == "suppress":
        nodes = pl.Series(
            [None if cell is None else _node(cell) for cell in cells.to_list()], dtype=pl.String
        )
        if tree is None:
            return {f"{name}_node": nodes}
        levels = {node: level for node, (_, _, level) in tree.nodes(of_others=True).items()}
        found = [None if node is None else levels.get(node) for node in nodes.to_list()]
        return {f"{name}_node": nodes, f"{name}_level": pl.Series(found, dtype=pl.Int64)}
    if kind.name == "label":
        sets = [None if cell == SUPPRESSED else parse_set(cell) for cell in cells.to_list()]
        return {f"{name}_set": pl.Series(sets, dtype=pl.List(pl.String))}
    return {}


def _tells(cell: str | None) -> bool:
    return cell is not None and cell != SUPPRESSED


def _node(cell: str) -> str:
    return SUPPRESSED if cell == SUPPRESSED else parse_value(cell)


def _as_kind(series: pl.Series) -> pl.Series:
    """Numbers and dates of a text file as such, where all of a column are; codes stay text."""
    kind = guess_kind(series) if series.dtype == pl.String else "label"
    if kind not in {"number", "date"}:
        return series
    typed = _values(series.str.strip_chars(), Kind.parse(kind, column=series.name))
    return typed if typed.null_count() == series.null_count() else series


def _values(texts: pl.Series, kind: Kind) -> pl.Series:
    """Ends of ranges as numbers, whole where all are, or as dates or moments."""
    texts = texts.set(texts == "", None)
    if kind.name == "date":
        days = texts.str.to_date("%Y-%m-%d", strict=False)
        if days.null_count() == texts.null_count():
            return days
        return texts.str.to_datetime(MOMENT, strict=False, time_unit="us")
    whole = texts.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == texts.null_count() else texts.cast(pl.Float64, strict=False)
