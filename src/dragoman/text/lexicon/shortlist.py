"""Vocabulary shortlists: the target tokens that a translation of a sentence may use.

A shortlist has the most frequent target tokens and, for each source token, its likeliest translations. A
sentence may use the frequent ones and the translations of its own tokens (Jean et al. 2015, section 3.3), so
that a search computes a few hundred logits instead of a whole vocabulary.

`shortlist.safetensors` has these tensors. V is the source vocabulary.

    candidates   I32 [V, N]  translations of each source token, likeliest first; -1 fills a row
    frequent     I32 [K]     the most frequent target tokens, the most frequent first
    probability  F32 [V, N]  p(translation | source token) of the candidates; 0 where these are -1

Its metadata has the format, its version, and the digest of the tokenizer whose ids it holds.

Reading it takes neither numpy nor torch: the file is mapped, and a row is read when its token occurs.
"""

from __future__ import annotations

import json
import math
import mmap
import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ModelError
from dragoman.base.files import write_whole

if TYPE_CHECKING:
    import numpy as np

SHORTLIST = "shortlist.safetensors"
_FORMAT = {"format": "dragoman-shortlist", "version": "1"}
_LONGEST = 10_000  # bytes of the header
_REMAKE = "delete it, or make it again with dragoman model shortlist"


class Shortlist:
    """The target tokens that each source token allows.

    `candidates` has `width` target ids for each source token, row after row, -1 for none.
    """

    def __init__(
        self, frequent: Iterable[int], candidates: memoryview, width: int, *, target_vocab: int
    ) -> None:
        """Raises ValueError if a frequent token is not in the target vocabulary."""
        self.frequent, self.width, self.target_vocab = frozenset(frequent), width, target_vocab
        self._candidates = candidates
        self._row = lru_cache(maxsize=4096)(self._read_row)
        self._check(self.frequent)

    @classmethod
    def read(cls, path: Path, *, tokenizer: str, source_vocab: int, target_vocab: int) -> Shortlist:
        """Map the file at `path`. Raises ModelError if it is damaged or made for another tokenizer."""
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            begin, table = _header(mapped)
            if table["__metadata__"].get("tokenizer") != tokenizer:
                raise ValueError("it was made for another tokenizer")
            (rows, width), candidates = _numbers(mapped, begin, table, "candidates", 2)
            _, frequent = _numbers(mapped, begin, table, "frequent", 1)
            if rows != source_vocab:
                raise ValueError(f"it has {rows:,} source tokens, the model {source_vocab:,}")
            return cls(frequent, candidates, width, target_vocab=target_vocab)
        except OSError as error:
            raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=_REMAKE) from error
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{path}: not a shortlist of this model ({error})", hint=_REMAKE) from error

    def of(self, source: Iterable[int]) -> tuple[int, ...]:
        """Return the target ids that a translation of these source tokens may use, sorted.

        Raises ModelError if the file has an id outside the target vocabulary.
        """
        try:
            return tuple(sorted(self.frequent.union(*map(self._row, set(source)))))
        except ValueError as error:
            raise ModelError(f"{SHORTLIST}: {error}", hint=_REMAKE) from error

    def _read_row(self, token: int) -> frozenset[int]:
        row = frozenset(self._candidates[token * self.width : (token + 1) * self.width]) - {-1}
        self._check(row)
        return row

    def _check(self, tokens: frozenset[int]) -> None:
        if tokens and not 0 <= min(tokens) <= max(tokens) < self.target_vocab:
            raise ValueError(
                f"tokens from {min(tokens)} to {max(tokens)}, of a vocabulary of {self.target_vocab:,}"
            )


def write(
    path: Path, *, tokenizer: str, frequent: np.ndarray, candidates: np.ndarray, probability: np.ndarray
) -> None:
    """Write a shortlist, whole or not at all: int32 [K], int32 [V, N] and float32 [V, N].

    `tokenizer` is the digest of the tokenizer.
    """
    from safetensors.numpy import save

    tensors = {"frequent": frequent, "candidates": candidates, "probability": probability}
    write_whole(path, save(tensors, {**_FORMAT, "tokenizer": tokenizer}))


def _header(mapped: mmap.mmap) -> tuple[int, dict[str, Any]]:
    """Return where the numbers begin, and the table of tensors. Raises ValueError for another file."""
    begin = 8 + int.from_bytes(mapped[:8], "little")
    if begin > min(len(mapped), _LONGEST):
        raise ValueError(f"its header is {begin - 8:,} bytes long")
    table = json.loads(mapped[8:begin])
    about = table.get("__metadata__") if isinstance(table, dict) else None
    if not isinstance(about, dict) or any(about.get(name) != value for name, value in _FORMAT.items()):
        raise ValueError(f"its header does not say {_FORMAT['format']}, version {_FORMAT['version']}")
    return begin, table


def _numbers(
    mapped: mmap.mmap, begin: int, table: dict[str, Any], name: str, dimensions: int
) -> tuple[list[int], memoryview]:
    """Return the shape of an I32 tensor and its numbers. Raises ValueError if it does not fit the file."""
    try:
        row = table[name]
        shape, (first, last), dtype = row["shape"], row["data_offsets"], row["dtype"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"its header has no shape, type and place of {name}") from None
    whole = isinstance(shape, list) and all(type(n) is int and n > 0 for n in (*shape, last))
    if not whole or type(first) is not int or len(shape) != dimensions or dtype != "I32":
        raise ValueError(f"{name} does not have the shape and type of a shortlist")
    if not 0 <= first <= last <= len(mapped) - begin or last - first != 4 * math.prod(shape):
        raise ValueError(f"{name} does not fit into the file")
    view = memoryview(mapped)[begin + first : begin + last].cast("i")
    if sys.byteorder == "big":  # the file is little-endian
        swapped = array("i", view)
        swapped.byteswap()
        view = memoryview(swapped)
    return shape, view
