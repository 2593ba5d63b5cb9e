"""Lines of text files, and errors that name the file and line.

A line ends at a line feed only. `str.splitlines` would also split at U+2028, U+0085 or a form feed. Real
corpora have these inside sentences, so splitting there would shift one side against the other.
"""

from __future__ import annotations

import codecs
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dragoman.base.errors import DataError
from dragoman.text.corpora.compressed import damage, decompressed

STDIN = "-"
LONGEST = 1 << 24  # bytes; a longer line is not text, and reading it could fill the memory
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAK = re.compile("\r\n|\n|\r")


class Line(NamedTuple):
    """A pair of sentences and the number of its line, from 1 on."""

    number: int
    source: str
    target: str
    context: str = ""  # what the file says about it, such as the name of a menu
    document: str = ""  # pairs of one document follow each other


@dataclass(frozen=True)
class TextFile:
    """A file of lines, compressed or not, that can be read more than once."""

    name: str  # for messages: the path that the user wrote
    path: Path  # where the bytes are

    def __iter__(self) -> Iterator[str]:
        return (text for text, _ in self.ended_lines())

    def ended_lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line with its line ending."""
        with _opened(self.path, self.name) as stream:
            yield from ended_lines(stream, self.name)


def open_text(path: str | Path) -> TextFile:
    """Return the lines of a file, or of standard input for `-`. A pipe is first copied to a temporary file.

    Raise DataError if the file is missing, unreadable or empty.
    """
    file = kept_file(path)
    if next(iter(file), None) is None:
        raise DataError(f"{file.name}: empty", hint="check that it is the right file")
    return file


def kept_file(path: str | Path) -> TextFile:
    """Return a file that can be read more than once. A pipe is first copied to a temporary file."""
    name, place = "standard input" if str(path) == STDIN else str(path), Path(path)
    # Such as /dev/stdin or <(zcat train.en.gz).
    is_pipe = str(path) == STDIN or (place.exists() and not place.is_file() and not place.is_dir())
    return _spooled(path, name) if is_pipe else TextFile(name, place)


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of one file, or of standard input for `-`, as they come.

    Line endings (LF or CRLF) and a byte order mark are removed; empty lines are kept. Raise DataError
    naming file and line.
    """
    if str(path) == STDIN:
        return (text for text, _ in ended_lines(sys.stdin.buffer, "standard input"))
    return iter(TextFile(str(path), Path(path)))


def open_bytes(path: str | Path) -> BinaryIO:
    """Return the bytes of a file as it is, compressed or not, or of standard input for `-`.

    Raise DataError if the file is missing or unreadable.
    """
    if str(path) != STDIN:
        return _opened(Path(path), str(path))
    try:
        # Not sys.stdin: a thread that still reads it when the program ends would hold a lock on it, which
        # the interpreter needs then.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (OSError, ValueError):  # standard input may have been replaced by bytes in memory
        return sys.stdin.buffer


def one_line(text: str, where: str) -> str:
    """Return text from JSON or Python as one line: each line break becomes a space.

    Raise DataError for characters that a text file cannot hold.
    """
    if "\0" in text:
        raise DataError(f"{where}: a NUL character", hint="remove it")
    if _SURROGATE.search(text):
        raise DataError(f"{where}: half a surrogate pair, which is not a character", hint="remove it")
    return _BREAK.sub(" ", text)


def ended_lines(stream: BinaryIO, name: str) -> Iterator[tuple[str, str]]:
    """Yield each line as `read_lines` does, together with its ending: LF, CRLF or nothing.

    `name` is the path, for messages.
    """
    name = "standard input" if name == STDIN else name
    number = 0
    try:
        read = partial(decompressed(stream, name).readline, LONGEST)
        for number, line in enumerate(iter(read, b""), 1):
            text = line_text(line, name, number)
            yield text, "\r\n" if line.endswith(b"\r\n") else "\n" if line.endswith(b"\n") else ""
    except DataError:
        raise
    except Exception as error:
        if fault := damage(error, name):
            raise DataError(
                f"{name}: {fault}, readable up to line {number}", hint="copy or download it again"
            ) from error
        if isinstance(error, OSError):
            raise unreadable(name, error) from error
        raise


def line_text(line: bytes, name: str, number: int) -> str:
    """Return the text of line `number` without its ending. Raise DataError naming file and line."""
    if number == 1 and line.startswith(_UTF16):
        raise DataError(
            f"{name}:1: not valid UTF-8, it looks like UTF-16", hint="convert it: iconv -f UTF-16 -t UTF-8"
        )
    if len(line) >= LONGEST:  # with its byte order mark: the reader stops there
        raise DataError(
            f"{name}:{number}: a line of more than {LONGEST >> 20} MB", hint="write one sentence a line"
        )
    if number == 1:
        line = line.removeprefix(codecs.BOM_UTF8)
    if b"\0" in line:
        raise DataError(
            f"{name}:{number}: a NUL byte",
            hint="check that it is a text file; if it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8",
        )
    try:
        return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}:{number}: not valid UTF-8",
            hint="correct the line; if the file has another encoding, convert it: iconv -f LATIN1 -t UTF-8",
        ) from error


def _spooled(path: str | Path, name: str) -> TextFile:
    """Return a copy that can be read twice. It is deleted together with the TextFile or at exit."""
    handle, copy = tempfile.mkstemp(prefix="dragoman-")
    file = TextFile(name, Path(copy))
    weakref.finalize(file, Path(copy).unlink, missing_ok=True)
    try:
        with open(handle, "wb") as target:
            if str(path) == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with open(path, "rb") as stream:
                    shutil.copyfileobj(stream, target)
    except OSError as error:
        raise DataError(
            f"{name}: cannot be copied to {copy} ({error.strerror or error})",
            hint="set TMPDIR to a folder with more space, or pass a file instead of a pipe",
        ) from error
    return file


def _opened(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(name, error) from error


def unreadable(name: str, error: OSError) -> DataError:
    """Return the error for a file that cannot be opened or read."""
    match error:
        case FileNotFoundError():
            return DataError(f"{name}: no such file", hint="check the path")
        case IsADirectoryError():
            return DataError(f"{name}: a folder, not a file", hint="name the files in the folder")
    return DataError(f"{name}: cannot be read ({error.strerror or error})", hint="check the file")
