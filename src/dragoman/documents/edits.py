"""Change some spans of a text, and keep all else as it is."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from dragoman.base.errors import DataError
from dragoman.documents.segment import Result, Segment, dealt

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


_EXACT = frozenset(("utf-8", "utf8", "ascii", "latin-1", "iso-8859-1", "utf-16-le", "utf-16-be"))
_UNUSABLE = {"punycode", "idna", "undefined", "unicode-escape", "raw-unicode-escape"}  # slow, or no charset
_TO_UTF8 = "convert the file to UTF-8"


@dataclass(frozen=True)
class Edit:
    """Replace text[start:end]."""

    start: int
    end: int
    new: str
    alone: bool = True  # whether it is written if there is no other


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits, which must not overlap. Of two at one place the first comes first."""
    parts, place = [], 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if edit.start < place:
            raise ValueError(f"edits overlap at {edit.start}")
        parts += [text[place : edit.start], edit.new]
        place = edit.end
    return "".join([*parts, text[place:]])


@dataclass(frozen=True)
class Decoded:
    """A file as text, and how to write it back."""

    text: str
    encoding: str
    mark: bytes  # the byte order mark, if any

    def encode(self, text: str) -> bytes:
        """Raises DataError if the file's encoding lacks a character."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeError as error:  # the codec idna does not say where
            what = repr(text[error.start]) if isinstance(error, UnicodeEncodeError) else "such text"
            raise DataError(f"{self.encoding} has no {what}", hint=_TO_UTF8) from None


def decode_file(data: bytes, encoding: str | None = None) -> Decoded:
    """Return the text of a file: by its byte order mark, else in `encoding`, else in UTF-8.

    Line ends stay as they are. Raises DataError with the line of the first byte that does not fit.
    """
    found = [one for one in _MARKS if data.startswith(one[0])]
    mark, name = found[0] if found else (b"", encoding or "utf-8")
    body = data[len(mark) :]
    try:
        if codecs.lookup(name).name in _UNUSABLE:
            raise LookupError
        decoded = Decoded(body.decode(name), name, mark)
        if name.lower() not in _EXACT and decoded.encode(decoded.text) != data:
            raise DataError(f"{name}: cannot be written back with the same bytes", hint=_TO_UTF8)
        return decoded
    except LookupError:
        raise DataError(f"unknown encoding {name!r}", hint=_TO_UTF8) from None
    except UnicodeError as error:  # the codec idna does not say where
        line = body.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise DataError(f"line {line}: not {name}", hint=_TO_UTF8) from None


def unsafe(what: str) -> DataError:
    """The error of a file that may harm the program which reads it."""
    return DataError(what, hint="this file is not safe to read")


class Part(Protocol):
    """A place in a file with some segments."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterable[Edit]:
        """How to write these results, one for each segment, into the text of the file."""
        ...


class PartsDocument:
    """A document of parts that change each on its own."""

    def __init__(self, decoded: Decoded, parts: Iterable[Part], also: Sequence[Edit] = ()) -> None:
        """`also` is what changes together with any part."""
        self._decoded, self._also = decoded, also
        both = [(part, part.segments) for part in parts]
        self.segments = [segment for _, segments in both for segment in segments]
        self._parts = [(part, len(segments)) for part, segments in both]

    def edits(self, results: Sequence[Result | None]) -> list[Edit]:
        """The edits that write these results."""
        text = self._decoded.text
        edits = [edit for part, own in dealt(self._parts, results) for edit in part.edits(text, own)]
        return [*edits, *self._also] if any(edit.alone for edit in edits) else []

    def render(self, results: list[Result | None]) -> bytes:
        """Return the file with these translations. See `Document`."""
        return self._decoded.encode(apply(self._decoded.text, self.edits(results)))


class Lines:
    """The numbers of the lines of places in a text, each asked for after those before it."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1

    def line(self, place: int) -> int:
        """The line of a place, from 1."""
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


def line_of(text: str, place: int) -> int:
    """The number of the line, from 1, of a place in a text."""
    return text.count("\n", 0, place) + 1
