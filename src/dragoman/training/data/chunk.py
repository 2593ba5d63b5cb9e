"""One chunk of tokenised text, the result of a tokenising process, as arrays and as bytes.

The rows of a chunk are the pairs without a reason to leave them out, duplicates included: only a process that
has seen all text before the chunk can tell which pairs are duplicates.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, BinaryIO

import numpy as np

from dragoman.text.corpora.filter import REASONS, FilterConfig, reason_to_leave_out
from dragoman.text.tokenizers.copied import copied, packed
from dragoman.text.tokenizers.tokenizer import Tokenizer

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """The rows of a chunk of n pairs, k of them without a reason to leave them out."""

    reasons: Array  # n numbers: 0, or the place of the reason in REASONS from 1 on
    source: Array  # the tokens of all k rows
    source_lengths: Array  # k numbers
    target: Array
    target_lengths: Array
    copied: Array  # the copied spans of the pairs, if the vocabulary has reserved pieces
    copied_lengths: Array
    digests: Array  # k numbers of 64 bits: equal pairs have equal ones

    def blobs(self) -> list[bytes]:
        """The arrays as bytes, in the order of the fields."""
        return [getattr(self, field.name).tobytes() for field in fields(self)]

    @classmethod
    def of_blobs(cls, blobs: Sequence[bytes], dtype: str) -> Chunk:
        """The chunk that `blobs` came from; `dtype` is the type of tokens."""
        kinds = ("uint8", dtype, "int64", dtype, "int64", "uint32", "int64", "uint64")
        arrays = [np.frombuffer(blob, kind) for blob, kind in zip(blobs, kinds, strict=True)]
        return cls(**{field.name: array for field, array in zip(fields(cls), arrays, strict=True)})


@dataclass(frozen=True, kw_only=True)
class Chunker:
    """Turns pairs into chunks."""

    tokenizer: Tokenizer
    keep: FilterConfig
    dtype: str
    at_once: int = 1 << 20  # lines in a call of the tokenizer, which starts threads for many

    def chunk(self, sources: Sequence[str], targets: Sequence[str]) -> Chunk:
        """Return the chunk of these pairs."""
        source = self._encoded(self.tokenizer.encode_source, sources)
        target = self._encoded(self.tokenizer.encode_target, targets)
        lines = zip(sources, targets, source, target, strict=True)
        reasons = [reason_to_leave_out(self.keep, a, b, len(x), len(y)) for a, b, x, y in lines]
        rows = [row for row, reason in enumerate(reasons) if reason is None]
        source, target = [source[row] for row in rows], [target[row] for row in rows]
        pairs = [(sources[row], targets[row]) for row in rows]
        spans = [packed(copied(*pair)) for pair in pairs] if self.tokenizer.placeholders else []
        return Chunk(
            reasons=np.array([0 if r is None else 1 + REASONS.index(r) for r in reasons], np.uint8),
            source=_joined(source, self.dtype),
            source_lengths=_lengths(source),
            target=_joined(target, self.dtype),
            target_lengths=_lengths(target),
            copied=_joined(spans, "uint32"),
            copied_lengths=_lengths(spans),
            digests=digests_of(pairs),
        )

    def _encoded(
        self, encode: Callable[[Sequence[str]], list[list[int]]], lines: Sequence[str]
    ) -> list[list[int]]:
        return [
            ids
            for first in range(0, len(lines), self.at_once)
            for ids in encode(lines[first : first + self.at_once])
        ]


def digests_of(pairs: Iterable[tuple[str, str]]) -> Array:
    """A number of 64 bits for each pair; equal pairs have equal ones."""
    joined = b"".join(blake2b(f"{a}\0{b}".encode(), digest_size=8).digest() for a, b in pairs)
    return np.frombuffer(joined, np.uint64)


def _joined(rows: Sequence[Sequence[int]], dtype: str) -> Array:
    count = sum(map(len, rows))
    return np.fromiter((number for row in rows for number in row), dtype, count)


def _lengths(rows: Sequence[Sequence[int]]) -> Array:
    return np.fromiter(map(len, rows), np.int64, len(rows))


def put(stream: BinaryIO, blobs: Sequence[bytes]) -> None:
    """Write byte strings to a pipe so that `take` returns them."""
    stream.write(struct.pack(f"<I{len(blobs)}Q", len(blobs), *map(len, blobs)))
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def take(stream: BinaryIO) -> list[bytes]:
    """Read what `put` wrote. Raises EOFError if the pipe ends before."""
    (count,) = struct.unpack("<I", _exactly(stream, 4))
    sizes: Iterable[int] = struct.unpack(f"<{count}Q", _exactly(stream, 8 * count))
    return [_exactly(stream, size) for size in sizes]


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the pipe ended")
    return data
