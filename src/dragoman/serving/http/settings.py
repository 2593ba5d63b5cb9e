"""Settings of a server: its address, its clients, and the names it answers to."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError, DataError
from dragoman.serving.http.usage import SPANS

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAME = re.compile(r"(?!-)[a-z0-9_.-]{1,253}(?<!-)")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:\[[0-9a-f:.]+\]|[^][/?#*:\s]+)(?::[0-9]+)?/*", re.IGNORECASE)


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
            raise ConfigError(
                f"port {self.port} cannot be used", hint="use 1 to 65535, or 0 for any free port"
            )
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
        if not _ORIGIN.fullmatch(url):
            raise ConfigError(
                f"--cors-origin {url}", hint="give scheme and host of one site: https://app.example.com"
            )
        origins.add(url.rstrip("/").lower())
    return frozenset(origins)


def proxies_of(networks: Iterable[str]) -> tuple[Network, ...]:
    """Addresses or networks of proxies, checked. Raises ConfigError."""
    try:
        return tuple(ipaddress.ip_network(one) for one in networks)
    except ValueError as error:
        raise ConfigError(
            f"--trusted-proxy: {error}", hint="give an address or a network: 10.0.0.1 or 10.0.0.0/8"
        ) from error


_LARGEST = 2**20  # bytes of a file of keys
_LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+(\S.*))?")
_SCHEMES = ("deepl-auth-key", "bearer")


@dataclass(frozen=True)
class Key:
    """A key: its SHA-256 digest, the name of its owner, and what it may be used for."""

    digest: bytes
    name: str
    quota: Mapping[str, int] = field(default_factory=dict)  # characters of a "minute", "day", "month"
    only: str = ""  # "metrics": for /metrics and nothing else


@dataclass(frozen=True)
class Keys:
    """The keys of a server."""

    keys: tuple[Key, ...]

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Read a file with the hexadecimal digest of a key on each line, and optionally a name after it.

        So the output of `sha256sum` is a line. After the name may stand minute=N, day=N, month=N (characters)
        and only=metrics. Raises DataError for anything else, naming the line.
        """
        try:
            with path.open("rb") as file:
                lines = file.read(_LARGEST).decode("utf-8").splitlines()
                if file.read(1):
                    raise DataError(f"{path}: larger than 1 MiB", hint="remove keys that are not used")
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}", hint="check the path") from error
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not UTF-8", hint="write one SHA-256 digest a line") from error
        keys: dict[bytes, tuple[int, Key]] = {}  # by their digests, with their lines
        named: dict[str, tuple[int, Key]] = {}  # the first of each name that may translate
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            digest = _LINE.fullmatch(line)
            if digest is None:
                raise DataError(
                    f"{path}:{number}: not the SHA-256 digest of a key",
                    hint="write the digest, not the key: printf %s KEY | sha256sum",
                )
            key = _key(digest[1], (digest[2] or "-").split(), f"{path}:{number}")
            first, known = keys.setdefault(key.digest, (number, key))
            if (known.quota, known.only) != (key.quota, key.only):
                raise DataError(
                    f"{path}:{number}: the key of line {first} with other options", hint="delete a line"
                )
            first, known = (0, key) if key.only else named.setdefault(key.name, (number, key))
            if known.quota != key.quota:
                what = f"another quota than line {first}, of the same name, which they share"
                raise DataError(f"{path}:{number}: {what}", hint="give both one quota, or two names")
        if not keys:
            raise ConfigError(f"{path}: no keys", hint="write one SHA-256 digest a line")
        return cls(tuple(key for _, key in keys.values()))

    def find(self, key: str) -> Key | None:
        """The key that a client sent, None if it is unknown. Takes the same time for every key."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        found = None
        for known in self.keys:
            if hmac.compare_digest(digest, known.digest):
                found = known
        return found


def _key(digest: str, words: list[str], where: str) -> Key:
    quota, only = dict[str, int](), ""
    while words and (option := re.fullmatch(r"(\w+)=(.*)", words[-1])):
        words.pop()
        if option[1] in quota or (only and option[1] == "only"):
            raise DataError(f"{where}: {option[1]} twice", hint="delete one of them")
        digits = option[2].replace("_", "") if re.fullmatch(r"[0-9]+(_[0-9]+)*", option[2]) else ""
        if option[1] in SPANS and re.fullmatch(r"[0-9]{1,15}", digits):
            quota[option[1]] = int(digits)
        elif option[0] == "only=metrics":
            only = option[2]
        else:
            known = "minute=N, day=N, month=N (characters) and only=metrics"
            raise DataError(f"{where}: {option[0][:60]}", hint=f"after the name may stand {known}")
    name = " ".join(words)
    return Key(bytes.fromhex(digest), digest[:8].lower() if name in ("", "-") else name, quota, only)


def key_in(headers: Mapping[str, str], values: Mapping[str, Any]) -> str | None:
    """The key that a client sent: in its header `Authorization`, in `api_key` or in `auth_key`."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and key.strip():
        return key.strip()
    sent: Sequence[Any] = [values.get("api_key"), values.get("auth_key")]
    return next((one for one in sent if isinstance(one, str) and one), None)
