"""The routes about the state of the server: alive, ready, counts, version, its own description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.http.errors import STATUSES
from dragoman.serving.http.fields import TEXT, enum, required, schema_of, schemas, structure
from dragoman.serving.http.guard import path_prefix
from dragoman.serving.http.metrics import CONTENT_TYPE
from dragoman.serving.service.limits import Limits
from dragoman.version import __version__


async def health(call: Call) -> Plain:
    return {"status": "ok"}


async def ready(call: Call) -> Plain | Response:
    if call.state.ready:
        return {"status": "ready"}
    state = "draining" if call.state.draining else "loading"
    return JSONResponse({"status": state}, 503, {"Retry-After": "2"})


async def metrics(call: Call) -> Response:
    return Response(call.state.metrics.text(), media_type=CONTENT_TYPE)


async def version(call: Call) -> Plain:
    return {"name": "dragoman", "version": __version__}


async def description(call: Call) -> Plain:
    return _described(call, "dragoman")


async def spec(call: Call) -> Plain:
    """The description that clients of LibreTranslate read first. That name is a trademark of its owners."""
    return _described(call, "LibreTranslate" if call.state.settings.compat_title else "dragoman")


def _described(call: Call, title: str) -> dict[str, Any]:
    found = openapi(call.state.endpoints, call.service.limits, title=title)
    return found | {"servers": [{"url": path_prefix(call.request, call.state.settings) or "/"}]}


ENDPOINTS = (
    Endpoint(
        "GET /health", health, "Whether the server is alive.", returns={"status": enum("ok")}, locked=False
    ),
    Endpoint(
        "GET /ready",
        ready,
        "Whether the server translates: 503 until its models are loaded, and when it shuts down.",
        returns={"status": enum("ready", "draining", "loading")},
        locked=False,
    ),
    Endpoint("GET /metrics", metrics, "Counts for Prometheus.", content="text/plain"),
    Endpoint(
        "GET /version",
        version,
        "The version of the server.",
        returns={"name": str, "version": str},
        locked=False,
    ),
    Endpoint("GET /openapi.json", description, "This description.", returns=dict, locked=False),
    Endpoint(
        "GET /spec", spec, "This description, for clients that look for it here.", returns=dict, locked=False
    ),
)


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
            "content": {
                _MEDIA[one]: {"schema": body if one == "json" else _without_null(body)}
                for one in endpoint.bodies
            },
        }
    return operation


def _without_null(schema: Any) -> Any:
    """The schema of a form, which has no null."""
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
