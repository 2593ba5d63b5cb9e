"""Rows of different length on disk: a file of the values of all rows, and one of the offset of each row."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dragoman.base.errors import DataError
from dragoman.base.files import replacing

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK = 2**20  # offsets that are checked at once


class Ragged:
    """Rows of different length in a memory-mapped file. Raises DataError if it is missing or damaged."""

    def __init__(self, path: Path, dtype: str) -> None:
        try:
            self.offsets: Array = np.memmap(path.with_name(path.name + ".offsets"), dtype=np.int64, mode="r")
            size = path.stat().st_size
        except OSError as error:
            raise _damaged(path, error.strerror or str(error)) from error
        except ValueError as error:  # an empty file, or a part of a number at its end
            raise _damaged(path, "its offsets are cut short") from error
        self.offsets = self.offsets.view(np.ndarray)  # faster to index
        if self.offsets[0] != 0 or self.offsets[-1] * np.dtype(dtype).itemsize != size:
            raise _damaged(path, "its size does not fit its offsets")
        for first in range(0, len(self.offsets), _BLOCK):
            if bool((np.diff(self.offsets[first : first + _BLOCK + 1]) < 0).any()):
                raise _damaged(path, "its offsets decrease")
        # An empty file cannot be mapped.
        self.values: Array = np.memmap(path, dtype=dtype, mode="r") if size else np.empty(0, dtype)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Array:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def text(self, row: int) -> str:
        """A row of bytes as text."""
        return str(self[row].tobytes(), "utf-8")

    @property
    def lengths(self) -> Array:
        """The length of each row."""
        return np.diff(self.offsets)

    def lengths_of(self, rows: Array) -> Array:
        """The lengths of these rows."""
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows])


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path}: the tokenised text is damaged ({reason})",
        hint="remove the folder of this file and repeat the command with the same text",
    )


class Writer:
    """Appends rows to a new ragged array."""

    def __init__(self, file: BinaryIO, offsets: BinaryIO, dtype: str) -> None:
        self._file, self._offsets, self._dtype, self._end = file, offsets, dtype, 0
        offsets.write(bytes(8))

    def __call__(self, row: Sequence[int] | bytes) -> None:
        """Append a row."""
        self._end += len(row)
        self._offsets.write(self._end.to_bytes(8, sys.byteorder))
        self._file.write(row if isinstance(row, bytes) else np.asarray(row, self._dtype).tobytes())

    def copy(self, rows: Ragged, first: int, last: int) -> None:
        """Append rows `first` to `last` - 1 of another array, all at once."""
        offsets = rows.offsets[first : last + 1]
        self._offsets.write((offsets[1:] - offsets[0] + self._end).tobytes())
        self._file.write(rows.values[offsets[0] : offsets[-1]].astype(self._dtype, copy=False).tobytes())
        self._end += int(offsets[-1] - offsets[0])


@contextmanager
def writing(path: Path, dtype: str) -> Iterator[Writer]:
    """Yield a writer of a new ragged array. Its files appear when the block ends."""
    with (
        replacing(path.with_name(path.name + ".offsets")) as offsets_part,
        replacing(path) as part,
        offsets_part.open("wb") as offsets,
        part.open("wb") as file,
    ):
        yield Writer(file, offsets, dtype)
