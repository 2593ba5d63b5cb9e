"""Translated files until they are fetched: in a private folder, under names that cannot be guessed."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from dragoman.serving.http.errors import Refusal

_SECONDS = 30 * 60.0  # that a file is kept
_FILES = 200
_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Kept:
    """A file on the shelf."""

    path: Path
    suffix: str
    size: int
    until: float  # a time of `time.monotonic`


class Shelf:
    """Keeps files for half an hour. The folder is made with the first file and removed at the end.

    A name of a client is only looked up among those that were given out: it never becomes a path.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._kept: dict[str, Kept] = {}

    def put(self, data: bytes, suffix: str) -> str:
        """Keep a file and return its name. Raises Refusal if the shelf is full."""
        self.sweep()
        if len(self._kept) >= _FILES or sum(one.size for one in self._kept.values()) + len(data) > _BYTES:
            raise Refusal(429, "too many files are waiting to be fetched: try again later", retry_after=60)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dragoman-serve-"))  # of mode 0700
        name = secrets.token_urlsafe(24) + suffix
        path = self._folder / secrets.token_hex(16)
        with open(path, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
            file.write(data)
        self._kept[name] = Kept(path, suffix, len(data), time.monotonic() + _SECONDS)
        return name

    def read(self, name: str) -> tuple[bytes, str]:
        """Return a file and its suffix. Raises Refusal if the name is unknown or has expired."""
        self.sweep()
        if name not in self._kept:
            raise Refusal(404, "no such file: files are kept for half an hour")
        kept = self._kept[name]
        return kept.path.read_bytes(), kept.suffix

    def drop(self, name: str) -> None:
        """Delete a file."""
        self._kept.pop(name).path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete what has expired."""
        now = time.monotonic()
        for name in [name for name, kept in self._kept.items() if kept.until <= now]:
            self.drop(name)

    def close(self) -> None:
        """Delete everything."""
        self._kept.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
