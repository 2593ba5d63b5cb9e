"""The routes of the studio: the page, its stream of news, closer looks, and attention."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dragoman.base.errors import DragomanError
from dragoman.serving.studio.attention import LONGEST, Attentions, available
from dragoman.serving.studio.guard import Guard
from dragoman.serving.studio.series import Axis
from dragoman.serving.studio.watch import Seen, Watch, Watched

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_READERS = 32  # pages that are open at once
_BEAT = 10.0  # seconds between signs of life
_MOST_POINTS = 2000
_BODY = 1 << 14  # bytes of a request
_WAITING = 4  # requests for attention


class Studio:
    """The application, and the runs it watches."""

    def __init__(self, paths: Sequence[Path], *, host: str = "127.0.0.1", every: float = 1.0) -> None:
        """Watch folders or metrics files. Raises DataError if nothing is at a path."""
        self.watch = Watch(paths, every=every)
        self.attentions = Attentions()
        self.readers = self.waiting = 0
        self.app = Starlette(
            routes=[
                *(Route(f"/{name}", _file(*content)) for name, content in _page().items()),
                Route("/api/news", self.news),
                Route("/api/points", self.points),
                Route("/api/checkpoints", self.checkpoints),
                Route("/api/attention", self.attention, methods=["POST"]),
            ],
            middleware=[Middleware(Guard, host=host)],
            exception_handlers={HTTPException: _refused, DragomanError: _explained},
            lifespan=self._lifespan,
        )

    async def news(self, request: Request) -> Response:
        """A stream of server-sent events: everything at first, then what is new."""
        if self.readers >= _READERS:
            raise HTTPException(503, "too many pages are open")
        return StreamingResponse(self._stream(request), media_type="text/event-stream")

    async def points(self, request: Request) -> Response:
        """The curves of a run between two places, with the detail that fits."""
        query = request.query_params
        axis = query.get("axis", "step")
        try:
            most = int(query.get("most", "600"))
            low, high = float(query.get("low", "-inf")), float(query.get("high", "inf"))
        except ValueError as error:
            raise HTTPException(400, "most, low and high are numbers") from error
        if math.isnan(low) or math.isnan(high) or axis not in ("step", "seconds"):
            raise HTTPException(400, "axis is step or seconds, and its ends are numbers")
        if not 5 <= most <= _MOST_POINTS:
            raise HTTPException(400, f"most is from 5 to {_MOST_POINTS}")
        run = self._run(query.get("run"))
        return JSONResponse(await asyncio.to_thread(run.points, most, cast(Axis, axis), low, high))

    async def checkpoints(self, request: Request) -> Response:
        """The checkpoints of a run that are on this machine."""
        run = self._run(request.query_params.get("run"))
        names, reason = await asyncio.to_thread(available, run.folder)
        return JSONResponse({"checkpoints": names, "reason": reason})

    async def attention(self, request: Request) -> Response:
        """The attention of one checkpoint to a sentence, which comes in the body: no log has it."""
        table = await _table(request)
        run = self._run(str(table.get("run")))
        source, target, name = table.get("source"), table.get("target"), table.get("checkpoint")
        layer, head = table.get("layer"), table.get("head")
        if not isinstance(source, str) or not (target is None or isinstance(target, str)):
            raise HTTPException(400, "source is a text, and target a text or null")
        if max(len(source), len(target or "")) > LONGEST:
            raise HTTPException(400, f"a sentence has at most {LONGEST} characters")
        if not all(value is None or type(value) is int for value in (layer, head)):
            raise HTTPException(400, "layer and head are numbers or null")
        names, reason = await asyncio.to_thread(available, run.folder)
        if run.folder is None or name not in names:
            raise HTTPException(404, reason or "this checkpoint is gone")
        if self.waiting >= _WAITING:
            raise HTTPException(503, "busy with other sentences")
        self.waiting += 1
        try:
            matrix = self.attentions.matrix
            table = await asyncio.to_thread(
                matrix, run.folder, str(name), source, target or None, layer=layer, head=head
            )
        finally:
            self.waiting -= 1
        return JSONResponse(table)

    def _run(self, number: str | None) -> Watched:
        runs = self.watch.runs
        if number is None or not number.isdecimal() or len(number) > 4 or int(number) >= len(runs):
            raise HTTPException(404, f"run is a number below {len(runs)}")
        return runs[int(number)]

    async def _stream(self, request: Request) -> AsyncIterator[str]:
        self.readers += 1
        seen: list[Seen | None] = [None] * len(self.watch.runs)
        try:
            yield "retry: 2000\n\n"
            while not self.watch.closed and not await request.is_disconnected():
                bell = self.watch.bell  # taken first, so that no news is missed meanwhile
                news = await asyncio.to_thread(self.watch.news, seen)
                seen = [one.pop("seen") for one in news]
                yield f"data: {json.dumps(news, allow_nan=False)}\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(bell.wait(), _BEAT)
        finally:
            self.readers -= 1

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(self.watch.keep_looking())
        yield
        looking.cancel()


def _page() -> dict[str, tuple[bytes, str]]:
    """The files of the page by their paths. No other file can be asked for."""
    folder = files("dragoman") / "web" / "studio"
    found = {
        one.name: (one.read_bytes(), _TYPES[one.name[one.name.rindex(".") :]])
        for one in folder.iterdir()
        if one.name.endswith(tuple(_TYPES))
    }
    return {"": found.pop("index.html"), **found}


def _file(content: bytes, kind: str) -> Any:
    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


async def _table(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "send application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _BODY:
            raise HTTPException(413, f"at most {_BODY} bytes")
    try:
        table = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "this is not JSON") from error
    if not isinstance(table, dict):
        raise HTTPException(400, "send an object")
    return table


async def _refused(request: Request, error: Exception) -> Response:
    refusal = cast(HTTPException, error)
    return JSONResponse({"error": refusal.detail}, refusal.status_code)


async def _explained(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)
