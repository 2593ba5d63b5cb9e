"""The server as an ASGI application: the table of routes behind what every request passes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dragoman.serving.apis import deepl, deepl_documents, libretranslate
from dragoman.serving.apis import own as native
from dragoman.serving.apis import status as state
from dragoman.serving.apis.endpoints import Desk, Endpoint, serve
from dragoman.serving.http.errors import Refusal, family_of, refused
from dragoman.serving.http.guard import Front
from dragoman.serving.http.logs import log, place_of
from dragoman.serving.http.static import files_of_page, page_answer
from dragoman.serving.page import how
from dragoman.serving.page import routes as page

ENDPOINTS: tuple[Endpoint, ...] = (
    *libretranslate.ENDPOINTS,
    *deepl.ENDPOINTS,
    *deepl_documents.ENDPOINTS,
    *native.ENDPOINTS,
    *page.ENDPOINTS,
    *how.ENDPOINTS,
    *state.ENDPOINTS,
)
_HOW = "inspection/page"  # the modules that show a sentence are those of the report
_SWEEP = 60.0  # seconds between the looks for files that have expired


def create_app(desk: Desk) -> ASGIApp:
    """Return the application. Its start warms the service up while it already answers /health."""
    desk.endpoints = ENDPOINTS
    app = Starlette(
        routes=[*_routes(desk), *_page("/", "web", "index.html"), *_page("/how", _HOW, "how.html")],
        exception_handlers={HTTPException: _not_served},
        lifespan=lambda _: _lifespan(desk),
    )
    app.router.redirect_slashes = False
    return Front(app, desk)


def _routes(desk: Desk) -> list[Route]:
    """A route for each path: its methods share it, so that another method is answered with 405."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [_route(desk, path, methods) for path, methods in by_path.items()]


def _route(desk: Desk, path: str, methods: dict[str, Endpoint]) -> Route:
    async def answer(request: Request) -> Response:
        return await serve(methods["GET" if request.method == "HEAD" else request.method], desk, request)

    return Route(path, answer, methods=list(methods))


def _page(path: str, folder: str, first: str) -> list[Route]:
    """A page at a path, whose files are those of a folder of the package."""
    pages = files_of_page(folder)
    below = f"{path.rstrip('/') or '/web'}/{{name:path}}"

    async def answer(request: Request) -> Response:
        request.scope["facts"]["route"] = below
        try:
            return page_answer(pages, request.path_params.get("name", first), request)
        except Refusal as refusal:
            return refused(refusal, "libretranslate")

    return [Route(path, answer, methods=["GET"]), Route(below, answer, methods=["GET"])]


async def _not_served(request: Request, error: Exception) -> Response:
    """The answer for a path or a method that is not in the table."""
    missing = error if isinstance(error, HTTPException) else HTTPException(500)
    text = "Not found" if missing.status_code == 404 else "Method not allowed"
    answer = refused(Refusal(missing.status_code, text), family_of(request.scope["path"]))
    answer.headers.update(missing.headers or {})
    return answer


@asynccontextmanager
async def _lifespan(desk: Desk) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(_warm_up(desk)), asyncio.create_task(_sweep(desk))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        desk.how.close()
        await desk.jobs.close()
        await desk.service.drain(0)
        desk.shelf.close()


async def _warm_up(desk: Desk) -> None:
    try:
        await desk.service.start()
        log(logging.INFO, "ready")
    except Exception as error:
        log(logging.ERROR, "the models could not be warmed up", error=place_of(error))


async def _sweep(desk: Desk) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        desk.shelf.sweep()
