"""Rows of different length on disk: a file of the values of all rows, and one of the offset of each row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


@contextmanager
def writing(path: Path, dtype: str) -> Iterator[Callable[[Sequence[int] | bytes], None]]:
    """Yield a function that appends a row to a new ragged array. Its files appear when the block ends."""
    with (
        replacing(path.with_name(path.name + ".offsets")) as offsets_part,
        replacing(path) as part,
        offsets_part.open("wb") as offsets,
        part.open("wb") as file,
    ):
        end = 0
        offsets.write(bytes(8))

        def add(row: Sequence[int] | bytes) -> None:
            nonlocal end
            end += len(row)
            offsets.write(end.to_bytes(8, sys.byteorder))
            file.write(row if isinstance(row, bytes) else np.asarray(row, dtype).tobytes())

        yield add
