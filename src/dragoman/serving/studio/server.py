"""Serve the studio until it is stopped."""

from __future__ import annotations

import socket

import uvicorn

from dragoman.base.errors import ConfigError
from dragoman.serving.studio.app import Studio


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one. Raises ConfigError if that is not possible."""
    if not 0 <= port <= 65535:  # the system would take the remainder
        raise ConfigError(f"--port {port}", hint="choose a number from 0 to 65535")
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[4][:2], family=address[0])
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{host}:{port}: cannot listen ({reason})", hint="choose another --port") from error


class StudioServer(uvicorn.Server):
    """Serves a studio. When it stops, open pages are let go at once."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(
            uvicorn.Config(
                studio.app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=5,  # seconds
            )
        )
        self.studio = studio

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.studio.watch.close()
        await super().shutdown(sockets)
