"""Lines that are written into a file, and are not lost when the command is killed.

While FILE is written, FILE.unfinished has the lines so far, and FILE.unfinished.json says how many they are
and what they were made from. The same command goes on from there. FILE appears, or is replaced, at the end:
byte for byte that of a command that was never stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.files import check_same_work, check_writable, move, write_whole
from dragoman.version import __version__

_EVERY = 1.0  # seconds between two notes: what a kill may cost
_LONGEST = 230  # bytes of a name that leave room for the endings
# Bytes of a file of a model folder up to which it is read. Weights are larger; config.json has their digest.
_SMALL = 2**20


@dataclass
class Written:
    """How much of the output is done."""

    lines: int = 0  # of the input
    truncated: int = 0  # translations that were cut short
    first: list[int] = field(default_factory=list)  # the lines of the first five of them
    counts: dict[str, int] = field(default_factory=dict)  # of what the command counts beside

    def add(self, number: int, *, truncated: bool, counts: Mapping[str, int]) -> None:
        """Count line `number`, and add the `counts` of what the command counts beside."""
        self.lines = number
        for what, many in counts.items():
            self.counts[what] = self.counts.get(what, 0) + many
        self.truncated += truncated
        if truncated and len(self.first) < 5:
            self.first.append(number)


class Unfinished:
    """The output file of a command, with what an earlier one has written. `about` says what it is made from.

    Write to `file` in a with-block. At its end the output appears. If the block is interrupted, what is
    written stays. Bad input, which would fail again, deletes it. A ConfigError leaves what an earlier command
    has written: the cause may be the machine, such as a missing library. Entering raises ConfigError if the
    earlier command had other text, another model or other options, or is still running.
    """

    def __init__(self, output: Path, about: Mapping[str, object]) -> None:
        self.output, self._about = Path(os.path.realpath(output)), dict(about)
        self._text = self.output.with_name(f"{self.output.name}.unfinished")
        self._note = self.output.with_name(f"{self.output.name}.unfinished.json")
        self.written = Written()
        self._adding = False

    def __enter__(self) -> Self:
        check_writable(self.output)
        try:
            self.file = self._text.open("a+", encoding="utf-8", newline="")
        except OSError as error:
            raise DragomanError(
                f"{self._text}: cannot be written ({error.strerror or error})",
                hint="choose another path with -o",
            ) from error
        with ExitStack() as stack:
            stack.callback(self.file.close)
            stack.enter_context(locked(self._text, self.file.fileno()))
            size = self._found = self._take_up()
            if not size:
                self._note.unlink(missing_ok=True)  # a stale one would count other text
            self.file.truncate(size)  # what follows was written after the note
            self._noted = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._stack:  # holds the lock until the end
            if error is None:
                self._finish()
            elif self._is_of_no_use(error):
                self._note.unlink(missing_ok=True)
                self._text.unlink(missing_ok=True)
            elif not self._adding:  # a line that is written but not counted would come twice
                with contextlib.suppress(OSError, DragomanError):  # the disk may be full: the reason
                    self._write_note()

    def _finish(self) -> None:
        """Move the text to its place. What is written stays if this is interrupted, too."""
        self._write_note()  # and what it counts is on the disk
        self.file.close()
        if self.output.exists():
            self._text.chmod(self.output.stat().st_mode & 0o777)
        move(self._text, self.output)
        self._note.unlink(missing_ok=True)

    def _is_of_no_use(self, error: BaseException) -> bool:
        """Whether the same command could not go on from what is written."""
        fails_again = isinstance(error, DataError) or (isinstance(error, ConfigError) and not self._found)
        return fails_again or not self.written.lines

    def add(
        self, number: int, text: str, *, truncated: bool, counts: Mapping[str, int] | None = None
    ) -> None:
        """Write what line `number` became, and note it once a second."""
        self._adding = True
        self.file.write(text)
        self.written.add(number, truncated=truncated, counts=counts or {})
        self._adding = False
        if time.monotonic() - self._noted >= _EVERY:
            self._write_note()

    def _take_up(self) -> int:
        """Read the note of the earlier command. Return how many bytes of its text count."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            about, size, written = dict(note["about"]), int(note["bytes"]), Written(**note["written"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        if os.fstat(self.file.fileno()).st_size < size:
            return 0
        check_same_work(self._text, about, self._about)
        self.written = written
        return size

    def _write_note(self) -> None:
        """Note how far the file is. After a power cut the note never counts more than the disk has."""
        self.file.flush()
        os.fsync(self.file.fileno())
        size = os.fstat(self.file.fileno()).st_size
        note = {"about": self._about, "bytes": size, "written": asdict(self.written)}
        write_whole(self._note, json.dumps(note, ensure_ascii=False, indent=1))
        self._noted = time.monotonic()


def can_resume(output: Path, inputs: Sequence[str]) -> bool:
    """Whether a command that reads and writes these can go on where another stopped: they are files."""
    regular = all(Path(name).is_file() for name in inputs)
    return regular and (output.is_file() or not output.exists()) and len(os.fsencode(output.name)) < _LONGEST


def made_of(
    *, text: Sequence[str], models: Sequence[str], files: Mapping[str, object], options: Mapping[str, object]
) -> dict[str, str]:
    """What a translation is made from: a digest of each thing, by its name.

    `files` are other files and folders by their options; None where an option is not used.
    """
    about = {"version": __version__, "engine": os.environ.get("DRAGOMAN_ENGINE", "")}
    about |= {"text": _digest(_bytes_of(Path(name)) for name in text)}
    about |= {
        f"model {number}" if number > 1 else "model": _of_place(m) for number, m in enumerate(models, 1)
    }
    for name, place in files.items():
        if place is not None:
            about[f"--{name}"] = _of_memory(str(place)) if name == "memory" else _of_place(str(place))
    return about | {f"--{name}": repr(value) for name, value in options.items()}


def _of_place(place: str) -> str:
    """A digest of a file, or of the files of a model folder; another name, as of a hub, as it is."""
    path = Path(place)
    if path.is_file():
        return _digest([_bytes_of(path)])
    if not path.is_dir():
        return place
    return _digest(_bytes_of(one, small=True) for one in sorted(path.iterdir()) if one.is_file())


def _of_memory(place: str) -> str:
    """A digest of the pairs of a memory. Its file also counts how often they are used."""
    from dragoman.memory.exchange import is_exchanged, open_memory

    if is_exchanged(Path(place)):
        return _of_place(place)
    with open_memory(Path(place)) as memory:
        return _digest(iter([f"{pair.source}\t{pair.target}\n".encode()]) for pair in memory.pairs())


def _bytes_of(path: Path, *, small: bool = False) -> Iterator[bytes]:
    about = path.stat()
    yield f"{path.name if small else ''} {about.st_size}\n".encode("utf-8", "surrogateescape")
    if small and about.st_size > _SMALL:
        yield str(about.st_mtime_ns).encode()
        return
    with path.open("rb") as file:
        while block := file.read(_SMALL):
            yield block


def _digest(files: Iterable[Iterator[bytes]]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for blocks in files:
        for block in blocks:
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def locked(path: Path, file: int) -> Iterator[None]:
    """Hold a lock on an open file. Raises ConfigError if another command has it, or just moved the file."""
    try:
        import fcntl
    except ImportError:  # on Windows
        yield
        return
    lock = os.dup(file)  # the file is closed before it is moved to its place, and the lock held until then
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = path.exists() and os.path.samestat(os.fstat(lock), path.stat())
        except BlockingIOError:
            same = False
        except OSError:  # a file system without locks
            same = True
        if not same:
            raise ConfigError(
                f"{path}: another command is writing this file", hint="wait for it, or choose another with -o"
            )
        yield
    finally:
        os.close(lock)
