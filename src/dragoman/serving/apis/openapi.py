"""The description of the server for programs: OpenAPI 3.1, from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dragoman.serving.apis.endpoints import Endpoint
from dragoman.serving.http.errors import STATUSES
from dragoman.serving.http.fields import TEXT, Schema, enum, required, schema_of, schemas, structure
from dragoman.serving.service.limits import Limits
from dragoman.version import __version__

_MEDIA = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
}
_ERRORS = {
    "libretranslate": ("application/json", {"error": str}),
    "deepl": ("application/json", {"message": str}),
    "native": (
        "application/problem+json",
        {"type": str, "title": str, "status": int, "detail": str, "field?": str},
    ),
}


def openapi(endpoints: Sequence[Endpoint], limits: Limits, *, title: str) -> dict[str, Any]:
    """Return the description of these routes."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, limits)
    keys = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "deepl": {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "DeepL-Auth-Key KEY",
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": __version__,
            "description": f"A private translation server. A request has at most {limits.texts} texts, "
            f"{limits.characters:,} characters and {limits.body_bytes:,} bytes.",
        },
        "paths": paths,
        "components": {"securitySchemes": keys},
    }


def _operation(endpoint: Endpoint, limits: Limits) -> dict[str, Any]:
    fields, needed = schemas(endpoint.fields, limits), required(endpoint.fields)
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()} {endpoint.path}",
        "tags": [endpoint.family],
        "responses": _responses(endpoint),
    }
    if endpoint.locked:
        operation["security"] = [{}, {"bearer": []}, {"deepl": []}]
    named = [
        {"name": name, "in": "path", "required": True, "schema": TEXT}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    if not endpoint.bodies:
        named += [
            {"name": name, "in": "query", "required": name in needed, "schema": schema}
            for name, schema in fields.items()
        ]
    if named:
        operation["parameters"] = named
    if endpoint.bodies:
        body = structure(fields, required=needed, closed=endpoint.closed)
        operation["requestBody"] = {
            "required": bool(needed),
            "content": {_MEDIA[one]: {"schema": _of_body(body, one)} for one in endpoint.bodies},
        }
    return operation


def _of_body(schema: Schema, body: str) -> Schema:
    """The schema of a body. In a form there is no null."""
    return schema if body == "json" else _without_null(schema)


def _without_null(schema: Any) -> Any:
    if isinstance(schema, dict):
        if "anyOf" in schema:
            kept = [_without_null(one) for one in schema["anyOf"] if one != {"type": "null"}]
            rest = {name: value for name, value in schema.items() if name != "anyOf"}
            return {**rest, **kept[0]} if len(kept) == 1 else {**rest, "anyOf": kept}
        return {name: _without_null(value) for name, value in schema.items()}
    return schema


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    content: dict[str, Any] = {endpoint.content: {"schema": schema_of(endpoint.returns)}}
    if endpoint.path == "/v1/translate":
        event = {"event": enum("segment", "done", "error"), "data": str}
        content["text/event-stream"] = {"schema": schema_of(event)}
    responses: dict[str, Any] = {"200": {"description": "The answer.", "content": content}}
    if endpoint.path == "/ready":
        responses["503"] = {"description": "Not ready.", "content": content}
    media, shape = _ERRORS[endpoint.family]
    error = {media: {"schema": schema_of(shape)}}
    for status in endpoint.statuses:
        responses[str(status)] = {"description": STATUSES[status][1], "content": error}
    return responses
