"""A tokenised corpus that is not complete: its files grow, and after a kill they resume from the last record.

    unfinished/source.tokens ...  the files of the corpus so far
    unfinished/lines              the line number of each pair in its shard
    unfinished/reasons            a byte for each line that was read: 0, or why the pair was left out
    unfinished/seen               a digest of 8 bytes for each pair, if duplicates are left out
    unfinished/record.json        how many lines they hold, the sizes of the files, digests of the text

Bytes beyond the recorded sizes are cut off. The record has digests of the text up to the end of each
shard, so that a changed one can be named.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from dragoman.base.files import explaining, sweep
from dragoman.base.jobs import GrowingFiles, Record

Array = np.ndarray[Any, np.dtype[Any]]
Digests = list[tuple[str, str]]  # the name of each shard, and a digest of the text up to its end

REASONS, SEEN, _RECORD = "reasons", "seen", "record.json"
LINES, LINE = "lines", np.dtype("<u4")  # the line number of each pair; 0 for one that does not fit


class UnfinishedCorpus(GrowingFiles):
    """The growing files in `folder`/unfinished. `made_with`: what they depend on besides the text."""

    def __init__(self, folder: Path, made_with: str) -> None:
        place = folder / "unfinished"
        super().__init__(place, Record(place / _RECORD, made_with, key="made_with"))
        self.target = folder
        self._ends: dict[str, int] = {}  # of the last row of each ragged array
        self.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lines(self) -> int:
        """How many lines of the text the files hold."""
        return int(self.table.get("lines", 0))

    def open(self, names: Iterable[str]) -> None:
        """Open the files to resume from the record: these ragged arrays, reasons and seen."""
        arrays = list(names)
        with explaining(self.target):
            if not self.table:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)
            super().open(
                [*(f"{one}{end}" for one in arrays for end in ("", ".offsets")), LINES, REASONS, SEEN]
            )
            if not self.table:
                for array in arrays:
                    self.append(f"{array}.offsets", bytes(8))
        self._ends = {array: self._last_offset(array) for array in arrays}

    def past(self, name: str, first: int, count: int, dtype: str) -> Array:
        """Numbers of a file, beginning with those present when it was opened."""
        width = np.dtype(dtype).itemsize
        return np.fromfile(self.folder / name, dtype, count, offset=first * width)

    def append_rows(self, array: str, lengths: Array, values: bytes) -> None:
        """Append rows to a ragged array; `lengths` are in values."""
        offsets = self._ends[array] + np.cumsum(lengths, dtype=np.int64)
        self.append(f"{array}.offsets", offsets.tobytes())
        self.append(array, values)
        if len(offsets):
            self._ends[array] = int(offsets[-1])

    def lasting(self) -> list[str]:
        """The names of the files that the corpus keeps."""
        names = (path.name for path in self.folder.iterdir() if path.is_file())
        return [name for name in names if name not in (_RECORD, REASONS, SEEN)]

    def move(self) -> None:
        """Move the files to their places in the corpus. about.json must be written then."""
        self.close()
        with explaining(self.target):
            (self.target / "about.json").unlink(missing_ok=True)
            for name in (_RECORD, REASONS, SEEN):
                (self.folder / name).unlink()
            for path in sorted(self.folder.iterdir()):
                os.replace(path, self.target / path.name)
            self.folder.rmdir()

    def discard(self) -> None:
        """Delete the files."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.table = {}

    def _last_offset(self, array: str) -> int:
        file = self._files[f"{array}.offsets"]
        file.flush()
        file.seek(-8, os.SEEK_END)
        return int.from_bytes(file.read(8), sys.byteorder, signed=True)

    def _fits(self, table: dict[str, Any]) -> bool:
        return table["lines"] > 0 and super()._fits(table)
