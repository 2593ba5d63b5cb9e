"""A file of XML that holds both languages: XLIFF and TMX."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from dragoman.documents.edits import Decoded, Edit, Lines, apply
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content, Result, Segment, dealt, replaced_draft
from dragoman.documents.xml.edits import indent, newline_of, refill, retag, written
from dragoman.documents.xml.inline import BREAK, Reader, Tag, changes, text_in, write
from dragoman.documents.xml.pieces import Element, Piece, without_collection

Unit = TypeVar("Unit")
Part = TypeVar("Part")

# The types of codes in XLIFF 1.2 (`ctype`) and TMX (`type`).
_BREAKS = frozenset(("lb", "pb", "br", "x-lb", "x-br", "x-html-br"))
_FORMATS = frozenset(("bold", "italic", "underlined", "ulined", "fmt", "x-bold", "x-italic", "x-underline"))


@dataclass(slots=True)
class News(Generic[Part]):
    """A translation that the file does not have."""

    part: Part
    result: Result
    segment: Segment

    @property
    def reasons(self) -> str:
        return "; ".join(self.result.doubts)

    @property
    def previous(self) -> str:
        """The draft that it replaces, for a note."""
        return replaced_draft(self.segment, self.result)


class Bilingual(ABC, Generic[Unit, Part]):
    """A file whose units have parts, a segment each."""

    _tags: re.Pattern[str] | None = None  # in its text, see `Reader`

    def __init__(self, decoded: Decoded, pieces: list[Piece], root: Element, languages: Languages) -> None:
        self.segments: list[Segment] = []
        self._decoded, self._pieces, self._root, self._languages = decoded, pieces, root, languages
        self._text, self._newline = decoded.text, newline_of(decoded.text)
        self._lines = Lines(decoded.text)
        self._units: list[tuple[tuple[Unit, list[Part]], int]] = []
        self._read()

    @abstractmethod
    def _read(self) -> None:
        """Add all units."""

    @abstractmethod
    def _write(self, unit: Unit, news: list[News[Part]]) -> Iterator[Edit]:
        """Put translations into a unit."""

    @abstractmethod
    def _describe(self, piece: Piece) -> Tag:
        """What an inline element is."""

    def _state_language(self, units: list[Unit]) -> Iterator[Edit]:
        """Name the target language where it is missing, around units that change."""
        yield from ()

    def _add(self, unit: Unit, parts: Iterable[tuple[Part, Segment | None]]) -> None:
        read = [(part, segment) for part, segment in parts if segment is not None]
        if read:
            self._units.append(((unit, [part for part, _ in read]), len(read)))
            self.segments += [segment for _, segment in read]

    def _where(self, element: Element) -> str:
        return f"line {self._lines.line(element.start)}"

    def _reader(self, *, translate: bool = True) -> Reader:
        return Reader(self._text, self._pieces, self._describe, translate=translate, tags=self._tags)

    def _content(self, element: Element | None, reader: Reader | None = None) -> Content:
        return (reader or self._reader()).read(element.first, element.last) if element else ()

    def _words(self, element: Element) -> str:
        return text_in(self._text, self._pieces[element.first : element.last]).strip()

    def _note(self, notes: Iterable[Element]) -> str:
        return "\n".join(map(self._words, notes))

    @without_collection()
    def render(self, results: list[Result | None]) -> bytes:
        """See `Document`. Raises DataError for a character that XML or the encoding of the file lacks."""
        edits: list[Edit] = []
        changed: list[Unit] = []
        segments = iter(self.segments)
        for (unit, parts), own in dealt(self._units, results):
            news = [
                News(part, result, segment)
                for part, result, segment in zip(parts, own, segments, strict=False)
                if result and changes(segment, result)
            ]
            if news:
                edits += self._write(unit, news)
                changed.append(unit)
        edits += self._state_language(changed)
        return self._decoded.encode(apply(self._text, edits))

    def _inner(self, content: Content, where: str, represent: Callable[[str], str] | None = None) -> str:
        return write(content, where, newline=self._newline, represent=represent)

    def _retag(self, element: Element, values: Mapping[str, str | None]) -> Edit:
        return retag(self._text, element.tag, values)

    def _refill(
        self, element: Element, inner: str, values: Mapping[str, str | None] | None = None
    ) -> list[Edit]:
        return refill(self._text, element, inner, values or {})

    def _after(
        self, place: int, source: Element, name: str, inner: str, values: Mapping[str, str | None]
    ) -> Edit:
        """Insert an element, with the name space of a source and indented as that is."""
        new = written(source.prefix(self._text) + name, inner, values)
        return Edit(place, place, indent(self._text, source) + new)


def inline_tag(piece: Piece, key: str, kind: str) -> Tag:
    """What an inline element of XLIFF 1 or TMX is, by the key of its pair and the kind of its code."""
    match piece.name:
        case "bx" | "bpt":
            return Tag("open", key)
        case "ex" | "ept":
            return Tag("close", key)
        case "it":
            return Tag("close" if piece.attributes.get("pos") in ("close", "end") else "open")
        case "x" | "ph" if kind in _BREAKS:
            return BREAK
        case "x" | "ph":
            return Tag("empty" if kind in _FORMATS else "placeholder")
    return Tag("empty" if piece.name == "ut" else "pair")


def is_locked(elements: Iterable[Element | None]) -> bool:
    """Whether an element has an attribute `locked` of some program, such as mq:locked="locked"."""
    return any(
        name.rpartition("}")[2] == "locked" and value in ("locked", "true", "yes", "1")
        for one in filter(None, elements)
        for name, value in one.attributes.items()
    )


def units_of(root: Element, names: tuple[str, ...], unit: str) -> Iterator[tuple[Element, Element, bool]]:
    """Yield the units in elements of these names, each with its <file> and whether it is to be translated.

    Yields the <file> elements, too, before their units.
    """
    todo = [(root, root, True)]
    while todo:
        file, element, translate = todo.pop()
        translate = element.attributes.get("translate", "yes" if translate else "no") != "no"
        file = element if element.name == "file" else file
        if element.name in ("file", unit):
            yield file, element, translate
        if element.name != unit:
            inside = [one for one in element.children if one.space == root.space and one.name in names]
            todo += [(file, one, translate) for one in reversed(inside)]
