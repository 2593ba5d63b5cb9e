"""Marian's binary shortlists, such as Firefox's `lex.50.50.ende.s2t.bin`.

    uint64   magic, checksum of all that follows it, first, best, number of offsets, number of ids
    uint64   offsets: the translations of source token i are the ids from offset i to offset i + 1
    uint32   ids, sorted within a source token

A sentence may use the target tokens 0 .. first - 1, the translations of its tokens and, if both sides share a
vocabulary, these tokens themselves. Read in marian-dev: src/data/shortlist.cpp, commit 2781d735 of browsermt.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman.base.errors import ModelError

_MAGIC = 0xF11A48D5013417F5
_HEAD = struct.Struct("<6Q")
_WHOLE = "was it copied whole? download it again"


def read_binary_shortlist(path: Path, *, sources: int, targets: int) -> tuple[int, list[np.ndarray]]:
    """Return how many of the first target ids are always allowed, and the translations of each source token.

    `sources` and `targets` are the sizes of the vocabularies. Raises ModelError if the file is damaged or
    does not fit them.
    """
    try:
        data = path.read_bytes()
        magic, checksum, first, _, offsets, ids = _HEAD.unpack_from(data)
        if magic != _MAGIC:
            raise ValueError("it does not begin as one")
        if len(data) != _HEAD.size + 8 * offsets + 4 * ids:
            raise ValueError(f"{len(data):,} bytes for {offsets:,} offsets and {ids:,} ids")
        if _checksum(data[16:]) != checksum:
            raise ValueError("its checksum is wrong")
        place_V = np.frombuffer(data, "<u8", offsets, _HEAD.size).astype(np.int64)
        found = np.frombuffer(data, "<u4", ids, _HEAD.size + 8 * offsets)
        if len(place_V) != sources + 1:
            raise ValueError(f"{len(place_V) - 1:,} source tokens, and the vocabulary has {sources:,}")
        if place_V[0] or place_V[-1] != ids or (np.diff(place_V) < 0).any():
            raise ValueError("its offsets are not in order")
        if not 0 < first <= targets or (len(found) and int(found.max()) >= targets):
            raise ValueError(f"ids outside a vocabulary of {targets:,}")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=_WHOLE) from error
    except (ValueError, struct.error) as error:
        raise ModelError(f"{path}: not a binary shortlist of this model ({error})", hint=_WHOLE) from error
    return first, np.split(found, place_V[1:-1])


def binary_shortlist(first: int, best: int, rows: Sequence[Sequence[int]]) -> bytes:
    """Return the content of a file. `best` is the greatest number of translations of a source token."""
    found = [sorted(set(row)) for row in rows]
    places = np.cumsum([0, *map(len, found)], dtype="<u8")
    ids = np.array([number for row in found for number in row], "<u4")
    body = struct.pack("<4Q", first, best, len(places), len(ids)) + places.tobytes() + ids.tobytes()
    return struct.pack("<2Q", _MAGIC, _checksum(body)) + body


def _checksum(body: bytes) -> int:
    """Combine the 64-bit numbers as boost::hash_combine does. A last half of one does not count."""
    seed, mask = 0, 2**64 - 1
    for number in np.frombuffer(body, "<u8", len(body) // 8).tolist():
        seed ^= (number + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & mask
    return seed
