"""The order in which an epoch goes through more pairs than should be sorted at once.

`plan` needs about 50 bytes of memory for each pair (`benchmarks/planning.py`). A text of more than `LARGE`
pairs is therefore cut into blocks of neighbouring pairs. Each epoch shuffles the blocks and plans pools of
about `POOL` pairs, one after the other, so memory does not grow with the text. A pool has blocks from all
over the text, and its batches mix them, while reading stays close to sequential. Up to `LARGE` pairs, an
epoch is one plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[Any]]

LARGE = 1 << 21  # pairs
POOL = 1 << 20
BLOCK = 1 << 10


def pools(count: int, *, seed: int, epoch: int) -> Iterator[Ints]:
    """Yield the rows of each pool; every one of `count` rows is in exactly one pool."""
    blocks = np.random.default_rng((seed, epoch, 0, 1)).permutation(-(-count // BLOCK))
    for pool in np.array_split(blocks, -(-count // POOL)):
        rows = (pool[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        yield rows[rows < count]
