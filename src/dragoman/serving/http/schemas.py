"""Parts of schemas for /openapi.json (JSON Schema 2020-12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}

KEYS: Mapping[str, Schema] = {name: {"anyOf": [TEXT, {"type": "null"}]} for name in ("api_key", "auth_key")}
"""Where a key may be, beside the header."""


def array(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items, **bounds}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def optional(schema: Schema) -> Schema:
    """A value that may also be null, which is the same as to leave it out."""
    return {"anyOf": [schema, {"type": "null"}]}


def described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def structure(
    properties: Mapping[str, Schema], *, required: Sequence[str] | None = None, closed: bool = False
) -> Schema:
    """An object; by default it has all of the properties. `closed`: and no others."""
    needed = list(properties if required is None else required)
    return {
        "type": "object",
        "properties": dict(properties),
        **({"required": needed} if needed else {}),
        **({"additionalProperties": False} if closed else {}),
    }
