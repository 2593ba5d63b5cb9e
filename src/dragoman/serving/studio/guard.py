"""Which requests are answered, and the headers of every answer.

Other sites must not read the page: a name of theirs may lead to this machine (DNS rebinding), so the Host
header must be an address or a name that this server was started with.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_LOCAL = ("localhost", "127.0.0.1", "::1")


def local_only(host: str) -> bool:
    """Whether a server on `host` can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Answers only requests for `host` and for this machine, and adds the headers."""

    def __init__(self, app: ASGIApp, *, host: str) -> None:
        self.app = app
        self.names = {host.lower(), *_LOCAL}
        self.any_address = not local_only(host)  # any may be one of this machine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not allowed(host, self.names, any_address=self.any_address):
            wrong: Any = JSONResponse({"error": "this server has another name"}, 400)
            await wrong(scope, receive, guarded)
        elif origin is not None and origin.partition("://")[2].lower() != host.lower():
            wrong = JSONResponse({"error": "another site asks"}, 403)
            await wrong(scope, receive, guarded)
        else:
            await self.app(scope, receive, guarded)


def allowed(host: str, names: Collection[str], *, any_address: bool) -> bool:
    """Whether a Host header names this server. A name of another site is never an address."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port
        if parts.netloc != host or "@" in host:
            return False
        return name in names or (any_address and bool(ipaddress.ip_address(name)))
    except ValueError:  # a port that is no number, or no address
        return False
