"""Near-duplicates by MinHash (Broder 1997, "On the resemblance and containment of documents").

Two texts are as alike as their sets of shingles, which are runs of four characters:

    similarity(A, B) = |A and B| / |A or B|

The least of all hashes of a set is equal for two sets with that probability. A signature has `HASHES` of
them. Texts with an equal band of a signature are candidates (Leskovec et al., "Mining of Massive Datasets",
section 3.4), so that no text is compared with all others. Ten bands of four find 99.5 % of the pairs of
similarity 0.8, 94 % at 0.7 and 75 % at 0.6.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

SHINGLE = 4  # characters
BANDS, ROWS = 10, 4
HASHES = BANDS * ROWS
_MINUS = re.compile(r"(?<!\w)-(?=\d)")
_CHANCE = np.random.Generator(np.random.PCG64(1))  # numbers that never change: signatures may be on a disk
_FACTORS = _CHANCE.integers(1, 1 << 63, HASHES, np.uint64) * np.uint64(2) + np.uint64(1)
_TERMS = _CHANCE.integers(1, 1 << 63, HASHES, np.uint64)
_PLACES = _CHANCE.integers(1, 1 << 63, SHINGLE, np.uint64) * np.uint64(2) + np.uint64(1)


class _Plain(dict[int, str]):
    """Characters by their codes: a space for those that are no letters, vowel signs, digits or symbols."""

    def __missing__(self, code: int) -> str:
        kind = unicodedata.category(character := chr(code))
        meant = kind[0] in "LMN" or kind in ("Sm", "Sc", "So") or character in "#%"
        return self.setdefault(code, character if meant else " ")


_PLAIN = _Plain()


def normalised(text: str) -> str:
    """The text without case, marks of punctuation, and forms of characters; a space between words."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(_MINUS.sub("−", text).casefold().translate(_PLAIN).split())


def similarity(one: str, other: str) -> float:
    """How alike two normalised texts are, from 0 to 1 (Jaccard index): 1 for equal ones."""
    if one == other:
        return 1.0
    left, right = _shingles(one), _shingles(other)
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared)


def signatures(texts: Sequence[str], many: int = HASHES) -> Array:
    """The first `many` numbers of the signatures of n normalised texts: n x many, of 32 bits."""
    padded = [_padded(text) for text in texts]
    found = np.zeros((len(padded), many), np.uint32)
    if not padded:
        return found
    characters = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), "<u4")
    lengths = np.fromiter(map(len, padded), np.int64, len(padded))
    ends = np.cumsum(lengths)
    inside = np.ones(len(characters), bool)  # whether a shingle that starts here ends in the same text
    for back in range(1, SHINGLE):
        inside[ends - back] = False
    hashes = np.zeros(len(characters) - SHINGLE + 1, np.uint64)
    for place, factor in enumerate(_PLACES):
        hashes += characters[place : place + len(hashes)] * factor
    hashes = hashes[inside[: len(hashes)]]
    hashes ^= hashes >> np.uint64(31)
    starts = np.concatenate([[0], np.cumsum(lengths - SHINGLE + 1)[:-1]])
    for column, (factor, term) in enumerate(zip(_FACTORS[:many], _TERMS[:many], strict=True)):
        values = ((hashes * factor + term) >> np.uint64(32)).astype(np.uint32)
        found[:, column] = np.minimum.reduceat(values, starts)
    return found


def band_keys(found: Array) -> Array:
    """The bands of n signatures as n x `BANDS` numbers of 64 bits. Equal bands in other places differ."""
    keys = np.zeros((len(found), BANDS), np.uint64)
    keys += np.arange(1, BANDS + 1, dtype=np.uint64)
    bands = found.reshape(len(found), BANDS, ROWS)
    for row in range(ROWS):
        keys = (keys ^ bands[:, :, row]) * _PLACES[row % SHINGLE]
        keys ^= keys >> np.uint64(29)
    return keys


def _padded(text: str) -> str:
    """The text with spaces around, at least as long as a shingle."""
    return f" {text} ".ljust(SHINGLE)


@lru_cache(1024)  # texts of one group are compared one after the other, held-out ones again and again
def _shingles(text: str) -> set[str]:
    text = _padded(text)
    return {text[start : start + SHINGLE] for start in range(len(text) - SHINGLE + 1)}
