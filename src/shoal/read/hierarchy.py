"""Hierarchies from files and from words.

Files are ARX's own (semicolons, no header, the value first and `*` last), the same with another
delimiter and a header `level0, level1, ..`, or nested YAML. Words are builders: `prefixes(5, 3, 0)`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import yaml

from shoal.errors import PlanError, ShoalError, choices
from shoal.model.hierarchy import ROOT, Builder, Hierarchy, bins, calendar, flat, prefixes
from shoal.model.outline import parse_outline
from shoal.read.nodes import compose, scalar
from shoal.read.text import decode, take_separator

__all__ = [
    "is_builder",
    "parse_builder",
    "parse_hierarchy",
    "read_hierarchies",
    "read_hierarchy",
    "tree_of_node",
]

TABLES = (".csv", ".tsv", ".txt")
TREES = (".yaml", ".yml")
HEADER = re.compile(r"level[ _-]?\d+", re.IGNORECASE)
CALL = re.compile(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*", re.DOTALL)


def read_hierarchy(path: str | Path, *, column: str = "") -> Hierarchy:
    """Read the hierarchy in one file; `column` is named in errors."""
    path = Path(path)
    where = f"The hierarchy of column {column!r}" if column else "The hierarchy"
    if not path.is_file():
        raise PlanError(
            f"{where}: there is no file {path}. Check the name and the folder.",
            field="hierarchies",
            column=column or None,
        )
    suffix = path.suffix.lower()
    if suffix in TREES:
        return tree_of_node(compose(path), column=column)
    if suffix not in TABLES:
        raise PlanError(
            f"{where}: {path} is of no kind that can be read. {choices((*TABLES, *TREES))}",
            field="hierarchies",
            column=column or None,
        )
    try:
        raw, delimiter = take_separator(decode(path, None)[0])
        lines = list(_lines(raw.decode(), delimiter))
    except UnicodeError:
        raise PlanError(
            f"{where}: {path} is not written in UTF-8. Write it again in UTF-8.",
            field="hierarchies",
            column=column or None,
        ) from None
    except csv.Error:
        raise PlanError(
            f"{where}: {path} has quotes that are not closed.", field="hierarchies", column=column or None
        ) from None
    except ShoalError as error:
        raise PlanError(f"{where}: {error}", field="hierarchies", column=column or None) from None
    return Hierarchy.of_paths(lines, column=column)


def read_hierarchies(folder: str | Path, *, only: Collection[str] | None = None) -> dict[str, Hierarchy]:
    """Read a folder's hierarchies by column: `<column>.csv`, `<column>.yaml`, `*_hierarchy_<column>.csv`.

    `only` names the columns wanted; files of others are left alone.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise PlanError(
            f"There is no folder {folder}. Name the folder that holds the hierarchies.", field="hierarchies"
        )
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in {*TABLES, *TREES} or path.name.startswith(".") or not path.is_file():
            continue
        column = re.split(r"_hierarchy_", path.stem, maxsplit=1, flags=re.IGNORECASE)[-1]
        if only is not None and column not in only:
            continue
        if column in found:
            raise PlanError(
                f"Column {column!r} has two hierarchies: {found[column].name} and {path.name}. Keep one.",
                field="hierarchies",
                column=column,
            )
        found[column] = path
    return {column: read_hierarchy(path, column=column) for column, path in found.items()}


def is_builder(text: str) -> bool:
    """Whether a text is meant as a builder rather than a file's name."""
    match = CALL.fullmatch(text)
    return match is not None or text.strip() in BUILDERS


def parse_builder(text: str) -> Builder:
    """Read a builder as written in a plan: prefixes(5, 3, 0), bins(5, 10), calendar(month, year), flat().

    >>> parse_builder("prefixes(5,3,0)").text
    'prefixes(5, 3, 0)'
    """
    match = CALL.fullmatch(text if "(" in text else f"{text}()")
    name = match[1] if match is not None else text
    if match is None or name not in BUILDERS:
        raise PlanError(f"There is no hierarchy builder {name!r}. {choices(BUILDERS)}", field="hierarchies")
    words = [word.strip().strip("'\"") for word in match[2].split(",") if word.strip()]
    if name == "calendar":
        return calendar(*words)
    if name == "flat":
        if words:
            raise PlanError("flat takes nothing in its brackets: flat().", field="hierarchies")
        return flat()
    try:
        if name == "prefixes":
            return prefixes(*(int(word) for word in words))
        return bins(*(float(word) if not word.lstrip("+-").isdigit() else int(word) for word in words))
    except ValueError:
        raise PlanError(
            f"{name} takes numbers in its brackets, such as {BUILDERS[name]}.", field="hierarchies"
        ) from None


def parse_hierarchy(text: str, *, column: str = "") -> Hierarchy | Builder:
    r"""Read a hierarchy as people type it: one line is a builder, several are an outline.

    >>> parse_hierarchy("prefixes(5, 3)").text
    'prefixes(5, 3)'
    >>> parse_hierarchy("north\n  Oslo\n  Turku\nRome").leaves
    ('Oslo', 'Turku', 'Rome')
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return parse_outline(text, column=column)
    try:
        return parse_builder(text.strip())
    except PlanError as error:
        raise PlanError(str(error), field="hierarchies", column=column or None) from None


BUILDERS = {
    "prefixes": "prefixes(5, 3, 0)",
    "bins": "bins(5, 10, 50)",
    "calendar": "calendar(month, year, decade)",
    "flat": "flat()",
}


def _lines(text: str, delimiter: str | None) -> Iterator[list[str]]:
    """The paths of a table, its header left out."""
    first = text.split("\n", 1)[0]
    delimiter = delimiter or next((sign for sign in (";", "\t", "|", ",") if sign in first), ";")
    cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    for at, line in enumerate(cells):
        if at == 0 and all(HEADER.fullmatch(cell.strip()) for cell in line if cell.strip()):
            continue
        yield line


def tree_of_node(node: yaml.Node, *, column: str = "") -> Hierarchy:
    """The tree that nested YAML spells: keys are nodes, and the innermost names are the values."""
    return Hierarchy.of_paths(_paths(node, (), column), column=column)


def _paths(node: yaml.Node, above: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    where = f"The hierarchy of column {column!r}" if column else "The hierarchy"
    if isinstance(node, yaml.MappingNode):
        for key, below in node.value:
            name = scalar(key)
            if name is None:
                raise PlanError(
                    f"{where} has a node without a name.", field="hierarchies", column=column or None
                )
            if name == ROOT and not above:
                yield from _paths(below, (), column)
            elif scalar(below) == "":
                yield (name, *above)
            else:
                yield from _paths(below, (name, *above), column)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _paths(item, above, column)
    else:
        value = scalar(node)
        if not value:
            raise PlanError(
                f"{where} has an empty name in a list. Write a value, or take it out.",
                field="hierarchies",
                column=column or None,
            )
        yield (value, *above)
