"""Pretrained word vectors: files of word2vec, GloVe and fastText, as text or binary.

In text files, each line is a word and its numbers. word2vec and fastText begin with a line that counts words
and numbers; GloVe does not. Binary files of word2vec have that first line too, then each word with its
numbers as little-endian float32. All may be compressed. A file is read once and only wanted words are kept,
so it may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dragoman.base.errors import DataError, DragomanError
from dragoman.text.compressed import damage, decompressed

_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")  # a .bin file of fastText begins with it
_WRONG_FILE = "check that it is a file of word vectors"
_INCOMPLETE = "check that the file is complete"

Numbers = Callable[[], np.ndarray]  # called for wanted words only, since parsing is slow


@dataclass(frozen=True)
class Vectors:
    """The vectors of the wanted words in a file."""

    width: int  # numbers in a vector
    by_word: dict[str, np.ndarray]  # float32
    in_file: int  # words in the whole file


def read_vectors(path: Path, wanted: Collection[str]) -> Vectors:
    """Return the vectors of the wanted words that the file has, the first one if a word has several.

    Raise DataError naming the line or word if the file has none of the formats.
    """
    try:
        with path.open("rb") as raw:
            start = raw.read(4)
        if start == _FASTTEXT_MODEL:
            raise DataError(
                f"{path}: a whole fastText model, not a table of vectors",
                hint="use the .vec file that fastText writes next to it",
            )
        with path.open("rb") as raw:
            return _read(decompressed(raw, ""), path, frozenset(wanted))
    except DragomanError:
        raise
    except Exception as error:
        if not isinstance(error, OSError) and not damage(error, path.name):
            raise
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"{path}: cannot be read ({reason})", hint="check the path, and that the file is complete"
        ) from error


def _read(stream: BinaryIO, path: Path, wanted: frozenset[str]) -> Vectors:
    first = stream.readline(1 << 20)
    counts = first.split()
    if len(counts) != 2 or not all(count.isdigit() for count in counts):
        return _collect(_text(first, stream, path, None), path, wanted)
    words, width = map(int, counts)
    if not 0 < width <= 1 << 16:
        raise DataError(f"{path}:1: vectors of {width} numbers", hint=_WRONG_FILE)
    second = stream.readline(1 << 20)
    if _is_text(second, width):
        return _collect(_text(second, stream, path, width), path, wanted)
    return _collect(_binary(second, stream, path, words, width), path, wanted)


def _is_text(line: bytes, width: int) -> bool:
    try:
        return bool(len([float(number) for number in line.split(b" ")[1:] if number.strip()]) == width)
    except ValueError:
        return False


def _collect(entries: Iterator[tuple[str, Numbers]], path: Path, wanted: frozenset[str]) -> Vectors:
    kept: dict[str, np.ndarray] = {}
    count = width = 0
    for word, numbers in entries:
        count += 1
        width = width or len(numbers())
        if word in wanted and word not in kept:
            kept[word] = numbers()
            if not np.isfinite(kept[word]).all():
                raise DataError(f"{path}: the vector of {word!r} is not finite", hint=_INCOMPLETE)
    if not count:
        raise DataError(f"{path}: no vectors", hint=_WRONG_FILE)
    return Vectors(width, kept, count)


def _text(line: bytes, stream: BinaryIO, path: Path, width: int | None) -> Iterator[tuple[str, Numbers]]:
    number = 1 if width is None else 2
    while line:
        # A word may contain spaces, as some of GloVe's do, so count the numbers from the end.
        parts = line.rstrip().split(b" ")
        width = width or len(parts) - 1
        fault = DataError(f"{path}:{number}: not a word and {width} numbers", hint=_WRONG_FILE)
        if not 0 < width < len(parts):
            raise fault

        def numbers(parts: list[bytes] = parts[-width:], fault: DataError = fault) -> np.ndarray:
            try:
                return np.array(parts, dtype=np.float32)
            except ValueError:
                raise fault from None

        yield b" ".join(parts[:-width]).decode("utf-8", "replace"), numbers
        line, number = stream.readline(), number + 1
        while line and not line.strip():  # blank lines, as at the end
            line, number = stream.readline(), number + 1


def _binary(
    start: bytes, stream: BinaryIO, path: Path, words: int, width: int
) -> Iterator[tuple[str, Numbers]]:
    size, buffer, at = 4 * width, start, 0
    for number in range(1, words + 1):
        while (space := buffer.find(b" ", at)) < 0 or len(buffer) < space + 1 + size:
            more = stream.read(max(1 << 20, size))
            if not more or (space < 0 and len(buffer) - at > 1 << 20):
                raise DataError(
                    f"{path}: ends or is damaged at word {number:,} of {words:,}", hint=_INCOMPLETE
                )
            buffer, at = buffer[at:] + more, 0
        word = buffer[at:space].lstrip(b"\n").decode("utf-8", "replace")
        yield word, partial(_cut, buffer, width, space + 1)
        at = space + 1 + size


def _cut(buffer: bytes, width: int, at: int) -> np.ndarray:
    return np.frombuffer(buffer, "<f4", width, at).copy()
