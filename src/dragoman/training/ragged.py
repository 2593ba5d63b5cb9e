"""Rows of different length on disk: a file of the values of all rows, and one of the offset of each row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base.files import replacing

Array = np.ndarray[Any, np.dtype[Any]]


class Ragged:
    """Rows of different length in a memory-mapped file."""

    def __init__(self, path: Path, dtype: str) -> None:
        self.offsets: Array = np.memmap(path.with_name(path.name + ".offsets"), dtype=np.int64, mode="r")
        self.offsets = self.offsets.view(np.ndarray)  # faster to index
        # An empty file cannot be mapped.
        size = path.stat().st_size
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
