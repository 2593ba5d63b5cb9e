"""The routes about the state of the server: alive, ready, counts, version, its own description."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from dragoman.serving.apis.endpoints import Call, Endpoint
from dragoman.serving.apis.openapi import openapi
from dragoman.serving.http.fields import TEXT, enum, structure
from dragoman.serving.http.metrics import CONTENT_TYPE
from dragoman.version import __version__


async def health(call: Call) -> Response:
    return JSONResponse({"status": "ok"})


async def ready(call: Call) -> Response:
    if call.state.ready:
        return JSONResponse({"status": "ready"})
    return JSONResponse({"status": "draining" if call.state.draining else "loading"}, 503)


async def metrics(call: Call) -> Response:
    return Response(call.state.metrics.text(), media_type=CONTENT_TYPE)


async def version(call: Call) -> Response:
    return JSONResponse({"name": "dragoman", "version": __version__})


async def description(call: Call) -> Response:
    return JSONResponse(openapi(call.state.endpoints, call.service.limits, title="dragoman"))


async def spec(call: Call) -> Response:
    """The description that clients of LibreTranslate read first. That name is a trademark of its owners."""
    title = "LibreTranslate" if call.state.settings.compat_title else "dragoman"
    return JSONResponse(openapi(call.state.endpoints, call.service.limits, title=title))


_ANY = {"type": "object"}

ENDPOINTS = (
    Endpoint(
        route="GET /health",
        answer=health,
        summary="Whether the server is alive.",
        returns=structure({"status": enum("ok")}),
        locked=False,
    ),
    Endpoint(
        route="GET /ready",
        answer=ready,
        summary="Whether the server translates: 503 until its models are loaded, and when it shuts down.",
        returns=structure({"status": enum("ready", "draining", "loading")}),
        locked=False,
    ),
    Endpoint(
        route="GET /metrics",
        answer=metrics,
        summary="Counts for Prometheus.",
        content="text/plain",
    ),
    Endpoint(
        route="GET /version",
        answer=version,
        summary="The version of the server.",
        returns=structure({"name": TEXT, "version": TEXT}),
        locked=False,
    ),
    Endpoint(
        route="GET /openapi.json",
        answer=description,
        summary="This description.",
        returns=_ANY,
        locked=False,
    ),
    Endpoint(
        route="GET /spec",
        answer=spec,
        summary="This description, for clients that look for it here.",
        returns=_ANY,
        locked=False,
    ),
)
