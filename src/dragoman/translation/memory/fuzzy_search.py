"""Find segments of a memory that may be similar to a text: they share words with it, rare ones first.

For each word and pair of words, a posting list has the ids of the segments with it. The lists are divided by
the length of the segments, since segments of very different lengths are not alike. A row holds a part of a
list: up to 1,024 ids as integers of 4 bytes, the least significant first. Its own id is

    hash of the word, 32 bits | class of length, 5 bits | number of the part, 19 bits

so that a range of ids is a word's segments of several classes of length.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
import sys
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from operator import itemgetter

from dragoman.text.scripts import is_unspaced
from dragoman.translation.memory.similarity import keys, likeness, single_spaced
from dragoman.translation.memory.store_file import COLUMNS, whole_row

_PART = 1024  # ids
_POSTINGS = 4000  # ids that a search looks at; more only until there are enough candidates
_CANDIDATES = 100
_UNSPACED_FACTOR = 3  # for both: without spaces there are more words, and each says less
_STEP = 1.75  # how much longer the segments of a class may be than in the class before


def add(connection: sqlite3.Connection, segments: Iterable[tuple[int, str]]) -> None:
    """Enter segments, each with its id, below 2^32."""
    lists: dict[int, array[int]] = defaultdict(lambda: array("I"))
    for number, text in segments:
        length = _class(text) << 19
        for key in keys(text):
            lists[_word(key) | length].append(number)
    for first in sorted(lists):
        _append(connection, first, lists[first])


def candidates(connection: sqlite3.Connection, text: str) -> list[int]:
    """Return the ids of the segments that share most words with a text, some hundred at most."""
    factor = _UNSPACED_FACTOR if is_unspaced(text) else 1
    length = _class(text)
    low, high = max(length - 1, 0) << 19, (length + 2 << 19) - 1
    ranges = []
    for word in map(_word, keys(text)):
        (size,) = connection.execute(
            "SELECT sum(length(ids)) FROM postings WHERE id BETWEEN ? AND ?", (word | low, word | high)
        ).fetchone()
        if size:
            ranges.append((size // 4, word))
    shared: Counter[int] = Counter()
    looked = 0
    for count, word in sorted(ranges):
        if len(shared) >= _CANDIDATES * factor and looked + count > _POSTINGS * factor:
            break
        looked += count
        for (ids,) in connection.execute(
            "SELECT ids FROM postings WHERE id BETWEEN ? AND ?", (word | low, word | high)
        ):
            shared.update(_numbers(ids))
    best = heapq.nlargest(_CANDIDATES * factor, shared.items(), key=itemgetter(1))
    return [number for number, _ in best]


def _append(connection: sqlite3.Connection, first: int, ids: array[int]) -> None:
    """Put ids at the end of the list whose first part is `first`."""
    last = connection.execute(
        "SELECT id, ids FROM postings WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
        (first, first | (1 << 19) - 1),
    ).fetchone()
    place, part = 0, first
    if last is not None:
        part, old = last[0], _bytes(_numbers(last[1]))
        place = _PART - len(old) // 4
        if place > 0:
            connection.execute("UPDATE postings SET ids = ? WHERE id = ?", (old + _bytes(ids[:place]), part))
        part += 1
    for start in range(place, len(ids), _PART):
        chunk = _bytes(ids[start : start + _PART])
        connection.execute("INSERT INTO postings VALUES (?, ?)", (part, chunk))
        part += 1


def _word(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass")) << 24


def _class(text: str) -> int:
    return min(int(math.log(max(len(text), 1), _STEP)), 31)


def _bytes(ids: array[int]) -> bytes:
    if sys.byteorder == "big":
        ids = array("I", ids)
        ids.byteswap()
    return ids.tobytes()


def _numbers(data: bytes) -> array[int]:
    if not isinstance(data, bytes):
        raise sqlite3.DatabaseError("a posting list of a wrong type")
    ids = array("I")
    ids.frombytes(data[: len(data) // 4 * 4])
    if sys.byteorder == "big":
        ids.byteswap()
    return ids


def alike(connection: sqlite3.Connection, text: str, least: float, most: int) -> list[tuple[float, str]]:
    """Return up to `most` sources that are at least `least` percent alike but not equal, the best first."""
    found: list[tuple[float, str]] = []
    for number in candidates(connection, text):
        row = connection.execute(f"SELECT {COLUMNS} FROM pairs WHERE id = ?", (number,)).fetchone()
        other = single_spaced(whole_row(row)[0]) if row else text
        score = likeness(text, other, least) if other != text else 0.0
        if score:
            found.append((score, other))
            found.sort(key=lambda one: -one[0])
            del found[most:]
            least = max(least, found[-1][0]) if len(found) == most else least
    return found
