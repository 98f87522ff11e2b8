"""Plans from YAML files: data, never code.

A plan's keys are the fields of `Plan`. Names and values are taken as they are written, so a column called
`no` or `007` needs no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import yaml

from shoal.errors import PlanError, choices
from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Plan
from shoal.model.rule import Rule
from shoal.read.graph import read_graph
from shoal.read.hierarchy import (
    is_builder,
    parse_builder,
    read_hierarchies,
    read_hierarchy,
    tree_of_node,
)
from shoal.read.nodes import compose, plain, scalar

__all__ = ["plan_words"]

Tree = Hierarchy | Builder


def plan_words(path: str | Path) -> dict[str, object]:
    """What a plan file says: its keys and values as keywords of `Plan`, only those it names.

    For plans that leave something to others, such as k. Files of hierarchies are looked for from the plan's
    own folder.
    """
    path = Path(path)
    if not path.is_file():
        raise PlanError(f"There is no plan file {path}. Check the name and the folder.", field="plan")
    node = compose(path)
    if not isinstance(node, yaml.MappingNode):
        raise PlanError(f"{path} is not a plan: it holds no keys such as k and quasi.", field="plan")
    names = [item.name for item in fields(Plan)]
    words: dict[str, object] = {}
    for key, value in node.value:
        name = scalar(key) or ""
        if name not in names:
            raise PlanError(
                f"{path} has the key {name!r}, which no plan has. {choices(names)}", field="plan"
            )
        if scalar(value) != "" or name == "missing":  # a key left empty keeps its default
            words[name] = READERS.get(name, _text)(name, value)
    if "hierarchies" in words:
        words["hierarchies"] = _hierarchies(words["hierarchies"], path.parent, _with_trees(words))
    if "graphs" in words:
        words["graphs"] = _graphs(words["graphs"], path.parent)
    return words


def _text(name: str, node: yaml.Node) -> str:
    text = scalar(node)
    if text is None:
        raise _wrong(name, node, "one word")
    return text


def _list(name: str, node: yaml.Node) -> tuple[str, ...]:
    if isinstance(node, yaml.SequenceNode):
        texts = [scalar(item) for item in node.value]
        if None in texts:
            raise _wrong(name, node, "a list of names, without lists inside")
        return tuple(text for text in texts if text is not None)
    text = scalar(node)
    if text is None:
        raise _wrong(name, node, "a list of names")
    return (text,) if text else ()


def _rules(name: str, node: yaml.Node) -> tuple[str, ...]:
    """Rules as texts; without quotes YAML takes `diagnosis: 3-diverse` for a mapping."""
    if isinstance(node, yaml.MappingNode):
        return tuple(f"{scalar(key)}: {_text(name, value)}" for key, value in node.value)
    if not isinstance(node, yaml.SequenceNode):
        return _list(name, node)
    return tuple(text for item in node.value for text in _rules(name, item))


def _mapping(name: str, node: yaml.Node) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(name, node, "a mapping by column name")
    return {scalar(key) or "": value for key, value in node.value}


def _texts(name: str, node: yaml.Node) -> dict[str, str]:
    return {column: _text(name, value) for column, value in _mapping(name, node).items()}


def _integer(name: str, node: yaml.Node) -> int:
    text = scalar(node)
    if text is None or not re.fullmatch(r"[+-]?\d{1,18}", text.strip()):
        raise _wrong(name, node, "a whole number")
    return int(text)


def _number(name: str, node: yaml.Node) -> float:
    try:
        return float(scalar(node) or "")
    except ValueError:
        raise _wrong(name, node, "a number") from None


def _numbers(name: str, node: yaml.Node) -> dict[str, float]:
    return {column: _number(name, value) for column, value in _mapping(name, node).items()}


def _truth(name: str, node: yaml.Node) -> bool:
    text = (scalar(node) or "").lower()
    if text not in {"true", "false", "yes", "no"}:
        raise _wrong(name, node, "true or false")
    return text in {"true", "yes"}


def _options(name: str, node: yaml.Node) -> dict[str, object]:
    return {option: plain(value) for option, value in _mapping(name, node).items()}


def _trees(name: str, node: yaml.Node) -> dict[str, yaml.Node] | str:
    text = scalar(node)
    return text if text is not None else _mapping(name, node)


def _with_trees(words: dict[str, object]) -> tuple[str, ...] | None:
    """The columns whose hierarchies are wanted from a folder; None for all."""
    quasi, rules = words.get("quasi"), words.get("rules", ())
    if not isinstance(quasi, tuple) or not isinstance(rules, tuple):
        return None
    ruled = [Rule.parse(text) for text in rules]
    return (*quasi, *(rule.column for rule in ruled if rule.distance == "hierarchy"))


def _hierarchies(given: object, folder: Path, wanted: tuple[str, ...] | None) -> dict[str, Tree]:
    if isinstance(given, str):
        return dict(read_hierarchies(folder / given, only=wanted))
    assert isinstance(given, dict), "hierarchies are a folder or a mapping"
    trees: dict[str, Tree] = {}
    for column, node in given.items():
        text = scalar(node)
        if text is None:
            trees[column] = tree_of_node(node, column=column)
        elif not text:
            raise PlanError(
                f"The hierarchy of column {column!r} is empty. Give a file, a builder or a tree.",
                field="hierarchies",
                column=column,
            )
        elif is_builder(text):
            trees[column] = parse_builder(text)
        else:
            trees[column] = read_hierarchy(folder / text, column=column)
    return trees


def _graphs(given: object, folder: Path) -> dict[str, Graph]:
    assert isinstance(given, dict), "graphs are a mapping"
    graphs: dict[str, Graph] = {}
    for column, node in given.items():
        files = plain(node)
        named = {"edges": files} if isinstance(files, str) else files
        if not isinstance(named, dict) or not all(
            isinstance(file, str) and file for file in named.values()
        ):
            raise PlanError(
                f"The graph of column {column!r} must be a file of edges, or name files of edges and "
                "nodes.",
                field="graphs",
                column=column,
            )
        graphs[column] = read_graph({word: folder / str(file) for word, file in named.items()})
    return graphs


def _wrong(name: str, node: yaml.Node, wanted: str) -> PlanError:
    return PlanError(
        f"The plan's key {name!r}, in line {node.start_mark.line + 1}, must be {wanted}.", field=name
    )


READERS: dict[str, Callable[[str, yaml.Node], object]] = {
    "quasi": _list,
    "sensitive": _list,
    "keep": _list,
    "identifier": _list,
    "missing": _list,
    "rules": _rules,
    "kinds": _texts,
    "hierarchies": _trees,
    "graphs": _mapping,
    "weights": _numbers,
    "options": _options,
    "k": _integer,
    "seed": _integer,
    "threads": _integer,
    "part": _integer,
    "withhold": _number,
    "stop_at": _number,
    "improve": _truth,
}
