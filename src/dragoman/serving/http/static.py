"""The files of the page: a fixed list, read once, so that no path of a client is ever opened."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dragoman.serving.http.errors import Refusal

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page."""

    data: bytes
    media_type: str
    tag: str


def files_of_page(page: str | Path) -> dict[str, PageFile]:
    """Read the files of a page by their names in its folder, and the module that all pages share."""
    package = Path(str(files("dragoman")))
    folder = package / page
    found = {}
    shared = package / "serving" / "web" / "dom.js"
    for path in [shared, *sorted(folder.rglob("*"))] if folder.is_dir() else ():
        if path.is_file() and path.suffix in _TYPES:
            data = path.read_bytes()
            tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            name = path.name if path == shared else path.relative_to(folder).as_posix()
            found[name] = PageFile(data, _TYPES[path.suffix], tag)
    return found


def page_answer(pages: Mapping[str, PageFile], name: str, request: Request) -> Response:
    """A file of the page, or 304 if the client has it. Raises Refusal for an unknown name."""
    if name not in pages:
        raise Refusal(404, "no such page")
    page = pages[name]
    headers = {"ETag": page.tag, "Cache-Control": "no-cache"}
    known = request.headers.get("if-none-match", "")
    if page.tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(page.data, headers=headers, media_type=page.media_type)


def page_routes(path: str, folder: str, first: str, *, below: str) -> list[Route]:
    """A page at a path, and below it the files of its folder, which is one of the package."""
    pages = files_of_page(folder)

    async def answer(request: Request) -> Response:
        request.scope["facts"]["route"] = below
        return page_answer(pages, request.path_params.get("name", first), request)

    return [Route(path, answer, methods=["GET"]), Route(below, answer, methods=["GET"])]
