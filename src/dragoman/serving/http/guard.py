"""What every request passes: the checks of its host and page, the headers of its answer, log and metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving.apis.endpoints import Desk
from dragoman.serving.http.caller import is_foreign, is_our_name
from dragoman.serving.http.errors import Refusal, family_of, refused
from dragoman.serving.http.logs import log

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_DISCARDED = 16 * 2**20  # bytes of a body that nobody wants, read so that the client gets to our answer
_DISCARDING = 1.0  # seconds


class Front:
    """The first and the last to see a request."""

    def __init__(self, inner: ASGIApp, desk: Desk) -> None:
        self._inner, self._desk = inner, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began, facts = time.monotonic(), dict[str, Any]()
        scope["facts"] = facts
        request = Request(scope, receive)
        body, status = _Arriving(request, receive), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(_SECURITY)
                self._allow(request, headers)
                if not await body.discarded():
                    headers["Connection"] = "close"
            await send(message)

        self._desk.in_flight += 1
        self._desk.metrics.began()
        try:
            answer = self._refusal(request) or self._inner
            await answer(scope, body.receive, sending)
        finally:
            self._desk.in_flight -= 1
            seconds, route = time.monotonic() - began, facts.pop("route", "other")
            self._desk.metrics.ended(route, request.method, status, seconds)
            taken = {"method": request.method[:16], "route": route, "status": status}
            log(logging.INFO, "request", **taken, ms=round(seconds * 1000), **facts)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that may not come in, or that only asks whether it may."""
        settings, headers, family = self._desk.settings, request.headers, family_of(request.scope["path"])
        if self._desk.crowded():
            answer = refused(Refusal(503, "too many connections: try again later", retry_after=1), family)
            answer.headers["Connection"] = "close"
            return answer
        if not is_our_name(headers.get("host", ""), settings):
            return refused(
                Refusal(400, "this server does not have that name; its operator can add it: --allow-host"),
                family,
            )
        if is_foreign(headers, settings):
            return refused(
                Refusal(403, "pages of other sites may not ask; the operator can allow it: --cors-origin"),
                family,
            )
        if _has_two_lengths(request):
            return refused(Refusal(400, "a body with two lengths"), family)
        if request.method == "OPTIONS" and "access-control-request-method" in headers:
            return Response(status_code=204)
        return None

    def _allow(self, request: Request, headers: MutableHeaders) -> None:
        """Let a page of an allowed site read the answer."""
        if not self._desk.settings.origins:
            return
        headers.add_vary_header("Origin")
        origin = request.headers.get("origin", "")
        if origin.lower() in self._desk.settings.origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Retry-After"
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
            if request.method == "OPTIONS":
                headers["Access-Control-Allow-Methods"] = "GET, POST"
                headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
                headers["Access-Control-Max-Age"] = "600"


def _has_two_lengths(request: Request) -> bool:
    """Whether a proxy could find another end of the body than we do (RFC 9112, section 6.1)."""
    return "transfer-encoding" in request.headers and "content-length" in request.headers


class _Arriving:
    """The body of a request while it arrives."""

    def __init__(self, request: Request, receive: Receive) -> None:
        headers = request.headers
        self._receive = receive
        # The client waits for leave to send it, or nobody can say where it ends.
        self._unread = "expect" in headers or _has_two_lengths(request)
        self._ended = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers

    async def receive(self) -> Message:
        message = await self._receive()
        self._ended = self._ended or not message.get("more_body", False)
        return message

    async def discarded(self) -> bool:
        """Read the rest of the body if it is short and comes soon. Return whether it ended.

        A connection that is closed while the client still sends may lose our answer.
        """
        size = 0
        try:
            async with asyncio.timeout(_DISCARDING):
                while not self._ended and not self._unread and size < _DISCARDED:
                    size += len((await self.receive()).get("body", b""))
        except TimeoutError:
            pass
        return self._ended
