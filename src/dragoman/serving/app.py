"""The server as an ASGI application: the table of routes behind the guard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dragoman.base.errors import DragomanError
from dragoman.serving.apis import deepl, libretranslate, own, status
from dragoman.serving.apis.endpoints import Endpoint, ServerState, serve
from dragoman.serving.http.logs import log, place_of
from dragoman.serving.http.server import HttpServer, application
from dragoman.serving.http.static import page_routes
from dragoman.serving.page import routes

ENDPOINTS: tuple[Endpoint, ...] = (
    *libretranslate.ENDPOINTS,
    *deepl.ENDPOINTS,
    *own.ENDPOINTS,
    *routes.ENDPOINTS,
    *status.ENDPOINTS,
)
_HOW = "inspection/views/page"  # the modules that show a sentence are shared with the report
_SWEEP = 60.0  # seconds between the looks for files that have expired


def server_of(state: ServerState) -> HttpServer:
    """The process of a server. Its start warms the service up while it already answers /health."""
    state.endpoints = ENDPOINTS
    # The methods of a path share a route, so that another method is answered with 405.
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    routes = [
        *(_route(state, path, methods) for path, methods in by_path.items()),
        *page_routes("/", "serving/web", "index.html", below="/web/{name:path}"),
        *page_routes("/how", _HOW, "how.html", below="/how/{name:path}"),
    ]
    app = application(routes, lifespan=lambda _: _lifespan(state))
    seconds = state.service.limits.drain_seconds
    return HttpServer(app, state, drain_seconds=seconds, on_hangup=state.reload)


def _route(state: ServerState, path: str, methods: dict[str, Endpoint]) -> Route:
    async def answer(request: Request) -> Response:
        return await serve(methods["GET" if request.method == "HEAD" else request.method], state, request)

    return Route(path, answer, methods=list(methods))


@asynccontextmanager
async def _lifespan(state: ServerState) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(_warm_up(state)), asyncio.create_task(_sweep(state))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        state.how.close()
        await state.jobs.close()
        await state.service.drain(0)
        state.files.close()
        _save_usage(state)


async def _warm_up(state: ServerState) -> None:
    try:
        await state.service.start()
        log(logging.INFO, "ready")
    except Exception as error:
        log(logging.ERROR, "the models could not be warmed up", error=place_of(error))


async def _sweep(state: ServerState) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        state.files.sweep()
        _save_usage(state)


def _save_usage(state: ServerState) -> None:
    try:
        state.usage.save()
    except (OSError, DragomanError) as error:
        log(logging.ERROR, "the use of keys cannot be kept", error=str(error))
