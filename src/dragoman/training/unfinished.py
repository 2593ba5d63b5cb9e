"""A tokenised corpus that is not complete: its files grow, and after a kill they go on from the last record.

    unfinished/source.tokens ...  what the files of the corpus have so far
    unfinished/lines              the line number of each pair in its shard
    unfinished/reasons            a byte for each line that was read: 0, or why the pair was left out
    unfinished/seen               a digest of 8 bytes for each pair, if duplicates are left out
    unfinished/record.json        how many lines they hold, the sizes of the files, digests of the text

Whatever stands behind the recorded sizes is cut off. The record has digests of the text up to the end of each
shard, so that a changed one can be named.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from dragoman.base.files import explaining, sweep, write_whole

Array = np.ndarray[Any, np.dtype[Any]]
Digests = list[tuple[str, str]]  # the name of each shard, and a digest of the text up to its end

REASONS, SEEN, _RECORD = "reasons", "seen", "record.json"
LINES, LINE = "lines", np.dtype("<u4")  # the line number of each pair; 0 for one that does not fit


class UnfinishedCorpus:
    """The growing files in `folder`/unfinished. `made_with` says what, besides the text, they depend on."""

    SECONDS = 10.0  # between two records

    def __init__(self, folder: Path, made_with: str) -> None:
        self.target, self.folder = folder, folder / "unfinished"
        self._made_with = made_with
        self._files: dict[str, BinaryIO] = {}
        self._ends: dict[str, int] = {}  # of the last row of each ragged array
        self._stack = ExitStack()
        self._due = 0.0
        self.record: dict[str, Any] = self._usable_record()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def lines(self) -> int:
        """How many lines of the text the files hold."""
        return int(self.record.get("lines", 0))

    def open(self, arrays: Iterable[str]) -> None:
        """Open the files to go on from the record: those of these ragged arrays, and reasons and seen."""
        sizes = self.record.get("sizes", {})
        with explaining(self.target):
            if not self.record:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)
            ragged = [f"{array}{end}" for array in arrays for end in ("", ".offsets")]
            for name in [*ragged, LINES, REASONS, SEEN]:
                file = self._stack.enter_context((self.folder / name).open("r+b" if self.record else "w+b"))
                file.truncate(sizes.get(name, 0))
                file.seek(0, os.SEEK_END)
                self._files[name] = file
                if name.endswith(".offsets") and not self.record:
                    file.write(bytes(8))
        self._ends = {array: self._last_offset(array) for array in arrays}
        self._due = time.monotonic() + self.SECONDS

    def past(self, name: str, first: int, count: int, dtype: str) -> Array:
        """Numbers of a file, from those that were there when it was opened."""
        width = np.dtype(dtype).itemsize
        return np.fromfile(self.folder / name, dtype, count, offset=first * width)

    def add(self, name: str, values: bytes) -> None:
        """Append bytes to a file."""
        self._files[name].write(values)

    def add_rows(self, array: str, lengths: Array, values: bytes) -> None:
        """Append rows to a ragged array; `lengths` are in values."""
        offsets = self._ends[array] + np.cumsum(lengths, dtype=np.int64)
        self._files[f"{array}.offsets"].write(offsets.tobytes())
        self._files[array].write(values)
        if len(offsets):
            self._ends[array] = int(offsets[-1])

    @property
    def due(self) -> bool:
        """Whether the last record is so old that it is time for another."""
        return time.monotonic() >= self._due

    def save(self, lines: int, text: str, shards: Digests) -> None:
        """Make everything so far survive a kill."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        sizes = {name: file.tell() for name, file in self._files.items()}
        record = {
            "made_with": self._made_with,
            "lines": lines,
            "text": text,
            "shards": shards,
            "sizes": sizes,
        }
        write_whole(self.folder / _RECORD, json.dumps(record))
        self._due = time.monotonic() + self.SECONDS

    def lasting(self) -> list[str]:
        """The names of the files that the corpus keeps."""
        names = (path.name for path in self.folder.iterdir() if path.is_file())
        return [name for name in names if name not in (_RECORD, REASONS, SEEN)]

    def move(self) -> None:
        """Move the files to where the corpus has them. about.json has to be written then."""
        self._stack.close()
        with explaining(self.target):
            (self.target / "about.json").unlink(missing_ok=True)
            for name in (_RECORD, REASONS, SEEN):
                (self.folder / name).unlink()
            for path in sorted(self.folder.iterdir()):
                os.replace(path, self.target / path.name)
            self.folder.rmdir()

    def discard(self) -> None:
        """Delete the files."""
        self._stack.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.record = {}

    def _last_offset(self, array: str) -> int:
        file = self._files[f"{array}.offsets"]
        file.flush()
        file.seek(-8, os.SEEK_END)
        return int.from_bytes(file.read(8), sys.byteorder, signed=True)

    def _usable_record(self) -> dict[str, Any]:
        """The record, or an empty table if it is missing, damaged or of another text or other options."""
        try:
            record: dict[str, Any] = json.loads((self.folder / _RECORD).read_text(encoding="utf-8"))
            sizes = record["sizes"]
            fits = record["made_with"] == self._made_with and all(
                (self.folder / name).stat().st_size >= size for name, size in sizes.items()
            )
            return record if fits and record["lines"] > 0 else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}
