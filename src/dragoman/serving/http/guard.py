"""The guard of every request: the checks of its host and page, the headers of its answer, log and metrics.

The server and the studio have the same guard.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving.http.errors import Refusal, family_of, refused
from dragoman.serving.http.logs import log
from dragoman.serving.http.settings import Settings, address_of

if TYPE_CHECKING:
    from dragoman.serving.http.metrics import ServerMetrics

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_DISCARDED = 16 * 2**20  # bytes of an unwanted body, read so that the client gets to our answer
_DISCARDING = 1.0  # seconds


class Served(Protocol):
    """A server, as its guard and its process see it."""

    in_flight: int  # requests
    draining: bool  # it takes no new work

    @property
    def settings(self) -> Settings: ...

    @property
    def metrics(self) -> ServerMetrics | None: ...

    @property
    def idle(self) -> bool:
        """Whether all accepted work is done."""
        ...


class Guard:
    """The first and the last to see a request."""

    def __init__(self, inner: ASGIApp, served: Served, crowded: Callable[[], bool]) -> None:
        """`crowded`: whether there are too many connections."""
        self._inner, self._served, self._crowded = inner, served, crowded

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
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                self._allow(request, headers)
                if not await body.discarded():
                    headers["Connection"] = "close"
            await send(message)

        self._served.in_flight += 1
        metrics = self._served.metrics
        if metrics is not None:
            metrics.began()
        try:
            answer = self._refusal(request) or self._inner
            await answer(scope, body.receive, sending)
        finally:
            self._served.in_flight -= 1
            seconds, route = time.monotonic() - began, facts.pop("route", "other")
            if metrics is not None:
                metrics.ended(route, request.method, status, seconds)
            taken = {"method": request.method[:16], "route": route, "status": status}
            log(logging.INFO, "request", **taken, ms=round(seconds * 1000), **facts)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that may not come in, or that only asks whether it may."""
        settings, headers = self._served.settings, request.headers
        if self._crowded():
            refusal = Refusal(503, "too many connections: try again later", retry_after=1)
        elif not is_our_name(headers.get("host", ""), settings):
            refusal = Refusal(400, "this server does not have that name (dragoman serve: --allow-host)")
        elif is_foreign(headers, settings):
            refusal = Refusal(403, "cross-origin request refused (dragoman serve: --cors-origin)")
        elif _has_two_lengths(request):
            refusal = Refusal(400, "conflicting Content-Length and Transfer-Encoding")
        elif request.method == "OPTIONS" and "access-control-request-method" in headers:
            return Response(status_code=204)
        else:
            return None
        answer = refused(refusal, family_of(request.scope["path"]))
        if self._crowded():
            answer.headers["Connection"] = "close"
        return answer

    def _allow(self, request: Request, headers: MutableHeaders) -> None:
        """Let a page of an allowed site read the answer."""
        if not self._served.settings.origins:
            return
        headers.add_vary_header("Origin")
        origin = request.headers.get("origin", "")
        if origin.lower() in self._served.settings.origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Retry-After"
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
            if request.method == "OPTIONS":
                headers["Access-Control-Allow-Methods"] = "GET, POST"
                headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
                headers["Access-Control-Max-Age"] = "600"


def _has_two_lengths(request: Request) -> bool:
    """Whether a proxy could see another end of the body than we do (RFC 9112, section 6.1)."""
    return "transfer-encoding" in request.headers and "content-length" in request.headers


class _Arriving:
    """The body of a request while it arrives."""

    def __init__(self, request: Request, receive: Receive) -> None:
        headers = request.headers
        self._receive = receive
        # The client waits for permission to send it, or its end is unknown.
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


_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]{1,100}){1,10}")
_LONGEST_CHAIN = 32  # addresses of X-Forwarded-For that are looked at


def address_of_client(request: Request, settings: Settings) -> str:
    """The address of the client, for its share of the server; of its network for IPv6.

    `X-Forwarded-For` is believed from the trusted proxies only: from its end to the first address that is
    not one of them.
    """
    here = request.client.host if request.client else ""
    if _is_proxy(here, settings):
        chain = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
        for hop in reversed(chain[-_LONGEST_CHAIN:]):
            if address_of(hop.strip()) is None:
                break
            here = hop.strip()
            if not _is_proxy(here, settings):
                break
    address = address_of(here)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))  # one customer has them all
    return "unknown" if address is None else str(address)


def base_url(request: Request, settings: Settings) -> str:
    """How the client reaches this server, such as https://example.com/translate."""
    scheme = request.url.scheme
    if request.client and _is_proxy(request.client.host, settings):
        told = request.headers.get("x-forwarded-proto", scheme).lower()
        scheme = told if told in ("http", "https") else scheme
    return f"{scheme}://{request.headers['host']}{path_prefix(request, settings)}"


def path_prefix(request: Request, settings: Settings) -> str:
    """The path below which a proxy shows this server, such as /translate; empty for the root."""
    if not (request.client and _is_proxy(request.client.host, settings)):
        return ""
    told = request.headers.get("x-forwarded-prefix", "").rstrip("/")
    return told if _PREFIX.fullmatch(told) else ""


def is_our_name(host: str, settings: Settings) -> bool:
    """Whether a `Host` is a name of this server.

    A page whose name was made to resolve to this address (DNS rebinding) sends its own name. An address is
    never such a name.
    """
    try:
        parts = urlsplit(f"//{host}")
        name, _ = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # an invalid port or address
        return False
    if parts.netloc != host or "@" in host:
        return False
    if address_of(name) is not None and "%" not in name:  # an IPv6 zone is a name of the client's own
        return True
    return "[" not in host and name in {"localhost", settings.host.lower()} | settings.names


def is_foreign(headers: Mapping[str, str], settings: Settings) -> bool:
    """Whether the request is a cross-origin one that is not allowed."""
    origin = headers.get("origin", "").lower()
    if not origin:
        navigates = headers.get("sec-fetch-mode") == "navigate"  # a link to our page
        return headers.get("sec-fetch-site") == "cross-site" and not navigates
    return origin.partition("://")[2] != headers.get("host", "").lower() and origin not in settings.origins


def _is_proxy(address: str, settings: Settings) -> bool:
    known = address_of(address)
    if isinstance(known, ipaddress.IPv6Address) and known.ipv4_mapped is not None:
        known = known.ipv4_mapped
    return known is not None and any(known in network for network in settings.proxies)
