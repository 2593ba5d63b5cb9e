"""The server as a process: its socket, its connections, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.base.errors import ConfigError
from dragoman.serving.apis.endpoints import Desk
from dragoman.serving.app import create_app

_PATIENCE = 30.0  # seconds for the head of a request to come, and for an answer to be taken on
_CONNECTIONS = 512
_HEAD_BYTES = 32 * 2**10


def listen(host: str, port: int) -> socket.socket:
    """Return a socket at an address. Raises ConfigError if that is not possible."""
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
        raise ConfigError(f"{host}:{port}: {reason}", hint="choose another --host or --port") from error
    return here


class ServerProcess(uvicorn.Server):
    """Serves until a signal comes. Then it takes no new work and ends when the accepted work is done.

    A second signal ends it at once.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._until: float | None = None  # a time of `time.monotonic`
        super().__init__(
            uvicorn.Config(
                create_app(desk),
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

        desk.crowded = lambda: len(self.server_state.connections) > _CONNECTIONS

    def stop(self) -> None:
        """Take no new work, and end when the accepted work is done, at the latest after `drain_seconds`."""
        if self._until is None:
            self._desk.draining = True
            self._until = time.monotonic() + self._desk.service.limits.drain_seconds
        else:
            self._until = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.stop()

    async def on_tick(self, counter: int) -> bool:
        ends = await super().on_tick(counter)
        return ends or (self._until is not None and (self._desk.idle or time.monotonic() > self._until))

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle the signals, and do not raise them again afterwards: they are no errors."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


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
