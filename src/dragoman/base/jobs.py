"""Jobs that take long: after a kill, the same command resumes with the missing parts.

A job knows its inputs (`about`, mostly digests), holds a `Lock`, and keeps one of these records:

    JobRecord      one table, written whole each time
    GrowingFiles   files that are appended to, and a JobRecord of how much of each counts
    Journal        a line for each finished part

A part of a job may be a file of its own: `write_part`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Self

from dragoman.base.errors import ConfigError
from dragoman.base.files import check_writable, digest_of_table, explaining, write_whole

# Bytes of a file of a model folder up to which it is read. Weights are larger; config.json has their digest.
_SMALL = 2**20

# ---- the inputs of a job -----------------------------------------------------------------------------


def digest(content: str | bytes | Iterable[str | bytes]) -> str:
    """Return a digest of the content, or of several one after the other: BLAKE2b, 16 bytes in hexadecimal."""
    whole = hashlib.blake2b(digest_size=16)
    for one in [content] if isinstance(content, str | bytes) else content:
        whole.update(one.encode() if isinstance(one, str) else one)
    return whole.hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the `digest` of a file, which is read in blocks. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()


def digest_of_place(*places: str | Path, times: bool = True) -> str:
    """Return a digest of files, or of the files of a model folder. Raises OSError.

    Another name, as of a hub, stays as it is. Of a large file in a folder, the time of its last change counts
    instead of its content; without `times`, as for a copy on another machine, only its size does.
    """
    whole = hashlib.blake2b(digest_size=16)
    for place in map(Path, places):
        if not place.exists() and len(places) == 1:
            return str(places[0])
        folder = place.is_dir()
        for path in sorted(one for one in place.iterdir() if one.is_file()) if folder else [place]:
            status = path.stat()
            whole.update(
                f"{path.name if folder else ''} {status.st_size}\n".encode("utf-8", "surrogateescape")
            )
            if folder and status.st_size > _SMALL:
                whole.update(str(status.st_mtime_ns).encode() if times else b"")
                continue
            with path.open("rb") as file:
                while block := file.read(_SMALL):
                    whole.update(block)
    return whole.hexdigest()


def check_same(path: Path, begun: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Raise ConfigError if the job in `path` was begun with other inputs than it would resume with."""
    changed = [name for name in begun.keys() | now.keys() if begun.get(name) != now.get(name)]
    if changed:
        names = sorted(name.rstrip("_").replace("_", "-") for name in changed)  # as options are written
        raise ConfigError(
            f"{path}: was begun with another {', '.join(names)}",
            hint="repeat the command that began it, which resumes there, or delete the file",
        )


# ---- the lock ----------------------------------------------------------------------------------------


class Lock:
    """A lock on a file, which is created. The operating system releases it when the process ends.

    Messages are about `place`, by default the file. With `owner`, they name the process that holds the lock.
    """

    def __init__(self, path: Path, place: Path | None = None, *, owner: bool = False) -> None:
        # Windows neither renames nor deletes a file that is locked, so there the lock is a file of its own.
        self._path = path.with_name(f"{path.name}.lock") if sys.platform == "win32" else path
        self._place = place or path
        self._owner = path.with_name(f"{path.name}.owner") if owner else None
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock, unless it is held already. Raises ConfigError if another command holds it.

        If the file system has no locks, a warning is logged. A file that cannot be written gets no lock: the
        first file that is written there reports the error.
        """
        if self._file is not None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return
        try:
            _lock(file)
            # Another command may have moved or deleted the file since it was opened.
            taken = not (self._path.exists() and os.path.samestat(os.fstat(file), self._path.stat()))
        except (BlockingIOError, PermissionError):  # the latter on Windows
            taken = True
        except (ImportError, OSError) as error:
            os.close(file)
            import logging  # a few milliseconds

            text = "%s: cannot be locked (%s); do not start a second command there"
            logging.getLogger(__name__).warning(text, self._place, error)
            return
        if taken:
            os.close(file)
            what, who = "folder" if self._place.is_dir() else "file", ""
            with contextlib.suppress(OSError, ValueError):
                who = self._owner.read_text(encoding="utf-8").strip() if self._owner is not None else ""
            raise ConfigError(
                f"{self._place}: another command is writing this {what}{who and ': '}{who}",
                hint="wait until it ends, stop it, or choose another place with -o",
            )
        self._file = file
        if self._owner is not None:
            import socket

            write_whole(self._owner, f"process {os.getpid()} on {socket.gethostname()}\n")

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._file is not None:
            if self._owner is not None:
                self._owner.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None
            if sys.platform == "win32":
                with contextlib.suppress(OSError):  # another command has opened it
                    self._path.unlink()

    @property
    def inheritable(self) -> tuple[int, ...]:
        """For `pass_fds` of a process that shares the lock: it is held until the last of them ends."""
        return () if self._file is None or sys.platform == "win32" else (self._file,)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _lock(file: int) -> None:
    """Lock an open file. Raises BlockingIOError or PermissionError if another process holds the lock.

    Raises ImportError or OSError if there are no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# ---- finished work -----------------------------------------------------------------------------------


class JobRecord:
    """The progress of a job in a JSON file: under `key` the inputs of the job, and a table of its own.

    The record of another job is ignored, or, if `refused` is a path, raises ConfigError about that path.
    """

    def __init__(self, path: Path, about: object, *, key: str = "about", refused: Path | None = None) -> None:
        self.path, self._about, self._key, self._refused = path, about, key, refused

    def read(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the table, or an empty one if it is missing, damaged, or not one that `fits`."""
        try:
            table = dict(json.loads(self.path.read_text(encoding="utf-8")))
            seal = table.pop("digest", None)  # none in version 0.2
            if seal not in (None, digest_of_table(table)):
                return {}
            about = table.pop(self._key)
            if not fits(table):
                return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
        if about == self._about:
            return table
        if self._refused is not None and isinstance(about, dict) and isinstance(self._about, dict):
            check_same(self._refused, about, self._about)
        return {}

    def write(self, **table: object) -> None:
        """Replace the table, whole or not at all. Raises DragomanError."""
        whole = {self._key: self._about, **table}
        write_whole(self.path, json.dumps({**whole, "digest": digest_of_table(whole)}))

    def delete(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


class GrowingFiles:
    """Files in a folder that grow, and a record of how much of each counts.

    `read` sets the `table` that the last `save` noted; it is empty without a usable record. If a file has
    changed since, it is empty, too, and a warning is logged. `open` cuts off what follows the recorded sizes.
    """

    SECONDS = 10.0  # between two records: what a kill may cost

    def __init__(self, folder: Path, record: JobRecord) -> None:
        self.folder, self.record = folder, record
        self.table: dict[str, Any] = {}
        self._files: dict[str, BinaryIO] = {}
        self._hashes: dict[str, hashlib.blake2b] = {}  # of all that counts
        self._stack = ExitStack()
        self._due = 0.0

    def read(self) -> None:
        """Read the record. Raises ConfigError if another job's record is refused."""
        self.table = self.record.read(self._fits)

    def open(self, names: Iterable[str]) -> None:
        """Open the files, to append to them. Raises DragomanError."""
        if not self.table:
            self.record.delete()  # it would count the bytes of others
            self._hashes.clear()
        for name in names:
            self._hashes.setdefault(name, hashlib.blake2b(digest_size=16))
            path = self.folder / name
            with explaining(path):
                self._files[name] = self._stack.enter_context(path.open("a+b"))
                self._files[name].truncate(self.table.get("sizes", {}).get(name, 0))
        self._due = time.monotonic() + self.SECONDS

    def append(self, name: str, content: bytes) -> None:
        """Append to a file."""
        self._files[name].write(content)
        self._hashes[name].update(content)

    @property
    def due(self) -> bool:
        """Whether it is time for another record."""
        return time.monotonic() >= self._due

    def save(self, **table: object) -> None:
        """Make everything so far survive a kill. It never counts more than is on the disk."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        sizes = {name: os.fstat(file.fileno()).st_size for name, file in self._files.items()}
        digests = {name: self._hashes[name].hexdigest() for name in self._files}
        self.record.write(**table, sizes=sizes, digests=digests)
        self._due = time.monotonic() + self.SECONDS

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def _fits(self, table: dict[str, Any]) -> bool:
        """Whether the files still begin with what was recorded. Records of version 0.2 have no digests."""
        for name, size in table["sizes"].items():
            self._hashes[name] = hashlib.blake2b(digest_size=16)
            left = size
            with (self.folder / name).open("rb") as file:
                while left and (block := file.read(min(left, _SMALL))):
                    self._hashes[name].update(block)
                    left -= len(block)
            found = self._hashes[name].hexdigest()
            if left or table.get("digests", {}).get(name, found) != found:
                import logging  # a few milliseconds

                text = "%s: changed since it was written; it is made anew"
                logging.getLogger(__name__).warning(text, self.folder / name)
                return False
        return True


class Journal:
    """The finished parts of a job that writes into `folder`: a line about the job, and one for each part.

    A part has a source and an output; the line has their digests, and a result. The journal is locked, and
    deleted at the end of a with-block without an error, unless it is to be `kept`. Entering raises
    ConfigError if another command writes there, or one was stopped there that was not made from `about`.
    """

    NAME = ".unfinished.jsonl"

    def __init__(self, folder: Path, about: Mapping[str, str]) -> None:
        self._path, self.about = folder / self.NAME, dict(about)  # in the block: as it was begun
        self._lock = Lock(self._path, folder)
        self._done: dict[str, dict[str, Any]] = {}
        self.kept = False  # set if parts are missing that the same command could add

    def __enter__(self) -> Self:
        check_writable(self._path)
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            rows = list(self._whole_rows())
            if rows:
                check_same(self._path, rows[0], self.about)
                self.about = rows[0]
            else:
                self._append(self.about)
            self._done = {str(row.get("source")): row for row in rows[1:]}
            stack.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and not self.kept:
            self._path.unlink(missing_ok=True)
        self._lock.release()

    def __len__(self) -> int:
        return len(self._done)

    def result(self, source: Path, output: Path) -> Any | None:
        """Return the result of a part, or None if it is not finished, or its source or output changed."""
        row = self._done.get(str(source))
        if row is None or row["digests"] != _digests(source, output):
            return None
        return row["result"]

    def add(self, source: Path, output: Path, result: object) -> None:
        """Note that a part is finished."""
        row = {"source": str(source), "digests": _digests(source, output), "result": result}
        self._done[str(source)] = row
        self._append(row)

    def _append(self, row: object) -> None:
        with explaining(self._path), self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _whole_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, and cut off a half-written one that a kill left."""
        with explaining(self._path), self._path.open("a+b") as file:
            file.seek(0)
            end = 0
            for line in file:
                try:
                    row = json.loads(line) if line.endswith(b"\n") else None
                except (ValueError, RecursionError):
                    break
                if not isinstance(row, dict) or (end and row.keys() != {"source", "digests", "result"}):
                    break
                end += len(line)
                yield row
            file.truncate(end)


def _digests(*paths: Path) -> list[str]:
    try:
        return [digest_of_file(path) for path in paths]
    except OSError:
        return []


# ---- a part as a file --------------------------------------------------------------------------------


def write_part(path: Path, head: Mapping[str, object], body: str) -> dict[str, Any]:
    """Write a part: a line with `head` and a digest of the body, then the body. Return that line.

    Raises DragomanError.
    """
    whole = {**head, "digest": digest(body)}
    write_whole(path, json.dumps(whole) + "\n" + body)
    return whole


def read_part(path: Path, about: Mapping[str, object] | None = None) -> dict[str, Any] | None:
    """Return the first line of a part, or None if it is missing, damaged, or of another job than `about`.

    A part without a digest, as version 0.2 wrote them for bulk translation, counts as whole.
    """
    try:
        with path.open("rb") as file:
            head: dict[str, Any] = json.loads(file.readline())
            same = all(head[key] == value for key, value in (about or {}).items())
            return head if same and head.get("digest") in (None, digest(file.read())) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
