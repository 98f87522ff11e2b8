"""Where the verbs run."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from shoal.errors import MissingExtra, PlanError, choices

__all__ = ["ENGINES", "load"]

ENGINES = ("local",)


def load(name: str) -> ModuleType:
    """The engine's module: encode, group, recode, check, bound."""
    if name not in ENGINES:
        raise PlanError(f"There is no engine {name!r}. {choices(ENGINES)}")
    try:
        return import_module(f"shoal.engines.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("shoal"):
            raise
        raise MissingExtra(error.name, extra=name) from None
