"""Hierarchies from files and from words.

Files are ARX's own (semicolons, no header, the value first and `*` last), the same with another
delimiter and a header `level0, level1, ..`, or nested YAML. Words are builders: `prefixes(5, 3, 0)`.
"""

from __future__ import annotations

import csv
import io
import operator
import os
import re
from collections.abc import Collection, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from shoal.errors import PlanError, ShoalError, choices
from shoal.model.codes import bands, countries, icd9, icd10
from shoal.model.days import ages, calendar
from shoal.model.ends import bottom, rounded, top
from shoal.model.hierarchy import ROOT, Builder, Hierarchy, bins, flat, prefixes
from shoal.model.outline import parse_outline
from shoal.read.frames import to_polars
from shoal.read.nodes import compose, scalar
from shoal.read.text import decode, take_separator

__all__ = [
    "hierarchy_of",
    "is_builder",
    "parse_builder",
    "parse_hierarchy",
    "read_hierarchies",
    "read_hierarchy",
    "tree_of_node",
]

TABLES = (".csv", ".tsv", ".txt")
TREES = (".yaml", ".yml")
RECORDS = "records"
"""The column of a skeleton that says how many records have a value; no level of the tree."""
HEADER = re.compile(r"level[ _-]?\d+", re.IGNORECASE)
BETWEEN = re.compile(r"\+(?![^(]*\))")
"""Between two builders that are added; a plus in brackets is a sign."""
CALL = re.compile(r"\s*([A-Za-z_]+[0-9]*)\s*\((.*)\)\s*", re.DOTALL)


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
        lines = list(_lines(raw.decode(), delimiter, column))
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


def hierarchy_of(given: Any, *, column: str = "") -> Hierarchy | Builder:
    """A hierarchy from whatever says one: a tree, a builder or its text, a file, a mapping or a frame.

    A mapping holds the parent of each value, `{"nurse": "care"}`, or nests as in a YAML file, nodes first:
    `{"service": {"care": ["nurse", "carer"]}}`. A frame has a row for each value: itself, its parent, ...

    >>> hierarchy_of({"care": ["nurse", "carer"], "food": ["cook"]}).leaves
    ('nurse', 'carer', 'cook')
    """
    if isinstance(given, Hierarchy | Builder):
        return given
    if isinstance(given, str) and is_builder(given):
        return parse_builder(given)
    if isinstance(given, str | os.PathLike):
        return read_hierarchy(Path(given), column=column)
    if isinstance(given, Mapping):
        if given and all(isinstance(parent, str) for parent in given.values()):
            return Hierarchy.of_paths(
                [_climbed(str(value), given) for value in _leaves(given)], column=column
            )
        return Hierarchy.of_paths(_nested(given, (), column), column=column)
    if hasattr(given, "columns"):
        _, frame = to_polars(given)
        rows = frame.select(pl.all().cast(pl.String).fill_null("")).iter_rows()
        return Hierarchy.of_paths(rows, column=column)
    raise PlanError(
        f"The hierarchy of column {column!r} is none. Give a file, a builder such as prefixes(5, 3, 0), a "
        "mapping or a frame.",
        field="hierarchies",
        column=column or None,
    )


def _leaves(parents: Mapping[Any, str]) -> list[Any]:
    above = set(parents.values())
    return [value for value in parents if value not in above]


def _climbed(value: str, parents: Mapping[Any, str]) -> list[str]:
    path = [value]
    while path[-1] in parents and len(path) <= len(parents):
        path.append(str(parents[path[-1]]))
    return path


def _nested(given: Any, above: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    if isinstance(given, Mapping):
        for name, below in given.items():
            if str(name) == ROOT and not above:
                yield from _nested(below, (), column)
            elif below is None:
                yield (str(name), *above)
            else:
                yield from _nested(below, (str(name), *above), column)
    elif isinstance(given, list | tuple | set | frozenset):
        for item in sorted(given, key=str) if isinstance(given, set | frozenset) else given:
            yield from _nested(item, above, column)
    else:
        yield (str(given), *above)


def is_builder(text: str) -> bool:
    """Whether a text is meant as a builder rather than a file's name."""
    match = CALL.fullmatch(text)
    return match is not None or text.strip() in BUILDERS


def parse_builder(text: str) -> Builder:
    """Read a builder as written in a plan: prefixes(5, 3, 0), bins(5, 10), top(90) + bins(5, 10), ...

    >>> parse_builder("prefixes(5,3,0)").text
    'prefixes(5, 3, 0)'
    """
    return reduce(operator.add, (_one_builder(part.strip()) for part in BETWEEN.split(text)))


def _one_builder(text: str) -> Builder:
    match = CALL.fullmatch(text if "(" in text else f"{text}()")
    name = match[1] if match is not None else text
    if match is None or name not in BUILDERS:
        raise PlanError(f"There is no hierarchy builder {name!r}. {choices(BUILDERS)}", field="hierarchies")
    words = [word.strip().strip("'\"") for word in match[2].split(",") if word.strip()]
    if name in LEVELLED:
        return LEVELLED[name](*words)
    if name in BARE:
        if words:
            raise PlanError(f"{name} takes nothing in its brackets: {name}().", field="hierarchies")
        return BARE[name]()
    try:
        if name == "prefixes":
            return prefixes(*(int(word) for word in words))
        if name == "ages":
            return ages(words[0] if words else "", *(int(word) for word in words[1:]))
        numbers = [float(word) if not word.lstrip("+-").isdigit() else int(word) for word in words]
        if name == "round":
            if len(numbers) != 1:
                raise PlanError("round takes one number in its brackets: round(10).", field="hierarchies")
            return rounded(numbers[0])
        return {"bins": bins, "bands": bands, "top": top, "bottom": bottom}[name](*numbers)
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
    "top": "top(90)",
    "bottom": "bottom(18)",
    "round": "round(10)",
    "calendar": "calendar(month, year, decade)",
    "bands": "bands(18, 30, 65)",
    "ages": "ages(2025-12-31, 5, 10)",
    "countries": "countries()",
    "icd9": "icd9(block, chapter)",
    "icd10": "icd10(block, chapter)",
    "flat": "flat()",
}
BARE = {"flat": flat, "countries": countries}
LEVELLED = {"calendar": calendar, "icd9": icd9, "icd10": icd10}


def _lines(text: str, delimiter: str | None, column: str) -> Iterator[list[str]]:
    """The paths of a table, its header left out, and a column of records that `write_skeleton` made."""
    first = text.split("\n", 1)[0]
    delimiter = delimiter or next((sign for sign in (";", "\t", "|", ",") if sign in first), ";")
    cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines = [line for line in cells if any(cell.strip() for cell in line)]
    head = [cell.strip() for cell in lines[0]] if lines else []
    if all(HEADER.fullmatch(cell) or cell == RECORDS for cell in head if cell):
        counts = head.index(RECORDS) if RECORDS in head else len(head)
        yield from (line[:counts] + line[counts + 1 :] for line in lines[1:])
    else:
        yield from lines[1:] if _is_header(head, lines[1:], column) else lines


def _is_header(head: list[str], lines: list[list[str]], column: str) -> bool:
    """Whether a first line names its columns: the table's own, or no root where all others end in one."""
    below = {cell.strip() for line in lines for cell in line}
    if not lines or any(cell in below for cell in head if cell and cell != ROOT):
        return False
    if column and head[0].casefold() == column.casefold():
        return True
    ends = [next((cell.strip() for cell in reversed(line) if cell.strip()), "") for line in lines]
    return len(head) > 1 and ROOT not in head and len(ends) > 1 and all(end == ROOT for end in ends)


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
