"""As much of JSON Schema (draft 2020-12) as our schemas use; any other keyword is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TYPES = {
    "object": lambda x: isinstance(x, dict),
    "array": lambda x: isinstance(x, list),
    "string": lambda x: isinstance(x, str),
    "boolean": lambda x: isinstance(x, bool),
    "null": lambda x: x is None,
    "integer": lambda x: isinstance(x, int) and not isinstance(x, bool),
    "number": lambda x: isinstance(x, int | float) and not isinstance(x, bool),
}
LIMITS = {
    "minimum": lambda x, limit: x >= limit,
    "maximum": lambda x, limit: x <= limit,
    "exclusiveMaximum": lambda x, limit: x < limit,
}


def faults(value: Any, schema: Any, root: dict[str, Any] | None = None, at: str = "") -> Iterator[str]:
    """Where a value is not what a schema says, and by which keyword."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        if not schema:
            yield f"{at}: nothing may stand here"
        return
    for word, said in schema.items():
        match word:
            case "$schema" | "title" | "description" | "examples" | "$defs":
                pass
            case "$ref":
                yield from faults(value, _found(said, root), root, at)
            case "type":
                if not any(TYPES[one](value) for one in ([said] if isinstance(said, str) else said)):
                    yield f"{at}: type"
            case "enum":
                if not any(
                    one == value and isinstance(one, bool) == isinstance(value, bool) for one in said
                ):
                    yield f"{at}: enum"
            case "const":
                if isinstance(value, bool) or value != said:
                    yield f"{at}: const"
            case "pattern":
                if isinstance(value, str) and not re.search(said, value):
                    yield f"{at}: pattern"
            case "minimum" | "maximum" | "exclusiveMaximum":
                if TYPES["number"](value) and not LIMITS[word](value, said):
                    yield f"{at}: {word}"
            case "anyOf":
                if all(any(faults(value, one, root, at)) for one in said):
                    yield f"{at}: anyOf"
            case "required":
                lacking = [name for name in said if name not in value] if isinstance(value, dict) else []
                yield from (f"{at}.{name}: required" for name in lacking)
            case "properties":
                for name in said.keys() & (value.keys() if isinstance(value, dict) else ()):
                    yield from faults(value[name], said[name], root, f"{at}.{name}")
            case "additionalProperties":
                for name in value if isinstance(value, dict) else ():
                    if name not in schema.get("properties", {}):
                        yield from faults(value[name], said, root, f"{at}.{name}")
            case "items":
                for place, one in enumerate(value if isinstance(value, list) else ()):
                    yield from faults(one, said, root, f"{at}.{place}")
            case "prefixItems":
                for place, one in enumerate(value[: len(said)] if isinstance(value, list) else ()):
                    yield from faults(one, said[place], root, f"{at}.{place}")
            case "minItems" | "maxItems":
                few = isinstance(value, list) and (
                    len(value) < said if word == "minItems" else len(value) > said
                )
                if few:
                    yield f"{at}: {word}"
            case _:
                raise NotImplementedError(word)


def _found(reference: str, root: dict[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found[step]
    return found


def strange(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """The fields of a value that a schema does not name, where it allows others."""
    if "$ref" in schema:
        schema = _found(schema["$ref"], root)
    for one in schema.get("anyOf", ()):
        if not any(faults(value, one, root)):
            yield from strange(value, one, root, at)
    if isinstance(value, list) and "items" in schema:
        for one in value:
            yield from strange(one, schema["items"], root, at)
    if isinstance(value, dict) and "properties" in schema:
        for name, one in value.items():
            if name in schema["properties"]:
                yield from strange(one, schema["properties"][name], root, f"{at}.{name}")
            else:
                yield f"{at}.{name}"
