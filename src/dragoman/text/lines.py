"""Lines of text files: where they begin and end, what may be in them, and what to say when it is not.

A line ends at a line feed and nowhere else: `str.splitlines` would also cut at U+2028, U+0085 or a
form feed, which stand inside sentences of real corpora and would shift one side against the other.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from dragoman.base.errors import DataError

STDIN = "-"
_LONGEST = 1 << 24  # bytes in a line; more is no text, and would fill the memory before we noticed
_GZIP = b"\x1f\x8b"  # no UTF-8 text begins so
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAK = re.compile("\r\n|\n|\r")


class Line(NamedTuple):
    """A pair of sentences, and the line it stands on, counted from 1."""

    number: int
    source: str
    target: str


@dataclass(frozen=True)
class TextFile:
    """A file of lines, maybe gzipped, that can be read again and again."""

    name: str  # what messages call it: the path as it was given
    path: Path  # where its bytes are

    def __iter__(self) -> Iterator[str]:
        return (text for text, _ in self.ended_lines())

    def ended_lines(self) -> Iterator[tuple[str, str]]:
        """The lines, each with what ended it."""
        try:
            stream = self.path.open("rb")
        except OSError as error:
            raise _unreadable(self.name, error) from error
        with stream:
            yield from _ended_lines(stream, self.name)


def open_text(path: str | Path) -> TextFile:
    """The lines of a file. `-` is standard input; it and any other pipe is first copied to a temporary file.

    Raises DataError where there is no such file, it cannot be read, or it is empty.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    file = _spooled(path, name) if _flows(path) else TextFile(name, Path(path))
    if next(iter(file), None) is None:
        raise DataError(f"{name}: empty", hint="is it the right file?")
    return file


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of one file, or of standard input for `-`, as they come; an empty file has none.

    The line feed and a carriage return before it are dropped, and a byte order mark at the start; empty
    lines are kept. Raises DataError naming file and line.
    """
    if str(path) == STDIN:
        return (text for text, _ in _ended_lines(sys.stdin.buffer, "standard input"))
    return iter(TextFile(str(path), Path(path)))


def read_ended_lines(path: str | Path) -> Iterator[tuple[str, str]]:
    """The lines of one file as `read_lines` gives them, each with what ended it: a line feed, a carriage
    return and a line feed, or nothing."""
    if str(path) == STDIN:
        return _ended_lines(sys.stdin.buffer, "standard input")
    return TextFile(str(path), Path(path)).ended_lines()


def one_line(text: str, where: str) -> str:
    """Text that came from elsewhere than a line of a file, as a line: a line break in it becomes a space.

    Raises DataError where it holds what a line of a file cannot.
    """
    if "\0" in text:
        raise DataError(f"{where}: a NUL character", hint="take it out")
    if _SURROGATE.search(text):
        raise DataError(f"{where}: half a surrogate pair, which is no character", hint="take it out")
    return _BREAK.sub(" ", text)


def _ended_lines(stream: BinaryIO, name: str) -> Iterator[tuple[str, str]]:
    number = 0
    try:
        read = partial(_unpacked(stream, name).readline, _LONGEST)
        for number, line in enumerate(iter(read, b""), 1):
            text = _text(line, name, number)
            yield text, "\r\n" if line.endswith(b"\r\n") else "\n" if line.endswith(b"\n") else ""
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name}: a damaged gzip file, readable up to line {number}", hint="copy or download it again"
        ) from error
    except OSError as error:
        raise _unreadable(name, error) from error


def _unpacked(stream: BinaryIO, name: str) -> BinaryIO:
    # A stand-in for standard input may be bytes in memory, which cannot look ahead.
    ahead = stream if hasattr(stream, "peek") else io.BufferedReader(cast(Any, stream))
    start = ahead.peek(2)[:2]
    if start == _GZIP:
        return cast(BinaryIO, gzip.GzipFile(fileobj=ahead))
    if start and name.endswith(".gz"):
        raise DataError(
            f"{name}: not a gzip file", hint="if it is plain text, take .gz off its name, else copy it again"
        )
    return ahead


def _text(line: bytes, name: str, number: int) -> str:
    if number == 1:
        if line.startswith(_UTF16):
            raise DataError(
                f"{name}:1: not valid UTF-8, it looks like UTF-16", hint="convert: iconv -f UTF-16 -t UTF-8"
            )
        line = line.removeprefix(codecs.BOM_UTF8)
    if len(line) >= _LONGEST:
        raise DataError(
            f"{name}:{number}: a line of more than {_LONGEST >> 20} MB",
            hint="one sentence a line is expected",
        )
    if b"\0" in line:
        raise DataError(
            f"{name}:{number}: a NUL byte",
            hint="is it a text file? if it is UTF-16, convert: iconv -f UTF-16 -t UTF-8",
        )
    try:
        return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}:{number}: not valid UTF-8",
            hint="mend the line; or if all is in another encoding, convert: iconv -f LATIN1 -t UTF-8",
        ) from error


def _flows(path: str | Path) -> bool:
    """Whether its bytes come once, as from a pipe: `-`, /dev/stdin, <(zcat train.en.gz)."""
    path = Path(path)
    return str(path) == STDIN or (path.exists() and not path.is_file() and not path.is_dir())


def _spooled(path: str | Path, name: str) -> TextFile:
    """A copy that can be read twice; it goes when the TextFile goes, or at the end of the program."""
    handle, copy = tempfile.mkstemp(prefix="dragoman-")
    file = TextFile(name, Path(copy))
    weakref.finalize(file, Path(copy).unlink, missing_ok=True)
    try:
        with open(handle, "wb") as kept:
            if str(path) == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, kept)
            else:
                with open(path, "rb") as stream:
                    shutil.copyfileobj(stream, kept)
    except OSError as error:
        raise DataError(
            f"{name}: cannot be copied to {copy} ({error.strerror or error})",
            hint="set TMPDIR to a folder with more room, or pass a file instead of a pipe",
        ) from error
    return file


def _unreadable(name: str, error: OSError) -> DataError:
    match error:
        case FileNotFoundError():
            return DataError(f"{name}: no such file", hint="check the path")
        case IsADirectoryError():
            return DataError(f"{name}: a folder, not a file", hint="name the files in it")
    return DataError(f"{name}: cannot be read ({error.strerror or error})", hint="check the file")
