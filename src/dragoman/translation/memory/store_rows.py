"""The rows of a translation memory's pairs, read and written."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dragoman.translation.memory.likeness import single_spaced

COLUMNS = "source, target, created, changed, author, origin, note, used"


@dataclass(frozen=True)
class Remembered:
    """A pair of a memory. Times are UTC; None means now, when the pair is added."""

    source: str
    target: str
    created: datetime | None = None
    changed: datetime | None = None
    author: str = ""
    origin: str = ""  # the file or program that it comes from
    note: str = ""
    used: int = 0  # how often it was taken over


@dataclass(frozen=True)
class PairRow:
    """A row of a pair."""

    id: int
    source: str
    target: str
    changed: int
    columns: Sequence[Any]

    def pair(self) -> Remembered:
        """The content of the row."""
        return pair_of(self.columns)


def same_source(connection: sqlite3.Connection, text: str) -> list[PairRow]:
    """Return the rows with a source, which has single spaces, the newest first."""
    rows = connection.execute(
        f"SELECT id, {COLUMNS} FROM pairs WHERE key = ? ORDER BY changed DESC, id DESC", (key_of(text),)
    )
    checked = map(whole_row, rows)
    return [
        PairRow(row[0], row[1], row[2], row[4], row[1:]) for row in checked if single_spaced(row[1]) == text
    ]


def whole_row(row: Sequence[Any]) -> Sequence[Any]:
    """Return the row, whose last columns are those of `COLUMNS`. Raise DatabaseError for damaged types."""
    kinds = (str, str, int, int, str, str, str, int)
    if not all(isinstance(value, kind) for value, kind in zip(row[-len(kinds) :], kinds, strict=True)):
        raise sqlite3.DatabaseError("a pair has values of wrong types")
    return row


def insert(connection: sqlite3.Connection, pair: Remembered, created: int, changed: int) -> int:
    """Add a pair with these times, in milliseconds since 1970. Return its id."""
    values = (pair.source, pair.target, created, changed, pair.author, pair.origin, pair.note, pair.used)
    cursor = connection.execute(
        f"INSERT INTO pairs (key, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key_of(single_spaced(pair.source)), *values),
    )
    return int(cursor.lastrowid or 0)


def pair_of(row: Sequence[Any]) -> Remembered:
    """Return the pair in a row of `COLUMNS`."""
    source, target, created, changed, author, origin, note, used = row
    return Remembered(source, target, time_of(created), time_of(changed), author, origin, note, used)


def key_of(text: str) -> int:
    """Return a digest of a source with single spaces, as SQLite stores it."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def milliseconds(when: datetime | None, default: int) -> int:
    """Return a time in milliseconds since 1970."""
    return default if when is None else int(when.timestamp() * 1000)


def time_of(milliseconds: int) -> datetime:
    """Return the time that a row has. Raise DatabaseError if damage made it impossible."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise sqlite3.DatabaseError(f"a time of {milliseconds} ms") from error
