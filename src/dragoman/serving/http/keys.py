"""Keys of clients. The server knows only their digests."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError, DataError

_LARGEST = 2**20  # bytes of a file of keys
_LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+(\S.*))?")
_SCHEMES = ("deepl-auth-key", "bearer")


@dataclass(frozen=True)
class Keys:
    """The SHA-256 digests of the keys, each with the name of its owner."""

    names: tuple[tuple[bytes, str], ...]

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Read a file with the hexadecimal digest of a key on each line, and optionally a name after it.

        So the output of `sha256sum` is a line. Raises DataError for anything else, naming the line.
        """
        try:
            with path.open("rb") as file:
                lines = file.read(_LARGEST).decode("utf-8").splitlines()
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}", hint="check the path") from error
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not UTF-8", hint="write one SHA-256 digest a line") from error
        names: list[tuple[bytes, str]] = []
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
            name = (digest[2] or "-").strip()
            names.append((bytes.fromhex(digest[1]), digest[1][:8].lower() if name == "-" else name))
        if not names:
            raise ConfigError(f"{path}: no keys", hint="write one SHA-256 digest a line")
        return cls(tuple(names))

    def name_of(self, key: str) -> str | None:
        """The name of a key, None if it is unknown. Takes the same time for every key."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        found = None
        for known, name in self.names:
            if hmac.compare_digest(digest, known):
                found = name
        return found


def key_in(headers: Mapping[str, str], values: Mapping[str, Any]) -> str | None:
    """The key that a client sent: in its header `Authorization`, in `api_key` or in `auth_key`."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and key.strip():
        return key.strip()
    sent: Sequence[Any] = [values.get("api_key"), values.get("auth_key")]
    return next((one for one in sent if isinstance(one, str) and one), None)
