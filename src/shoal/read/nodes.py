"""YAML as data: names stay as they are written, and nothing is run, repeated or doubled."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

import yaml

from shoal.errors import PlanError

__all__ = ["compose", "plain", "scalar"]

MOST_DEPTH = 100
MOST_BYTES = 64 * 2**20


def compose(path: Path) -> yaml.Node:
    """The one document of a YAML file, with doubled keys and references refused."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PlanError(f"{path} is larger than {MOST_BYTES // 2**20} MB. Is it a plan or a hierarchy?")
        raw = path.read_bytes()
        # what PowerShell's > writes has a mark of UTF-16 in front
        text = raw.decode("utf-16" if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except OSError as error:
        raise PlanError(f"{path} cannot be opened: {error.strerror or 'unknown reason'}.") from None
    except UnicodeError:
        raise PlanError(f"{path} is not written in UTF-8. Write it again in UTF-8.") from None
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:  # whose text quotes the file: a table, given by mistake
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise PlanError(f"{path} is not YAML: there is a mistake{line}.") from None
    except (yaml.YAMLError, RecursionError):
        raise PlanError(f"{path} is not YAML.") from None
    if node is None:
        raise PlanError(f"{path} is empty.")
    _check(node, path, set(), 0)
    return node


def scalar(node: yaml.Node) -> str | None:
    """The text of a single value as it is written, "" where there is none; None for lists and mappings."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    if node.style is None and node.value in {"~", "null", "Null", "NULL"}:
        return ""
    return str(node.value)


def plain(node: yaml.Node) -> object:
    """The value of a node with YAML's own types: numbers, true and false, texts, lists, mappings."""
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, TypeError):
        raise PlanError(f"Line {node.start_mark.line + 1} holds a value that cannot be read.") from None
    finally:
        loader.dispose()


def _check(node: yaml.Node, path: Path, seen: set[int], depth: int) -> None:
    line = node.start_mark.line + 1
    if depth > MOST_DEPTH:
        raise PlanError(f"{path}, line {line}: nested more than {MOST_DEPTH} deep.")
    if isinstance(node, yaml.ScalarNode):
        return
    if id(node) in seen:
        raise PlanError(f"{path}, line {line}: write this part out; references (& and *) are not read.")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check(item, path, seen, depth + 1)
        return
    keys: set[str] = set()
    for key, value in node.value:
        name = scalar(key)
        if name is None:
            raise PlanError(f"{path}, line {line}: a name here is a list or a mapping. Write a plain name.")
        if name in keys:
            at = key.start_mark.line + 1
            raise PlanError(f"{path}, line {at}: the name {name!r} stands twice. Keep one.")
        keys.add(name)
        _check(value, path, seen, depth + 1)
