"""How a translation came about, for a browser: the page of `dragoman inspect`, with interventions.

    GET /how          the page; GET /how/NAME: its modules and styles, those of the report
    GET /v1/how       the models, their heads, and the limits; 404 without PyTorch
    POST /v1/how      {text, source, target, interventions, options}: the data of the report, for the
                      untouched run and for the changed one

`inspecting.py` does the work.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as HttpRoute

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.pytorch import has_pytorch
from dragoman.serving.errors import Late, Overloaded, TooLong
from dragoman.serving.inspecting import SECONDS, How, NoPyTorch, Translators

_BODY = 2**16  # bytes
_MEDIA = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def how_routes(translators: Translators, *, seconds: float = SECONDS) -> list[HttpRoute]:
    """Return the routes. `translators` may get more entries later.

    They check no key: a server with keys puts its own check before `/v1/how`.
    """
    how = How(translators, seconds=seconds)

    async def about(request: Request) -> Response:
        if not has_pytorch():
            return _problem(404, "this server has no PyTorch, so it shows no model from inside")
        return JSONResponse(how.about(), headers={"Cache-Control": "no-store"})

    async def answer(request: Request) -> Response:
        table = await _body(request)
        return JSONResponse(await how.answer(table), headers={"Cache-Control": "no-store"})

    async def page(request: Request) -> Response:
        return _sent(request, "how.html")

    async def file(request: Request) -> Response:
        return _sent(request, request.path_params["name"])

    return [
        HttpRoute("/how", page),
        HttpRoute("/how/{name}", file),
        HttpRoute("/v1/how", about, methods=["GET"]),
        HttpRoute("/v1/how", _explaining(answer), methods=["POST"]),
    ]


async def _body(request: Request) -> object:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _BODY:
            raise TooLong(f"a request of more than {_BODY:,} bytes", hint="send less")
    try:
        table = json.loads(body)
        json.dumps(table, ensure_ascii=False).encode()  # half a surrogate pair is no text
        return table
    except (ValueError, RecursionError):
        raise ConfigError("the body is not JSON", hint="send a JSON object") from None


def _explaining(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The handler, with errors as problem+json (RFC 9457)."""

    async def explained(request: Request) -> Response:
        try:
            return await answer(request)
        except DragomanError as error:
            text = f"{error}: {error.hint}" if error.hint else str(error)
            match error:
                case NoPyTorch():
                    return _problem(501, text)
                case TooLong():
                    return _problem(413, text)
                case Overloaded():
                    return _problem(429, text, {"Retry-After": str(max(1, round(error.retry_after)))})
                case Late():
                    return _problem(504, text)
                case ConfigError() | DataError():
                    return _problem(400, text)
            return _problem(500, "the model could not be inspected")

    return explained


_TITLES = {
    400: "Bad request",
    404: "Not found",
    413: "Request too large",
    429: "Too many requests",
    500: "Internal error",
    501: "Not possible here",
    504: "Deadline passed",
}


def _problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    table = {"type": "about:blank", "title": _TITLES[status], "status": status, "detail": detail}
    sent = {"Cache-Control": "no-store", **(headers or {})}
    return JSONResponse(table, status, sent, media_type="application/problem+json")


@cache
def _page_files() -> dict[str, tuple[bytes, str, str]]:
    """Content, type and tag of each file, by name. A name that a client sends is only looked up here.

    Not through dragoman.inspection, which needs PyTorch.
    """
    found = {}
    for one in (files("dragoman") / "inspection" / "page").iterdir():
        if media := _MEDIA.get(one.name.rpartition(".")[2]):
            content = one.read_bytes()
            found[one.name] = content, media, f'"{sha256(content).hexdigest()[:32]}"'
    return found


def _sent(request: Request, name: str) -> Response:
    if name not in _page_files():
        return _problem(404, "there is no such file")
    content, media, tag = _page_files()[name]
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers |= {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}
    return Response(content, headers=headers, media_type=media)
