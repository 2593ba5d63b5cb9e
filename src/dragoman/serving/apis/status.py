"""The routes that say how the server is: alive, ready, counts, version, its own description."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.apis.openapi import openapi
from dragoman.serving.http.fields import enum
from dragoman.serving.http.metrics import CONTENT_TYPE
from dragoman.version import __version__


async def health(call: Call) -> Plain:
    return {"status": "ok"}


async def ready(call: Call) -> Plain | Response:
    if call.state.ready:
        return {"status": "ready"}
    return JSONResponse({"status": "draining" if call.state.draining else "loading"}, 503)


async def metrics(call: Call) -> Response:
    return Response(call.state.metrics.text(), media_type=CONTENT_TYPE)


async def version(call: Call) -> Plain:
    return {"name": "dragoman", "version": __version__}


async def description(call: Call) -> Plain:
    return openapi(call.state.endpoints, call.service.limits, title="dragoman")


async def spec(call: Call) -> Plain:
    """What clients of LibreTranslate read first. That name is a trademark of its owners."""
    title = "LibreTranslate" if call.state.settings.compat_title else "dragoman"
    return openapi(call.state.endpoints, call.service.limits, title=title)


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
        "GET /spec",
        spec,
        "This description, for clients that look for it here.",
        returns=dict,
        locked=False,
    ),
)
