"""A plan as the text of a plan file, which reads back as the same plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from shoal.errors import PlanError
from shoal.model.hierarchy import Builder
from shoal.model.outline import Branch, branches_of

if TYPE_CHECKING:
    from shoal.model.plan import Plan

__all__ = ["yaml_of"]


def yaml_of(plan: Plan) -> str:
    """YAML with every field that is not as it would be without a word; trees are written out."""
    import yaml

    if plan.graphs:
        raise PlanError(
            "A plan with graphs is not written as text: it names their files, which only you know.",
            field="graphs",
        )
    words: dict[str, Any] = {}
    for item in fields(plan):
        value = getattr(plan, item.name)
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if value != default:
            words[item.name] = _plain(value)
    text: str = yaml.safe_dump(words, sort_keys=False, allow_unicode=True, width=100)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Builder):
        return value.text
    if hasattr(value, "leaves"):
        return _nested(branches_of(value))
    return value


def _nested(branches: tuple[Branch, ...]) -> Any:
    if not any(branch.below for branch in branches):
        return [branch.name for branch in branches]
    return {branch.name: _nested(branch.below) if branch.below else None for branch in branches}
