"""The new lines of a file that another program writes, cuts, replaces or removes.

A file may also be a copy that is synchronised from another machine: then each copy is a new file that begins
like the old one, and reading resumes where it was.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

CHUNK = 1 << 20  # bytes read at once, and of the longest line
_ANCHOR = 4096  # bytes before the place of reading that must be as they were


@dataclass(frozen=True, kw_only=True)
class News:
    """The result of one look at the file."""

    lines: tuple[bytes, ...] = ()
    restarted: bool = False  # the file is another one now: forget the lines before these
    more: bool = False  # there is more to read at once
    missing: bool = False
    error: str = ""  # why it cannot be read


@dataclass
class Tail:
    """A place in a file. `read` returns the lines after it and moves on. A half-written line waits."""

    path: Path
    offset: int = 0  # after the last whole line
    size: int = 0  # of the file, when it was last seen
    changed: float = 0.0  # when it was last written, in seconds since 1970
    broken: int = 0  # lines longer than CHUNK, which are skipped
    _anchor: bytes = b""  # what is before `offset`
    _skipping: bool = False  # within a line that is too long
    _seen: tuple[int, ...] = field(default=())  # as the file was when there was nothing more to read

    @property
    def unfinished(self) -> bool:
        """Whether the file ends within a line."""
        return self.size > self.offset

    def read(self) -> News:
        """Return the whole lines of the next CHUNK. Never raises OSError."""
        try:
            if _identity(os.stat(self.path)) == self._seen:
                return News()
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                restarted = not self._continues(file, status.st_size)
                if restarted:
                    self.offset, self._anchor, self._skipping, self.broken = 0, b"", False, 0
                file.seek(self.offset)
                data = file.read(CHUNK)
        except FileNotFoundError:
            self._seen = ()
            return News(missing=True)
        except OSError as error:
            self._seen = ()
            return News(error=error.strerror or str(error))
        self.size, self.changed = status.st_size, status.st_mtime
        lines = self._whole(data)
        more = len(data) == CHUNK
        self._seen = () if more else _identity(status)
        return News(lines=lines, restarted=restarted, more=more)

    def _continues(self, file: IO[bytes], size: int) -> bool:
        """Whether what was read is still there, before the place of reading."""
        file.seek(self.offset - len(self._anchor))
        return size >= self.offset and file.read(len(self._anchor)) == self._anchor

    def _whole(self, data: bytes) -> tuple[bytes, ...]:
        """Return the whole lines at the start of `data`, and move after them."""
        end = data.rfind(b"\n") + 1
        if not end:
            if len(data) < CHUNK:
                return ()
            end = len(data)  # a line that is too long: its end is skipped, too
            self.broken += not self._skipping
            lines: list[bytes] = []
            skipping = True
        else:
            lines = data[:end].split(b"\n")[:-1]
            lines, skipping = lines[self._skipping :], False
        self._skipping = skipping
        self.offset += end
        self._anchor = (self._anchor + data[:end])[-_ANCHOR:]
        return tuple(lines)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
