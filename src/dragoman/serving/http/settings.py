"""Settings of a server: its address, its clients, and the names it answers to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from dragoman.base.errors import ConfigError
from dragoman.serving.http.keys import Keys

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAME = re.compile(r"(?!-)[a-z0-9_.-]{1,253}(?<!-)")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a server, apart from limits."""

    host: str = "127.0.0.1"
    port: int = 5000
    keys: Keys | None = None  # None: everybody may ask
    allow_open: bool = False  # also on other addresses than the loopback
    names: frozenset[str] = frozenset()  # of this server, in lower case, besides localhost and addresses
    origins: frozenset[str] = frozenset()  # of pages of other sites that may ask
    proxies: tuple[Network, ...] = ()  # whose X-Forwarded-For is believed
    compat_title: bool = False
    suggestions: bool = False

    def __post_init__(self) -> None:
        """Raises ConfigError if everybody could ask from other machines without --allow-open."""
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port {self.port}", hint="use 1 to 65535, or 0 for any free port")
        if self.keys is None and not self.allow_open and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, but no keys are set",
                hint="give a file of keys with --keys, or --allow-open to serve everybody",
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.lower() == "localhost":
        return True
    address = address_of(host)
    return address is not None and address.is_loopback


def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address in a text, without brackets; None for anything else."""
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def names_of(names: Iterable[str]) -> frozenset[str]:
    """Names of a server, checked. Raises ConfigError."""
    checked = set()
    for name in names:
        if not _NAME.fullmatch(name.lower()):
            raise ConfigError(f"--allow-host {name}", hint="give a host name, such as translate.example.com")
        checked.add(name.lower())
    return frozenset(checked)


def origins_of(urls: Iterable[str]) -> frozenset[str]:
    """The origins of pages, checked. Raises ConfigError."""
    origins = set()
    for url in urls:
        parts = urlsplit(url)
        if not parts.scheme or not parts.netloc or parts.path.strip("/") or parts.query or "*" in url:
            raise ConfigError(
                f"--cors-origin {url}", hint="give scheme and host of one site: https://app.example.com"
            )
        origins.add(f"{parts.scheme}://{parts.netloc}".lower())
    return frozenset(origins)


def proxies_of(networks: Iterable[str]) -> tuple[Network, ...]:
    """Addresses or networks of proxies, checked. Raises ConfigError."""
    try:
        return tuple(ipaddress.ip_network(one) for one in networks)
    except ValueError as error:
        raise ConfigError(
            f"--trusted-proxy: {error}", hint="give an address or a network: 10.0.0.1 or 10.0.0.0/8"
        ) from error
