"""The SQLite file of a translation memory: its tables and rows, a connection for each thread, and its errors.

Writers of several threads and processes wait for each other. Whatever `writing` has committed is on the disk:
neither a crash nor a power cut takes it away (write-ahead log, synchronous=FULL).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dragoman.base.errors import DataError
from dragoman.translation.memory.similarity import single_spaced

FORMAT_VERSION = 1
_APPLICATION = 0x6472676D  # "drgm", at a fixed place of the file
_PATIENCE = 30.0  # seconds that a writer waits for others
_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    # `key` is a digest of the source with single spaces. Times are milliseconds since 1970.
    "CREATE TABLE pairs (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, source TEXT NOT NULL, "
    "target TEXT NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL, author TEXT NOT NULL, "
    "origin TEXT NOT NULL, note TEXT NOT NULL, used INTEGER NOT NULL) STRICT",
    "CREATE INDEX pairs_by_key ON pairs (key)",
    # See `fuzzy_search.py`.
    "CREATE TABLE postings (id INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT",
)
_FULL = "make room on the disk; confirmed translations are kept"
_RESTORE = "restore a copy of the file, or import its pairs into a new memory"
_inherited: list[sqlite3.Connection] = []  # from the parent of this process
COLUMNS = "source, target, created, changed, author, origin, note, used"


class ThreadConnection:
    """Closes a connection when its thread has ended and no other uses it.

    A connection is part of a cycle, so by itself it would stay open until the garbage is collected.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._process = os.getpid()

    def __del__(self) -> None:
        if self._process == os.getpid():
            self.connection.close()
        else:  # after a fork, a connection must not even be closed
            _inherited.append(self.connection)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Keep a write-ahead log. SQLite does not wait for the lock that this takes."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


class StoreFile:
    """A memory's file. Each thread gets a connection of its own."""

    def __init__(self, path: Path) -> None:
        """Raise DataError if there is no memory at `path`, or it cannot be read."""
        self.path = path
        if not path.is_file():
            what = "not a file" if path.exists() else "no such translation memory"
            raise DataError(f"{path}: {what}", hint=f"make one: dragoman memory import {path} FILE.tmx")
        self.writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        self._local = threading.local()
        self._writer = threading.Lock()
        self._opened: weakref.WeakSet[ThreadConnection] = weakref.WeakSet()
        self._process = os.getpid()
        try:
            with explained(path):
                self._check(self._held().connection)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path, about: dict[str, str]) -> StoreFile:
        """Make a memory, unless there is one already. Raise DataError for a file that is something else."""
        with explained(path):
            connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                if _value(connection, "application_id") == 0 and _is_empty(connection):
                    _use_wal(connection)
                    connection.execute("BEGIN IMMEDIATE")
                    if _is_empty(connection):  # no other process was faster
                        _create(connection, about)
                    connection.execute("COMMIT")
            finally:
                connection.close()
        return cls(path)

    def _held(self) -> ThreadConnection:
        """The connection of this thread."""
        if self._process != os.getpid():  # a connection must not be used after a fork
            self._local, self._writer = threading.local(), threading.Lock()
            self._opened, self._process = weakref.WeakSet(), os.getpid()
        held: ThreadConnection | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = ThreadConnection(self._connect())
            self._opened.add(held)
        return held

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to read with. Raise DataError if the file is damaged."""
        with explained(self.path):
            held = self._held()  # by this frame, too: a generator may outlive its thread
            yield held.connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose changes are all on the disk after the block, or none of them.

        Raise DataError if they cannot be written.
        """
        if not self.writable:
            raise _protected(self.path)
        with explained(self.path):
            held = self._held()
            connection = held.connection
            with self._writer:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:  # SQLite itself may have gone back
                        connection.execute("ROLLBACK")
                    raise

    def close(self) -> None:
        """Close the connections of all threads."""
        opened, self._opened = list(self._opened), weakref.WeakSet()
        self._local = threading.local()
        if self._process == os.getpid():
            for held in opened:
                held.connection.close()

    def _connect(self) -> sqlite3.Connection:
        options = "mode=rw"
        if not self.writable:
            log, index = (self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm"))
            # Without a log the file is complete. SQLite must be told that it may do without the index of
            # the log, which it cannot write here. If an index exists, another process may be about to write.
            alone = not log.exists() or not (log.stat().st_size or index.exists())
            options = "mode=ro&immutable=1" if alone else "mode=ro"
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{options}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,  # `close` is called by one thread for all
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")  # files may be untrusted
        connection.execute("PRAGMA cell_size_check = ON")
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        application, version = _value(connection, "application_id"), _value(connection, "user_version")
        if application != _APPLICATION:
            raise _not_a_memory(self.path)
        if version != FORMAT_VERSION:
            raise DataError(
                f"{self.path}: format_version {version}, this dragoman reads {FORMAT_VERSION}",
                hint="upgrade dragoman",
            )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into DataErrors that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(path, error) from error
    except UnicodeDecodeError as error:  # SQLite quotes the damaged text
        raise DataError(f"{path}: damaged (not UTF-8)", hint=_RESTORE) from error
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror or error}", hint="check the path and its permissions"
        ) from error


def _explained(path: Path, error: sqlite3.Error) -> DataError:
    name = getattr(error, "sqlite_errorname", "")
    match name.split("_")[1:2]:
        case ["NOTADB"]:
            return _not_a_memory(path)
        case ["FULL"]:
            return DataError(f"{path}: the disk is full", hint=_FULL)
        case ["IOERR"]:
            return DataError(f"{path}: cannot be read or written ({error})", hint=_FULL)
        case ["BUSY" | "LOCKED"]:
            return DataError(
                f"{path}: another program has been writing for {_PATIENCE:.0f} s", hint="try again later"
            )
        case ["READONLY"]:
            return _protected(path)
        case ["CANTOPEN"]:
            return DataError(f"{path}: cannot be opened", hint="check the path and its permissions")
    return DataError(f"{path}: damaged ({error})", hint=_RESTORE)


def _protected(path: Path) -> DataError:
    return DataError(f"{path}: is write-protected", hint="copy the memory, or change its permissions")


def _not_a_memory(path: Path) -> DataError:
    return DataError(
        f"{path}: not a translation memory of dragoman",
        hint="make one from a .tmx, .tsv or .jsonl file, or two files of lines: see dragoman memory --help",
    )


def _value(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()


def _create(connection: sqlite3.Connection, about: dict[str, str]) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


@dataclass(frozen=True)
class Remembered:
    """A pair of a memory. Times are UTC. A missing time is the other one, or now if both are missing."""

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
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError as error:
        raise sqlite3.DatabaseError(f"a time of {milliseconds} ms") from error
