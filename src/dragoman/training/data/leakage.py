"""Pairs to measure with that are training pairs, too: counted by the digests that tokenising has kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from dragoman.base.tables import count
from dragoman.text.corpora.corpus import open_pairs
from dragoman.training.data.chunk import digests_of
from dragoman.training.data.tokenising import SEEN, chunks_of

_BLOCK = 1 << 18  # digests looked at together


def leakage(pairs: Sequence[tuple[str, str]], folders: Sequence[Path], *, what: str) -> str:
    """Say how many of the pairs, such as "validation" pairs, are also training pairs; nothing for none."""
    if not (found := also_in(pairs, folders)):
        return ""
    of = f"{found:,} of {count(len(pairs), f'{what} pair')}"
    return f"{of} {'is' if found == 1 else 'are'} also in the training text: scores come out too good"


def also_in(pairs: Sequence[tuple[str, str]], folders: Sequence[Path]) -> int:
    """How many of the pairs are in one of the tokenised texts, with both sides equal but for spaces around.

    Also the other way round, as a text may be learnt in both directions. A pair that occurs twice in `pairs`
    counts twice. Pairs that the filter of a text left out are not in it.
    Texts that earlier releases tokenised have no digests, and nothing is found in them. Two different pairs
    have one digest with a probability of 2^-64. Memory: some 200 bytes for each of `pairs`.
    """
    texts = [path for folder in folders if (path := folder / SEEN).exists() and path.stat().st_size]
    if not texts or not pairs:
        return 0
    wanted: list[int] = []
    for chunk in chunks_of(open_pairs(pairs), _BLOCK, contexts=False):
        ways = (((a, b), (b, a)) for a, b in zip(*chunk.sides, strict=True) if a and b)
        wanted += digests_of(chain.from_iterable(ways)).tolist()
    digests, numbers = np.unique(np.array(wanted, np.uint64), return_inverse=True)
    found = np.zeros(len(digests), bool)
    for path in texts if len(digests) else ():
        rows = np.memmap(path, np.uint64, "r")
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            places = np.minimum(np.searchsorted(digests, block), len(digests) - 1)
            found[places[digests[places] == block]] = True
    return int(found[numbers].reshape(-1, 2).any(axis=1).sum())
