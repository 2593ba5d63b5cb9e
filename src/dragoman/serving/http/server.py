"""An HTTP server of ours: its application, its socket, its connections, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.base.ctrl_c_at_start import handling
from dragoman.base.errors import ConfigError
from dragoman.serving.http.errors import STATUSES, Refusal, family_of, refused
from dragoman.serving.http.guard import Guard, Served

_PATIENCE = 30.0  # seconds for the head of a request to come, and for an answer to be taken on
_CONNECTIONS = 512
_HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none
_HEAD_BYTES = 32 * 2**10


def listen(host: str, port: int) -> socket.socket:
    """Return a socket at an address; port 0 takes a free one. Raises ConfigError if that is not possible."""
    if not 0 <= port <= 65535:  # the system would take the remainder
        raise ConfigError(f"--port {port} cannot be used", hint="choose a number from 0 to 65535")
    try:
        kind, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Else asyncio leaves Nagle's algorithm on, and answers wait 40 ms for the client's ACK.
        here = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            here.bind(address)
        except OSError:
            here.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ConfigError(
            f"{host}:{port}: cannot listen ({reason})", hint="choose another --host or --port"
        ) from error
    return here


def ignoring_hangup() -> AbstractContextManager[None]:
    """Ignore SIGHUP, which means to load anew, while there is no server yet to handle it."""
    return handling([] if _HANGUP is None else [_HANGUP], signal.SIG_IGN)


def application(routes: Sequence[Route], *, lifespan: Any) -> ASGIApp:
    """Return the application. Its handlers may raise Refusal."""
    handlers = dict.fromkeys((HTTPException, ClientDisconnect, Refusal), _refused)
    app = Starlette(routes=list(routes), exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """The answer to what is refused, to a path or a method without a route, and to who has left."""
    status = error.status_code if isinstance(error, HTTPException) else 499
    refusal = error if isinstance(error, Refusal) else Refusal(status, STATUSES[status][0])
    answer = refused(refusal, family_of(request.scope["path"]))
    answer.headers.update(getattr(error, "headers", None) or {})
    return answer


class HttpServer(uvicorn.Server):
    """Serves until a signal comes. Then it takes no new work and ends when the accepted work is done.

    A second signal ends it at once.
    """

    def __init__(
        self,
        app: ASGIApp,
        served: Served,
        *,
        drain_seconds: float,
        on_stop: Callable[[], None] = lambda: None,
        on_hangup: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`drain_seconds` is the longest time for the accepted work; `on_stop` is called before it.

        `on_hangup` is called after SIGHUP, once at a time. Without it, SIGHUP ends the server.
        """
        self._served, self._drain_seconds, self._on_stop = served, drain_seconds, on_stop
        self._on_hangup, self._hung_up = on_hangup, False
        self._hanging_up: asyncio.Future[None] | None = None
        self._until: float | None = None  # a time of `time.monotonic`
        super().__init__(
            uvicorn.Config(
                Guard(app, served, lambda: len(self.server_state.connections) > _CONNECTIONS),
                http=_Patient,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=_HEAD_BYTES,
                timeout_keep_alive=15,
                timeout_graceful_shutdown=1,
            )
        )

    def stop(self) -> None:
        """Take no new work, and end when the accepted work is done, at the latest after `drain_seconds`."""
        if self._until is None:
            self._served.draining = True
            self._until = time.monotonic() + self._drain_seconds
            self._on_stop()
        else:
            self._until = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == _HANGUP and self._on_hangup is not None:
            self._hung_up = True
        else:
            self.stop()

    async def on_tick(self, counter: int) -> bool:
        ends = await super().on_tick(counter)
        if self._hung_up and self._on_hangup and (self._hanging_up is None or self._hanging_up.done()):
            self._hung_up = False
            self._hanging_up = asyncio.ensure_future(self._on_hangup())
        return ends or (self._until is not None and (self._served.idle or time.monotonic() > self._until))

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle the signals, and do not raise them again afterwards: they are not errors."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if _HANGUP is not None and (self._on_hangup or signal.getsignal(_HANGUP) != signal.SIG_IGN):
            numbers.append(_HANGUP)
        with handling(numbers, self.handle_exit):
            yield


class _Patient(H11Protocol):
    """HTTP/1.1 for clients that may send, or take, nothing for a while, but not for ever."""

    _waiting: asyncio.TimerHandle | None = None  # for the head of a request
    _giving: asyncio.TimerHandle | None = None  # an answer

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        self._wait()
        super().data_received(data)
        if not self._idle:
            _cancel(self._waiting)
            self._waiting = None

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._waiting)
        _cancel(self._giving)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._giving = self.loop.call_later(_PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._giving)

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]

    def _wait(self) -> None:
        if self._idle and self._waiting is None:
            self._waiting = self.loop.call_later(_PATIENCE, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
