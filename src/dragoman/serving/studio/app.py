"""The routes of the studio: the page, its stream of news, closer looks, and attention."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dragoman.base.errors import DragomanError
from dragoman.serving.http.bodies import Budget, read_request
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Fields, choice, number, read, text, whole
from dragoman.serving.http.server import HttpServer, application
from dragoman.serving.http.settings import Settings, names_of
from dragoman.serving.http.static import page_routes
from dragoman.serving.service.limits import Limits
from dragoman.serving.studio.attention import LONGEST, available, matrix
from dragoman.serving.studio.watch import Seen, Watch, Watched, steps_of

_READERS = 32  # pages that are open at once
_BEAT = 10.0  # seconds between signs of life
_BODY = 1 << 14  # bytes of a request
_WAITING = 4  # requests for attention
_SECONDS = 10.0  # in which the body of a request must come
_DRAIN = 5.0  # seconds for open answers when the studio ends
_RUN = whole(None, least=0, most=9999)
_POINTS: Fields = {
    "run": _RUN,
    "axis": choice(("step", "seconds"), "step"),
    "most": whole(600, least=5, most=2000),
    "low": number(least=-math.inf, most=math.inf),
    "high": number(least=-math.inf, most=math.inf),
}
_ATTENTION: Fields = {
    "run": _RUN,
    "source": text(required=True, empty=True),
    "target": text(),
    "checkpoint": text(),
    "layer": whole(None, least=0, most=9999),
    "head": whole(None, least=0, most=9999),
}
Handler = Callable[[dict[str, Any]], Awaitable[Response]]


class Studio:
    """The application, and the runs it watches."""

    def __init__(
        self, paths: Sequence[Path], *, host: str = "127.0.0.1", names: Iterable[str] = (), every: float = 1.0
    ) -> None:
        """Watch folders or metrics files. `names` are host names of this server.

        Raises DataError if nothing is at a path.
        """
        self.watch = Watch(paths, every=every)
        self.settings, self.metrics = Settings(host=host, allow_open=True, names=names_of(names)), None
        self.in_flight = self.readers = self.waiting = 0
        self.draining = False
        self._bodies = Budget(_BODY * 8)
        self.app = application(
            [
                Route("/api/news", self.news),
                self._route("/api/points", self.points, _POINTS),
                Route("/api/steps", self.steps),
                self._route("/api/checkpoints", self.checkpoints, {"run": _RUN}),
                self._route("/api/attention", self.attention, _ATTENTION, method="POST"),
                *page_routes("/", "serving/web/studio", "index.html", below="/{name:path}"),
            ],
            lifespan=self._lifespan,
        )

    @property
    def idle(self) -> bool:
        return self.in_flight == 0

    async def news(self, request: Request) -> Response:
        """A stream of server-sent events: everything at first, then the news."""
        if self.readers >= _READERS:
            raise Refusal(503, "too many pages are open", retry_after=10)
        return StreamingResponse(self._stream(request), media_type="text/event-stream")

    async def points(self, asked: dict[str, Any]) -> Response:
        """The curves of a run between two places, with the detail that fits."""
        run, low, high = self._run(asked["run"]), asked["low"], asked["high"]
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        return JSONResponse(await asyncio.to_thread(run.points, asked["most"], asked["axis"], low, high))

    async def steps(self, request: Request) -> Response:
        """The steps of each pipeline that is watched, with the end of the log of those that run or failed."""
        return JSONResponse(await asyncio.to_thread(lambda: [steps_of(one) for one in self.watch.pipelines]))

    async def checkpoints(self, asked: dict[str, Any]) -> Response:
        """The checkpoints of a run that are on this machine."""
        names, reason = await asyncio.to_thread(available, self._run(asked["run"]).folder)
        return JSONResponse({"checkpoints": names, "reason": reason})

    async def attention(self, asked: dict[str, Any]) -> Response:
        """The attention of one checkpoint to a sentence, which comes in the body so that no log has it."""
        run, name = self._run(asked["run"]), asked["checkpoint"]
        source, target = asked["source"], asked["target"] or None
        if max(len(source), len(target or "")) > LONGEST:
            raise Refusal(400, f"a sentence has at most {LONGEST} characters")
        names, reason = await asyncio.to_thread(available, run.folder)
        if run.folder is None or name not in names:
            raise Refusal(404, reason or "this checkpoint no longer exists")
        if self.waiting >= _WAITING:
            raise Refusal(503, "busy with other sentences", retry_after=1)
        self.waiting += 1
        try:
            place = {"layer": asked["layer"], "head": asked["head"]}
            return JSONResponse(await asyncio.to_thread(matrix, run.folder, name, source, target, **place))
        except DragomanError as error:
            raise Refusal(400, str(error)) from error
        finally:
            self.waiting -= 1

    def _route(self, path: str, answer: Handler, fields: Fields, *, method: str = "GET") -> Route:
        async def asked(request: Request) -> Response:
            deadline = time.monotonic() + _SECONDS
            sent, held = await read_request(request, most=_BODY, budget=self._bodies, deadline=deadline)
            self._bodies.give_back(held)
            return await answer(read(fields, sent, Limits()))

        return Route(path, asked, methods=[method])

    def _run(self, number: int | None) -> Watched:
        runs = self.watch.runs
        if number is None or number >= len(runs):
            raise Refusal(404, f"run is a number below {len(runs)}")
        return runs[number]

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


def server_of(studio: Studio) -> HttpServer:
    """The process of a studio. When it stops, open pages are let go at once."""
    return HttpServer(studio.app, studio, drain_seconds=_DRAIN, on_stop=studio.watch.close)
