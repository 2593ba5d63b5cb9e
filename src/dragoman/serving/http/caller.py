"""Where a request comes from: the address of its client, the name that it used for this server, its page."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from starlette.requests import Request

from dragoman.serving.http.settings import Settings, address_of

_LONGEST_CHAIN = 32  # addresses of X-Forwarded-For that are looked at


def address_of_client(request: Request, settings: Settings) -> str:
    """The address of the client, for its share of the server. That of a network for IPv6.

    `X-Forwarded-For` is believed from the trusted proxies only: from its end to the first address that is
    none of them.
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
    """How the client reaches this server, such as https://translate.example.com."""
    scheme = request.url.scheme
    if request.client and _is_proxy(request.client.host, settings):
        told = request.headers.get("x-forwarded-proto", scheme).lower()
        scheme = told if told in ("http", "https") else scheme
    return f"{scheme}://{request.headers['host']}"


def is_our_name(host: str, settings: Settings) -> bool:
    """Whether a `Host` is a name of this server.

    A page whose name was made to resolve to this address (DNS rebinding) sends its own name. An address is
    never such a name.
    """
    name = _without_port(host)
    if address_of(name) is not None and "%" not in name:  # an IPv6 zone is a name of the client's own
        return True
    return name in {"localhost", settings.host.lower()} | settings.names


def is_foreign(headers: Mapping[str, str], settings: Settings) -> bool:
    """Whether a page of another site, which is not allowed, sends the request."""
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


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower().removesuffix(".")
