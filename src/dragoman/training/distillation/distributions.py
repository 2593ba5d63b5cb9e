"""The teachers' distributions for a tokenised text, on disk: word-level distillation.

    lessons       for each target token and each end, in order: K token ids and their probabilities
    lessons.json  their inputs, how much is done, and at the end a digest of the file

Kim and Rush 2016, section 3.1, with the K likeliest tokens alone. The file is memory-mapped. It has its full
size from the beginning and is filled in parts, so that a run that was killed resumes at the next part.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base.errors import DataError
from dragoman.base.files import broken, explaining, sealed, sweep
from dragoman.base.jobs import JobRecord
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.ragged import Ragged
from dragoman.training.distillation.options import TeacherConfig

Array = np.ndarray[Any, np.dtype[Any]]
_FILE, _RECORD = "lessons", "lessons.json"


def entry_of(vocabulary: int) -> np.dtype[Any]:
    """A token and its probability: 4 bytes, or 6 with a vocabulary of over 65,536."""
    return np.dtype([("id", "<u2" if vocabulary <= 65_536 else "<u4"), ("p", "<f2")])


def entry_shape_of(options: TeacherConfig, tokenizer: Tokenizer) -> tuple[np.dtype[Any], int]:
    """How an entry is stored, and how many a target token has."""
    return entry_of(tokenizer.target_size), min(options.top_k, tokenizer.target_size)


class Lessons:
    """The distributions for the targets of a text; `lessons[row]` has K entries for each token and the end.

    They make up `share` of the loss. Raises DataError if the file is missing or has another size.
    """

    def __init__(
        self, folder: Path, target: Ragged, entry: np.dtype[Any], *, width: int, share: float
    ) -> None:
        self._target, self.share = target, share
        positions = count_positions(target)
        try:
            values = np.memmap(folder / _FILE, dtype=entry, mode="r")
            self._values: Array = values.view(np.ndarray).reshape(positions, width)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{folder}: the teachers' distributions are missing or damaged ({error})",
                hint="remove this folder and repeat the command",
            ) from error

    def __getitem__(self, row: int) -> Array:
        first, end = self._target.offsets[row] + row, self._target.offsets[row + 1] + row + 1
        return self._values[first:end]


def lessons_of(options: TeacherConfig, tokenizer: Tokenizer, target: Ragged, folder: Path) -> Lessons | None:
    """Open the lessons in `folder` for the targets of a text, if the recipe asks for them."""
    if not options.words:
        return None
    entry, width = entry_shape_of(options, tokenizer)
    return Lessons(folder, target, entry, width=width, share=options.words)


class LessonsInProgress:
    """The growing lessons in `folder`. `made_with` says what they depend on.

    For each row of each of the `parts`, write its lessons with `put`.
    """

    TOKENS = 200_000  # target tokens of a part: what a kill may cost

    def __init__(
        self, folder: Path, target: Ragged, entry: np.dtype[Any], *, width: int, made_with: str
    ) -> None:
        self._folder, self._target, self._entry, self._width = folder, target, entry, width
        self._record = JobRecord(folder / _RECORD, made_with, key="made_with")
        self.positions = count_positions(target)
        self.bytes = self.positions * width * entry.itemsize
        record = self._record.read(self._fits)
        self.done = int(record.get("rows", 0))  # rows
        self.complete = "files" in record

    def parts(self) -> Iterator[range]:
        """Yield the rows to do next, part by part. Finished parts survive a kill."""
        done, self.complete = self.done, False
        ends = self._target.offsets[1:] + np.arange(1, len(self._target) + 1)
        with explaining(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            sweep(self._folder)
            if not done:
                self._record.delete()
                with (self._folder / _FILE).open("wb") as file:
                    file.truncate(self.bytes)
                    _allocate(file.fileno(), self.bytes)
            self._values: Array = np.memmap(
                self._folder / _FILE, dtype=self._entry, mode="r+", shape=(self.positions, self._width)
            )
            while done < len(self._target):
                first = int(ends[done - 1]) if done else 0
                end = max(int(np.searchsorted(ends, first + self.TOKENS, side="right")), done + 1)
                yield range(done, end)
                self._values.flush()
                self._record.write(rows=end)
                done = end
            del self._values
            with (self._folder / _FILE).open("rb") as written:
                os.fsync(written.fileno())
            self._record.write(rows=done, files=sealed(self._folder, [_FILE]))
            self.done, self.complete = done, True

    def put(self, row: int, ids_TK: Array, p_TK: Array) -> None:
        """Write the lessons of a row: for each token and the end."""
        first, end = self._target.offsets[row] + row, self._target.offsets[row + 1] + row + 1
        self._values["id"][first:end] = ids_TK
        self._values["p"][first:end] = p_TK

    def _fits(self, record: dict[str, Any]) -> bool:
        rows = record["rows"]
        whole = type(rows) is int and (self._folder / _FILE).stat().st_size == self.bytes
        return whole and 0 < rows <= len(self._target) and not broken(self._folder, record.get("files", {}))


def _allocate(file: int, size: int) -> None:
    """Allocate the disk space: a memory-mapped file that runs out of it later ends the process (SIGBUS)."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise


def count_positions(target: Ragged) -> int:
    """Target tokens with the ends."""
    return int(target.offsets[-1]) + len(target)
