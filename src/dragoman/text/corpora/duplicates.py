"""Which rows are new: digests in sorted runs, most of them on disk.

A run is merged with the next one when that is at least half as long, so there are few runs, and each digest
is written few times (a log-structured merge tree: O'Neil et al. 1996). A text of n rows takes 8 n bytes of
disk, and of memory only what the system caches of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class SeenRows:
    """The 64-bit digests of rows. Two different texts of n have one digest with probability n squared / 2^65.

    For 40 million texts that is 1 in 23,000. Runs of more than `IN_MEMORY` digests are files in `folder`
    without a name, so nothing is left over if the process is killed.
    """

    IN_MEMORY = 1 << 18
    BLOCK = 1 << 18  # digests of the longer run that are merged at once

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: list[Array] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, digests: Array) -> Array:
        """Add the digests; return for each whether it was new: not among earlier ones, here or before."""
        unique, first = np.unique(digests, return_index=True)
        known = np.zeros(len(unique), bool)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, unique), len(run) - 1)
            known |= run[places] == unique
        fresh = np.zeros(len(digests), bool)
        fresh[first[~known]] = True
        if not known.all():
            self._append(unique[~known])
        return fresh

    def _append(self, run: Array) -> None:
        self._runs.append(run)
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = self._merged(self._runs[-1], last)

    def _merged(self, long: Array, short: Array) -> Array:
        if len(long) + len(short) <= self.IN_MEMORY:
            return np.concatenate([*self._blocks(long, short)])
        # Without a name, so that it goes with the process; the map keeps it alive.
        with tempfile.TemporaryFile(dir=self._folder) as file:
            for block in self._blocks(long, short):
                file.write(block.tobytes())
            file.flush()
            return np.memmap(file, np.uint64, "r")

    def _blocks(self, long: Array, short: Array) -> Iterator[Array]:
        """The merged runs, in blocks. Digests are spread evenly, so the parts of `short` are of like size."""
        cuts = [*range(self.BLOCK, len(long), self.BLOCK)]
        others = [0, *np.searchsorted(short, long[cuts]).tolist(), len(short)]
        for i, start in enumerate([0, *cuts]):
            block = np.concatenate([long[start : start + self.BLOCK], short[others[i] : others[i + 1]]])
            block.sort(kind="stable")  # finds the two runs
            yield block
