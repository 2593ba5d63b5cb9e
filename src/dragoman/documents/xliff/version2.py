"""XLIFF 2.0, 2.1 and 2.2: https://docs.oasis-open.org/xliff/xliff-core/v2.1/.

Segments stay as the file has them, so canResegment has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.documents.edits import Decoded, Edit, apply
from dragoman.documents.formats import Languages, expect_language
from dragoman.documents.segment import Content, Result, Segment, Status
from dragoman.documents.xliff.rules import check
from dragoman.documents.xml.edits import (
    Places,
    attributes,
    declarations,
    indent,
    newline_of,
    prefix,
    refill,
    removal,
    retag,
)
from dragoman.documents.xml.inline import BREAK, Reader, Tag, changes, has_text, text_in, write
from dragoman.documents.xml.pieces import XML_SPACE, Element, Piece, without_collection

_CHECK = "dragoman:check"
_OURS = "dragoman"  # the category of our notes
_SPACE = f"{{{XML_SPACE}}}space"
_STATES = {
    "initial": Status.DOUBTFUL,
    "translated": Status.DONE,
    "reviewed": Status.DONE,
    "final": Status.DONE,
}


@dataclass(slots=True)
class _Part:
    """A <segment> or <ignorable>."""

    element: Element
    number: int  # in its unit, from 1
    source: Element
    target: Element | None


@dataclass(slots=True)
class _Unit:
    element: Element
    parts: list[_Part]
    notes: Element | None
    data: Element | None


def parse(decoded: Decoded, pieces: list[Piece], root: Element, languages: Languages) -> Xliff2:
    """Raises DataError if the file breaks a rule of XLIFF 2 or is for other languages."""
    check(decoded.text, root)
    line = Places(decoded.text).line(root.tag.start)
    expect_language(line, "srcLang", root.attributes["srcLang"], languages.source)
    expect_language(line, "trgLang", root.attributes.get("trgLang", ""), languages.target)
    return Xliff2(decoded, pieces, root, languages)


class Xliff2:
    """A file of XLIFF 2."""

    def __init__(self, decoded: Decoded, pieces: list[Piece], root: Element, languages: Languages) -> None:
        self.segments: list[Segment] = []
        self._decoded, self._pieces, self._root, self._languages = decoded, pieces, root, languages
        self._text, self._newline = decoded.text, newline_of(decoded.text)
        self._units: list[tuple[_Unit, list[_Part]]] = []  # the parts with a segment each
        places = Places(self._text)
        for element, translate in _units(root):
            unit = _unit(element)
            segments = list(self._read(unit, places, translate=translate))
            self.segments += [segment for _, segment in segments]
            if segments:
                self._units.append((unit, [part for part, _ in segments]))

    def _read(self, unit: _Unit, places: Places, *, translate: bool) -> Iterator[tuple[_Part, Segment]]:
        note = "\n".join(self._notes(unit))
        sources = Reader(self._text, self._pieces, _describe, translate=translate)
        targets = Reader(self._text, self._pieces, _describe, translate=translate)
        for part in unit.parts:
            source = sources.read(part.source.first, part.source.last)
            target = targets.read(part.target.first, part.target.last) if part.target else ()
            if part.element.name == "segment" and has_text(source):
                where = f"line {places.line(part.element.tag.start)}"
                state = _STATES.get(part.element.attributes.get("state", ""), Status.DONE)
                name = unit.element.attributes.get("name", "")
                yield (
                    part,
                    Segment(source, where, target or None, state if target else Status.MISSING, name, note),
                )

    def _notes(self, unit: _Unit) -> Iterator[str]:
        for note in unit.notes.children if unit.notes else ():
            if note.attributes.get("category") != _OURS:
                yield text_in(self._text, self._pieces[note.first : note.last]).strip()

    @without_collection()
    def render(self, results: list[Result | None]) -> bytes:
        """See `Document`. Raises DataError if the encoding of the file lacks a character."""
        edits: list[Edit] = []
        number = 0
        for unit, parts in self._units:
            news = []
            for part in parts:
                segment, result = self.segments[number], results[number]
                number += 1
                if result and changes(segment, result):
                    news.append((part, result, segment.where))
            if news:
                edits += self._write(unit, news)
        if edits and "trgLang" not in self._root.attributes:
            edits.append(retag(self._text, self._root.tag, {"trgLang": self._languages.target}))
        return self._decoded.encode(apply(self._text, edits))

    def _write(self, unit: _Unit, news: list[tuple[_Part, Result, str]]) -> Iterator[Edit]:
        taken = {int(part.target.attributes.get("order", part.number)) for part in unit.parts if part.target}
        free = (place for place in range(1, len(unit.parts) + 1) if place not in taken)
        reasons: dict[str, str] = {}
        for part, result, where in news:
            inner = self._inner(result.content, where, part)
            state = {"state": "translated", "subState": None}
            if result.doubts:
                state = {"state": "initial", "subState": _CHECK}
            yield retag(self._text, part.element.tag, state)
            reasons[f"{_OURS}-{part.number}"] = "; ".join(result.doubts)
            names = declarations(part.source, part.element)
            if part.target:
                there = declarations(part.target, part.element)
                yield from refill(self._text, part.target, inner, dict(names.items() - there.items()))
            else:
                yield self._target(part, inner, names, _order(part.number, taken, free))
        yield from self._replace_notes(unit, reasons)

    def _inner(self, content: Content, where: str, part: _Part) -> str:
        name = prefix(self._text, part.source)

        def represent(char: str) -> str:
            return f'<{name}cp hex="{ord(char):04X}"/>'

        return write(content, where, newline=self._newline, represent=represent)

    def _target(self, part: _Part, inner: str, names: dict[str, str], order: str) -> Edit:
        values = {**names, "xml:space": part.source.attributes.get(_SPACE), "order": order or None}
        name = prefix(self._text, part.source) + "target"
        end = part.source.end.end
        return Edit(
            end, end, f"{indent(self._text, part.source)}<{name}{attributes(values)}>{inner}</{name}>"
        )

    def _replace_notes(self, unit: _Unit, reasons: dict[str, str]) -> Iterator[Edit]:
        """Put the reasons of each segment into a note of its own, in the place of its earlier one."""
        text = self._text
        notes = unit.notes.children if unit.notes else []
        gone = 0
        removals = []
        for note in notes:
            id = note.attributes.get("id", "")
            if note.attributes.get("category") == _OURS and id in reasons:
                if reason := reasons.pop(id):
                    yield from refill(text, note, self._words(reason, id), {})
                else:
                    removals.append(removal(text, note))
                    gone += 1
        name = prefix(text, unit.element)
        new = [
            f'<{name}note id="{id}" category="{_OURS}">{self._words(reason, id)}</{name}note>'
            for id, reason in reasons.items()
            if reason
        ]
        if unit.notes and gone == len(notes) and not new:
            yield removal(text, unit.notes)
            return
        yield from removals
        if unit.notes and new:
            space, end = indent(text, notes[-1]), notes[-1].end.end
            yield Edit(end, end, "".join(space + note for note in new))
        elif new:
            after = unit.data or unit.parts[0].element
            space, start = indent(text, after), after.tag.start
            inner = "".join(space + " " * bool(space) + note for note in new)
            yield Edit(start, start, f"<{name}notes>{inner}{space}</{name}notes>{space}")

    def _words(self, reason: str, where: str) -> str:
        return write((reason,), where, newline=self._newline, represent=lambda _: "\N{REPLACEMENT CHARACTER}")


def _order(number: int, taken: set[int], free: Iterator[int]) -> str:
    """The value of `order` that a new target needs where another has moved to its place, or ""."""
    place = next(free) if number in taken else number
    taken.add(place)
    return "" if place == number else str(place)


def _units(root: Element) -> Iterator[tuple[Element, bool]]:
    """The units of a file in order, each with whether it is to be translated."""
    todo = [(root, True)]
    while todo:
        element, translate = todo.pop()
        translate = element.attributes.get("translate", "yes" if translate else "no") == "yes"
        if element.name == "unit":
            yield element, translate
        else:
            inside = [one for one in element.children if one.space == root.space]
            todo += [(one, translate) for one in reversed(inside) if one.name in ("file", "group", "unit")]


def _unit(element: Element) -> _Unit:
    parts: list[_Part] = []
    others: dict[str, Element] = {}
    for one in element.children:
        if one.space == element.space and one.name in ("segment", "ignorable"):
            source, *targets = one.children
            parts.append(_Part(one, len(parts) + 1, source, targets[0] if targets else None))
        elif one.space == element.space:
            others[one.name] = one
    return _Unit(element, parts, others.get("notes"), others.get("originalData"))


def _describe(piece: Piece) -> Tag:
    attributes = piece.attributes
    translate = {"yes": True, "no": False}.get(attributes.get("translate", ""))
    match piece.name:
        case "sc":
            return Tag("open", attributes["id"])
        case "sm":
            return Tag("open", attributes["id"], translate=translate)
        case "ec" | "em":
            return Tag("close", attributes.get("startRef", ""))
        case "ph" if attributes.get("subType") in ("xlf:lb", "xlf:pb"):
            return BREAK
        case "ph":
            return Tag("empty" if attributes.get("type") == "fmt" else "placeholder")
        case "cp":
            return Tag("empty")
        case _:
            return Tag("pair", translate=translate)
