"""Rows of different length on disk: a file of the values of all rows, and one of the offset of each row."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base.errors import DataError
from dragoman.base.files import replacing

Array = np.ndarray[Any, np.dtype[Any]]


class Ragged:
    """Rows of different length in a memory-mapped file. Raises DataError if it is missing or damaged."""

    def __init__(self, path: Path, dtype: str) -> None:
        try:
            self.offsets: Array = np.fromfile(path.with_name(path.name + ".offsets"), dtype=np.int64)
            # An empty file cannot be mapped.
            size = path.stat().st_size
        except OSError as error:
            raise _damaged(path, error.strerror or str(error)) from error
        ends = self.offsets[:1].tolist() + self.offsets[-1:].tolist()
        if ends != [0, size // np.dtype(dtype).itemsize] or size % np.dtype(dtype).itemsize:
            raise _damaged(path, "its size does not fit its offsets")
        if bool((np.diff(self.offsets) < 0).any()):
            raise _damaged(path, "its offsets decrease")
        self.values: Array = np.memmap(path, dtype=dtype, mode="r") if size else np.empty(0, dtype)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Array:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Array:
        """The length of each row."""
        return np.diff(self.offsets)


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path}: the tokenised text is damaged ({reason})",
        hint="remove the folder of this file and repeat the command with the same text",
    )


@contextmanager
def writing(path: Path, dtype: str) -> Iterator[Callable[[Sequence[int] | bytes], None]]:
    """Yield a function that appends a row to a new ragged array. Its files appear when the block ends."""
    offsets = array("q", [0])
    with replacing(path.with_name(path.name + ".offsets")) as offsets_part, replacing(path) as part:
        with part.open("wb") as file:

            def add(row: Sequence[int] | bytes) -> None:
                offsets.append(offsets[-1] + len(row))
                file.write(row if isinstance(row, bytes) else np.asarray(row, dtype).tobytes())

            yield add
        with offsets_part.open("wb") as file:
            offsets.tofile(file)
