"""JSON Schemas (draft 2020-12) of what Shoal writes and reads, made from the code.

    python docs/make.py

A certificate and a receipt are described by their dataclasses, a plan file by the fields of a plan. Fields
that a newer minor version may add are allowed; a plan file has no other key than those of a plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from shoal.group import METHODS
from shoal.model.as_run import AsRun
from shoal.model.certificate import VERSION, Certificate
from shoal.model.column import KINDS
from shoal.model.fields import FIELDS, NAMES, NUMBER, SWITCH, TABLE, WHOLE, Field
from shoal.model.meanings import MEANINGS
from shoal.model.plan import HEAVIEST, LIGHTEST
from shoal.model.receipt import VERSION as RECEIPT_VERSION
from shoal.model.receipt import Receipt
from shoal.model.verdict import ColumnLoss

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
    object: {},
}
DIGEST = {"pattern": "^[0-9a-f]{64}$"}
CLOSER: dict[tuple[type, str], Schema] = {
    (Certificate, "version"): {"pattern": rf"^{VERSION.partition('.')[0]}\.[0-9]+$"},
    (Certificate, "k"): {"minimum": 2},
    (Certificate, "style"): {"enum": list(FIELDS["style"].choices)},
    (Certificate, "ratio"): {"minimum": 1},
    (Certificate, "factor"): {"minimum": 1},
    (Certificate, "loss_percent"): {"maximum": 100},
    (Certificate, "told_apart_percent"): {"maximum": 100},
    (ColumnLoss, "told_apart"): {"maximum": 1},
    (Certificate, "release"): DIGEST,
    (Certificate, "original"): DIGEST,
    (Receipt, "version"): {"pattern": rf"^{RECEIPT_VERSION.partition('.')[0]}\.[0-9]+$"},
    (Receipt, "salt"): DIGEST,
    (Receipt, "original"): DIGEST,
    (Receipt, "release"): DIGEST,
    (Receipt, "certificate"): DIGEST,
}
"""What is known of a field besides its type."""
LIMITS: dict[str, Schema] = {
    "k": {"minimum": 2},
    "seed": {"minimum": 0},
    "threads": {"minimum": 0},
    "withhold": {"minimum": 0, "exclusiveMaximum": 1},
    "stop_at": {"minimum": 1},
    "method": {"enum": ["auto", *METHODS]},
}
WORD = {"type": ["string", "number", "boolean"]}
"""A word or a name, which a plan file need not quote: `007` and `no` are names there."""
INSIDE: dict[str, Schema] = {
    "kinds": {"type": "string", "pattern": rf"^\s*({'|'.join(KINDS)})\s*(\(.*\))?\s*$"},
    "hierarchies": {"type": ["string", "object", "array"]},
    "graphs": {
        "anyOf": [
            {"type": "string"},
            {"type": "object", "properties": {"edges": {"type": "string"}, "nodes": {"type": "string"}}},
        ]
    },
    "weights": {
        "anyOf": [{"const": 0}, {"type": "number", "minimum": LIGHTEST, "maximum": HEAVIEST}],
    },
    "options": {},
}
"""What stands in the mappings of a plan file, by column or option."""


def value_schema(kind: Any, defs: dict[str, Schema]) -> Schema:
    """The schema of a dataclass; those inside it go to `defs`."""
    hints = get_type_hints(kind)
    written = [item for item in fields(kind) if item.name != "unread"]
    planned = {name: field.meaning for name, field in FIELDS.items()} if kind is AsRun else {}
    meanings = {**planned, **MEANINGS[kind]}
    properties = {
        item.name: {
            "description": meanings[item.name],
            **_of_hint(hints[item.name], defs),
            **CLOSER.get((kind, item.name), {}),
        }
        for item in written
    }
    must = [
        item.name
        for item in written
        if item.name == "version" or (item.default is MISSING and item.default_factory is MISSING)
    ]
    return {"type": "object", "properties": properties, "required": must}


def _of_hint(hint: Any, defs: dict[str, Schema]) -> Schema:
    origin, inside = get_origin(hint), get_args(hint)
    if origin is UnionType:
        (known,) = (one for one in inside if one is not NoneType)
        schema = _of_hint(known, defs)
        if isinstance(schema.get("type"), str):
            return schema | {"type": [schema["type"], "null"]}
        return {"anyOf": [schema, {"type": "null"}]}
    if is_dataclass(hint):
        assert isinstance(hint, type)
        if hint.__name__ not in defs:
            defs[hint.__name__] = {}
            defs[hint.__name__] = value_schema(hint, defs)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is tuple and inside[-1] is Ellipsis:
        return {"type": "array", "items": _of_hint(inside[0], defs)}
    if origin is tuple:
        items = [_of_hint(one, defs) for one in inside]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of_hint(inside[1], defs)}
    return dict(PLAIN[hint])


def _file(kind: type, title: str) -> str:
    defs: dict[str, Schema] = {}
    schema = value_schema(kind, defs)
    schema["properties"]["replaces"] = {
        "description": "of the older release, while its table is being replaced",
        "$ref": "#",
    }
    return _text({"$schema": DRAFT, "title": title, **schema, "$defs": defs})


def certificate() -> str:
    """The schema of a certificate."""
    return _file(Certificate, "A certificate of Shoal")


def receipt() -> str:
    """The schema of a receipt."""
    return _file(Receipt, "A receipt of Shoal: private")


def plan() -> str:
    """The schema of a plan file; a key that is left empty keeps its default."""
    properties = {name: _of_field(field) for name, field in FIELDS.items()}
    return _text(
        {
            "$schema": DRAFT,
            "title": "A plan of Shoal",
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }
    )


def _of_field(field: Field) -> Schema:
    taken = _taken(field)
    several = taken.pop("anyOf", None) or [taken]
    text = f"{field.meaning} Default: {field.default}." if field.default else field.meaning
    example = yaml.safe_load(field.example)
    return {"description": text, "examples": [example], "anyOf": [*several, {"type": "null"}]}


def _taken(field: Field) -> Schema:
    limits = LIMITS.get(field.name, {})
    if field.takes == WHOLE:
        return {"type": "integer", **limits}
    if field.takes == NUMBER:
        return {"type": "number", **limits}
    if field.takes == SWITCH:
        return {"enum": [True, False, "yes", "no"]}
    if field.takes == NAMES:
        forms: list[Schema] = [WORD, {"type": "array", "items": WORD}]
        if field.name == "rules":  # without quotes YAML takes `diagnosis: 3-diverse` for a mapping
            mapping = {"type": "object", "additionalProperties": {"type": "string"}}
            forms = [WORD, mapping, {"type": "array", "items": {"anyOf": [WORD, mapping]}}]
        return {"anyOf": forms}
    if field.takes == TABLE:
        mapping = {"type": "object", "additionalProperties": INSIDE[field.name]}
        folder = [{"type": "string"}] if field.name == "hierarchies" else []
        return {"anyOf": [mapping, *folder]}
    return {"enum": list(field.choices)} if field.choices else {**WORD, **limits}


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


SCHEMAS: dict[str, Callable[[], str]] = {
    "schema/certificate.json": certificate,
    "schema/receipt.json": receipt,
    "schema/plan.json": plan,
}


def fields_table(kind: type) -> str:
    """What the fields of a value mean, as a table of a page."""
    lines = [f"| `{name}` | {meaning} |\n" for name, meaning in MEANINGS[kind].items()]
    return "".join(["| field | meaning |\n", "| --- | --- |\n", *lines])
