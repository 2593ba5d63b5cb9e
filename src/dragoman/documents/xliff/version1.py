"""XLIFF 1.2, and 1.0 and 1.1 as far as they are alike: http://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html.

The text in <sub>, inside a code, is left as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dragoman.base.errors import DataError
from dragoman.documents.edits import Decoded, Edit, apply
from dragoman.documents.formats import Languages, expect_language
from dragoman.documents.segment import Content, Result, Segment, Status
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
from dragoman.documents.xml.inline import (
    BREAK,
    BREAKS,
    FORMATS,
    Reader,
    Tag,
    changes,
    has_text,
    text_in,
    write,
)
from dragoman.documents.xml.pieces import Element, Piece, without_collection

_OURS = "dragoman"  # the author of our notes
_STATES = {
    **dict.fromkeys(("new", "needs-translation"), Status.MISSING),
    **dict.fromkeys(("final", "signed-off", "translated"), Status.DONE),
}
_STRUCTURE = ("file", "body", "group", "trans-unit", "bin-unit")


@dataclass(slots=True)
class _Part:
    """A unit that is translated on its own: a <source>, or a <mrk mtype="seg"> of a <seg-source>."""

    source: Element
    target: Element | None
    mid: str  # of the <mrk>, or ""


@dataclass(slots=True)
class _Unit:
    """A <trans-unit>."""

    file: Element
    element: Element
    source: Element
    segmented: Element | None
    target: Element | None
    notes: list[Element]
    parts: list[_Part]


@dataclass(slots=True)
class _News:
    """A translation that the file does not have."""

    part: _Part
    result: Result
    where: str


def parse(decoded: Decoded, pieces: list[Piece], root: Element, languages: Languages) -> Xliff12:
    """Raises DataError if a unit has no <source>, or a file is for other languages."""
    return Xliff12(decoded, pieces, root, languages)


class Xliff12:
    """A file of XLIFF 1.2."""

    def __init__(self, decoded: Decoded, pieces: list[Piece], root: Element, languages: Languages) -> None:
        self.segments: list[Segment] = []
        self._decoded, self._pieces, self._languages = decoded, pieces, languages
        self._text, self._newline = decoded.text, newline_of(decoded.text)
        self._units: list[_Unit] = []
        places = Places(self._text)
        for file, element in self._find(root, places):
            unit = _unit(file, element, places)
            note = self._note(unit)
            read = [
                (part, segment) for part in unit.parts if (segment := self._read(unit, part, places, note))
            ]
            self.segments += [segment for _, segment in read]
            unit.parts[:] = [part for part, _ in read]
            if read:
                self._units.append(unit)

    def _find(self, root: Element, places: Places) -> Iterator[tuple[Element, Element]]:
        """The units that are to be translated, in order, each with its <file>."""
        todo = [(root, root, "yes")]
        while todo:
            file, element, translate = todo.pop()
            translate = element.attributes.get("translate", translate)
            if element.name == "trans-unit":
                if translate != "no":
                    yield file, element
                continue
            if element.name == "file":
                file, line = element, places.line(element.tag.start)
                for name, wanted in (("source", self._languages.source), ("target", self._languages.target)):
                    name += "-language"
                    expect_language(line, name, element.attributes.get(name, ""), wanted)
            inside = [one for one in element.children if one.space == root.space and one.name in _STRUCTURE]
            todo += [(file, one, translate) for one in reversed(inside)]

    def _read(self, unit: _Unit, part: _Part, places: Places, note: str) -> Segment | None:
        source = self._content(part.source)
        if not has_text(source):
            return None
        target = self._content(part.target) if part.target else ()
        where = f"line {places.line(part.source.tag.start)}"
        state = _state(unit) if target or _is_whole(unit) else Status.MISSING
        context = unit.element.attributes.get("resname", "")
        return Segment(source, where, target or None, state, context, note)

    def _note(self, unit: _Unit) -> str:
        return "\n".join(
            text_in(self._text, self._pieces[one.first : one.last]).strip()
            for one in unit.notes
            if one.attributes.get("from") != _OURS
        )

    def _content(self, element: Element) -> Content:
        return Reader(self._text, self._pieces, _describe).read(element.first, element.last)

    @without_collection()
    def render(self, results: list[Result | None]) -> bytes:
        """See `Document`. Raises DataError for a character that XML or the encoding of the file lacks."""
        edits: list[Edit] = []
        files: dict[int, Element] = {}
        todo = iter(zip(self.segments, results, strict=True))
        for unit in self._units:
            news = [
                _News(part, result, segment.where)
                for part, (segment, result) in zip(unit.parts, todo, strict=False)
                if result and changes(segment, result)
            ]
            if news:
                edits += self._write(unit, news)
                files[unit.file.tag.start] = unit.file
        for file in files.values():
            if "target-language" not in file.attributes:
                edits.append(retag(self._text, file.tag, {"target-language": self._languages.target}))
        return self._decoded.encode(apply(self._text, edits))

    def _write(self, unit: _Unit, news: list[_News]) -> Iterator[Edit]:
        if unit.element.attributes.get("approved") == "yes":
            yield retag(self._text, unit.element.tag, {"approved": "no"})
        reasons = {one.part.mid: "; ".join(one.result.doubts) for one in news}
        doubts = any(reasons.values()) or any(mid not in reasons for mid, _ in self._our_notes(unit))
        there = declarations(unit.target, unit.element) if unit.target else {}
        values = {
            **dict(declarations(unit.source, unit.element).items() - there.items()),
            "state": "needs-review-translation" if doubts else "translated",
            # It says where the translation is from.
            "state-qualifier": "exact-match" if all(one.result.is_remembered for one in news) else None,
        }
        inners = {one.part.mid: self._inner(one) for one in news}
        copied = self._without_words(unit, inners)
        last = unit.target or unit.segmented or unit.source
        if unit.target and news[0].part.mid and all(one.part.target for one in news):
            yield retag(self._text, unit.target.tag, values)
            for one in news:
                if one.part.target:
                    yield from refill(self._text, one.part.target, inners[one.part.mid], {})
            for mid, mark in _marks(unit.target):
                if mid in copied:
                    yield from refill(self._text, mark, copied[mid], {})
        elif unit.target:
            yield from refill(self._text, unit.target, self._whole(unit, copied | inners), values)
        else:
            name = prefix(self._text, unit.source) + "target"
            new = f"<{name}{attributes(values)}>{self._whole(unit, copied | inners)}</{name}>"
            yield Edit(last.end.end, last.end.end, indent(self._text, unit.source) + new)
        yield from self._replace_notes(unit, last.end.end, reasons)

    def _inner(self, one: _News) -> str:
        return write(one.result.content, one.where, newline=self._newline)

    def _whole(self, unit: _Unit, inners: dict[str, str]) -> str:
        """The content of a target: the <seg-source> with translations in place of segments."""
        if unit.segmented is None or "" in inners:
            return inners[""]
        there = dict(_marks(unit.target)) if unit.target else {}
        parts, place = [], unit.segmented.tag.end
        for mid, mark in _marks(unit.segmented):
            old = there.get(mid)
            inner = _inside(self._text, old) if old else ""
            parts += [self._text[place : mark.tag.end], inners.get(mid, inner)]
            place = mark.end.start
        return "".join([*parts, self._text[place : unit.segmented.end.start]])

    def _without_words(self, unit: _Unit, inners: Collection[str]) -> dict[str, str]:
        """The segments that are only codes, by their mid, if neither the target nor `inners` has them."""
        if unit.segmented is None:
            return {}
        there = {mid for mid, mark in _marks(unit.target) if _inside(self._text, mark)} if unit.target else ()
        return {
            mid: _inside(self._text, mark)
            for mid, mark in _marks(unit.segmented)
            if mid and mid not in inners and mid not in there and not has_text(self._content(mark))
        }

    def _our_notes(self, unit: _Unit) -> list[tuple[str, Element]]:
        """The notes of ours in a unit, each with the segment that it is about."""
        found = []
        for note in unit.notes:
            if note.attributes.get("from") == _OURS:
                words = text_in(self._text, self._pieces[note.first : note.last])
                found.append((words.partition(": ")[0] if unit.segmented else "", note))
        return found

    def _replace_notes(self, unit: _Unit, place: int, reasons: dict[str, str]) -> Iterator[Edit]:
        """Put the reasons of each segment into a note of its own, in the place of its earlier one."""
        written = {
            mid: write((f"{mid}: {reason}" if mid else reason,), mid, newline=self._newline)
            for mid, reason in reasons.items()
            if reason
        }
        for mid, note in self._our_notes(unit):
            if mid in written:
                yield from refill(self._text, note, written.pop(mid), {})
            elif mid in reasons:
                yield removal(self._text, note)
        name, space = prefix(self._text, unit.element), indent(self._text, unit.source)
        for words in written.values():
            yield Edit(place, place, f'{space}<{name}note from="{_OURS}">{words}</{name}note>')


def _unit(file: Element, element: Element, places: Places) -> _Unit:
    children = {one.name: one for one in reversed(element.children) if one.space == element.space}
    if "source" not in children:
        line = places.line(element.tag.start)
        raise DataError(f"line {line}: <trans-unit> has no <source>", hint="every unit needs one")
    source, segmented, target = children["source"], children.get("seg-source"), children.get("target")
    marks = list(_marks(segmented)) if segmented else []
    there = dict(_marks(target)) if target and marks else {}
    parts = [_Part(mark, there.get(mid), mid) for mid, mark in marks] or [_Part(source, target, "")]
    notes = [one for one in element.children if one.name == "note" and one.space == element.space]
    return _Unit(file, element, source, segmented if marks else None, target, notes, parts)


def _inside(text: str, element: Element) -> str:
    return text[element.tag.end : element.end.start]


def _marks(element: Element) -> Iterator[tuple[str, Element]]:
    """The segments in a <seg-source> or <target> that have words or may have them, by their mid."""
    todo = [element]
    while todo:
        one = todo.pop()
        if one.name == "mrk" and one.attributes.get("mtype") == "seg" and not one.tag.empty:
            yield one.attributes.get("mid", ""), one
        else:
            todo += reversed(one.children)


def _is_whole(unit: _Unit) -> bool:
    """Whether a unit with segments has a target without them."""
    target = unit.target
    return bool(unit.segmented and target and target.last > target.first and not any(_marks(target)))


def _state(unit: _Unit) -> Status:
    """The state of the target of a unit."""
    values = unit.target.attributes if unit.target else {}
    state = values.get("state", "")
    if state in _STATES:
        return _STATES[state]
    doubtful = state.startswith("needs-") or values.get("state-qualifier") in ("fuzzy-match", "mt-suggestion")
    return Status.DOUBTFUL if doubtful or unit.element.attributes.get("approved") == "no" else Status.DONE


def _describe(piece: Piece) -> Tag:
    """The kind of an inline element of XLIFF 1.2."""
    values = piece.attributes
    key = values.get("rid") or values.get("id", "")
    match piece.name, values.get("ctype", ""):
        case (("bx" | "bpt"), _):
            return Tag("open", key)
        case (("ex" | "ept"), _):
            return Tag("close", key)
        case "it", _:
            return Tag("close" if values.get("pos") == "close" else "open")
        case (("x" | "ph"), kind) if kind in BREAKS:
            return BREAK
        case (("x" | "ph"), kind):
            return Tag("empty" if kind in FORMATS else "placeholder")
        case "mrk", _ if values.get("mtype") == "protected":
            return Tag("pair", translate=False)
        case _:
            return Tag("pair")
