"""The context of a release from a YAML file: purpose, recipients, and what else only people know."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from shoal.errors import PlanError, choices
from shoal.model.report import Context
from shoal.read.nodes import compose, scalar

__all__ = ["read_context"]

NUMBERS = ("threshold", "sampling")


def read_context(path: str | os.PathLike[str]) -> Context:
    """Read a context file: its keys are the fields of `Context`; one without a value is left blank."""
    path = Path(path)
    if not path.is_file():
        raise PlanError(f"There is no context file {path}. Check the name and the folder.")
    node = compose(path)
    if not isinstance(node, yaml.MappingNode):
        raise PlanError(f"{path} is no context: it holds no keys such as purpose and recipients.")
    names = [item.name for item in fields(Context)]
    words: dict[str, Any] = {}
    for key, value in node.value:
        name = scalar(key) or ""
        if name not in names:
            raise PlanError(f"{path} has the key {name!r}, which no context has. {choices(names)}")
        if name == "confirmed" and isinstance(value, yaml.SequenceNode):
            words[name] = tuple(scalar(item) or "" for item in value.value)
            continue
        text = scalar(value)
        if text is None:
            raise PlanError(
                f"The context's key {name!r}, in line {key.start_mark.line + 1}, must be one text."
            )
        if text:
            words[name] = (
                _number(name, text) if name in NUMBERS else (text,) if name == "confirmed" else text
            )
    return Context(**words)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PlanError(f"The context's {name} is {text!r}. Give a number above 0 and at most 1.") from None
