"""Facts as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from typing import Any

from shoal.cli.terminal import shows_all

__all__ = ["print_json"]


def print_json(facts: Mapping[str, Any]) -> None:
    """Facts as JSON, which knows neither infinity nor our values."""
    escaped = not shows_all(sys.stdout)
    print(json.dumps(_plain(facts), indent=2, ensure_ascii=escaped, allow_nan=False))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
