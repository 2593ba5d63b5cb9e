"""XLIFF 2.0, 2.1 and 2.2: https://docs.oasis-open.org/xliff/xliff-core/v2.1/.

Segments stay as the file has them, so canResegment has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dragoman.documents.edits import Edit
from dragoman.documents.formats import expect_language
from dragoman.documents.segment import Code, Content, Guard, Segment, Status, translation_of
from dragoman.documents.xliff.bilingual import Bilingual, News, is_locked, units_of
from dragoman.documents.xliff.rules import check
from dragoman.documents.xml.edits import declarations, indent, removal, retag, written
from dragoman.documents.xml.inline import BREAK, Tag, has_text
from dragoman.documents.xml.pieces import ATTRIBUTE, XML_SPACE, Element, Piece

_CHECK = "dragoman:check"
_OURS = "dragoman"  # the category of our notes
_PREVIOUS = "dragoman-previous"  # and of those with a draft that we replaced
_TAG = re.compile(r"<[^\s/>\"']+((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>")
_MARK = re.compile(r"<(?:[^\s:]+:)?(?:mrk|sm)\b")
_SPACE = f"{{{XML_SPACE}}}space"


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


class Xliff2(Bilingual[_Unit, _Part]):
    """A file of XLIFF 2. Raises DataError if it breaks a rule of XLIFF 2 or is for other languages."""

    def _read(self) -> None:
        check(self._text, self._root)
        line, languages = self._lines.line(self._root.start), self._root.attributes
        expect_language(line, "srcLang", languages["srcLang"], self._languages.source)
        if not self._is_template():
            expect_language(line, "trgLang", languages.get("trgLang", ""), self._languages.target)
        for file, element, translate in units_of(self._root, ("file", "group", "unit"), "unit"):
            if element is not file:
                unit = _unit(element)
                self._add(unit, self._segments(unit, str(file.start), translate=translate))

    def _segments(self, unit: _Unit, file: str, *, translate: bool) -> Iterator[tuple[_Part, Segment]]:
        notes = unit.notes.children if unit.notes else ()
        note = self._note(one for one in notes if one.attributes.get("category") not in (_OURS, _PREVIOUS))
        sources, targets = self._reader(translate=translate), self._reader(translate=translate)
        for part in unit.parts:
            source = self._content(part.source, sources)
            target = translation_of(source, self._content(part.target, targets))
            if part.element.name == "segment" and has_text(source):
                state = _state(part.element) if target else Status.MISSING
                where, name = self._where(part.element), unit.element.attributes.get("name", "")
                guards = frozenset(_guards(unit, part))
                yield part, Segment(source, where, target, state, guards, name, note, place=file)

    def _state_language(self, units: list[_Unit]) -> Iterator[Edit]:
        if units and ("trgLang" not in self._root.attributes or self._is_template()):
            yield self._retag(self._root, {"trgLang": self._languages.target})

    def _is_template(self) -> bool:
        """Whether the file names its source language as the target's, too, and only once."""
        name = self._root.attributes.get("trgLang", "")
        return self._languages.renames(name) and "xml:lang" not in self._text

    def _write(self, unit: _Unit, news: list[News[_Part]]) -> Iterator[Edit]:
        taken = {int(part.target.attributes.get("order", part.number)) for part in unit.parts if part.target}
        free = (place for place in range(1, len(unit.parts) + 1) if place not in taken)
        for one in news:
            part = one.part
            name = part.source.prefix(self._text)
            inner = self._inner(_with_copies(one.result.content), one.segment.where, _code_point(name))
            state = {"state": "translated", "subState": None}
            if one.reasons:
                state = {"state": "initial", "subState": _CHECK}
            yield self._retag(part.element, state)
            names = declarations(part.source, part.element)
            if part.target:
                there = declarations(part.target, part.element)
                yield from self._refill(part.target, inner, dict(names.items() - there.items()))
            else:
                order, space = _order(part.number, taken, free), part.source.attributes.get(_SPACE)
                values = {**names, "xml:space": space, "order": order or None}
                yield self._after(part.source.end, part.source, "target", inner, values)
        yield from self._replace_notes(
            unit,
            {f"{_OURS}-{one.part.number}": one.reasons for one in news},
            {f"{_PREVIOUS}-{one.part.number}": one.previous for one in news},
        )

    def _replace_notes(
        self, unit: _Unit, reasons: dict[str, str], previous: dict[str, str]
    ) -> Iterator[Edit]:
        """Put the reasons of each segment into its note, and each draft that is replaced into a new one."""

        def inner(text: str) -> str:
            return self._inner((text,), "", lambda _: "\N{REPLACEMENT CHARACTER}")

        notes = unit.notes.children if unit.notes else []
        left, gone = dict(reasons), []
        for note in notes:
            id = note.attributes.get("id", "")
            if note.attributes.get("category") == _OURS and id in left:
                if reason := left.pop(id):
                    yield from self._refill(note, inner(reason))
                else:
                    gone.append(note)
        name = f"{unit.element.prefix(self._text)}note"
        new = [written(name, inner(text), {"id": id, "category": _OURS}) for id, text in left.items() if text]
        taken = {note.attributes.get("id", "") for note in notes}
        for id, text in previous.items():
            if text and not any(self._words(note) == text for note in notes):
                while id in taken:
                    id += "-"
                new.append(written(name, inner(text), {"id": id, "category": _PREVIOUS}))
        if unit.notes and len(gone) == len(notes) and not new:
            yield removal(self._text, unit.notes)
            return
        yield from (removal(self._text, note) for note in gone)
        if unit.notes and new:
            space, end = indent(self._text, notes[-1]), notes[-1].end
            yield Edit(end, end, "".join(space + note for note in new))
        elif new:
            after = unit.data or unit.parts[0].element
            space = indent(self._text, after)
            lines = "".join(space + " " * bool(space) + note for note in new)
            yield Edit(after.start, after.start, written(f"{name}s", lines + space) + space)

    def _describe(self, piece: Piece) -> Tag:
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


def _with_copies(content: Content) -> Content:
    """The content, in which each further code of an id is a copy with its own, as in branches."""
    ids: dict[str, str] = {}  # of the latest copy, by that of the source

    def retagged(found: re.Match[str]) -> str:
        inside = found[1]
        values = {name: double or single for name, double, single in ATTRIBUTE.findall(inside)}
        id, changes = values.get("id", ""), dict[str, str | None]()
        if id in ids:
            changes = {name: None for name in values if name.startswith("dataRef")}
            changes |= {} if _MARK.match(found[0]) else {"copyOf": id}
            changes["id"] = ids[id] = f"{ids[id]}-copy"
        elif id:
            ids[id] = id
        if ids.get(values.get("startRef", "")):
            changes["startRef"] = ids[values["startRef"]]
        tag = Piece("start", 0, len(found[0]), inside=inside)
        return retag(found[0], tag, changes).new if changes else found[0]

    return tuple(
        replace(one, text=_TAG.sub(retagged, one.text)) if isinstance(one, Code) else one for one in content
    )


def _code_point(prefix: str) -> Callable[[str], str]:
    """How a character that XML forbids is written."""
    return lambda char: f'<{prefix}cp hex="{ord(char):04X}"/>'


def _order(number: int, taken: set[int], free: Iterator[int]) -> str:
    """The value of `order` that a new target needs where another has moved to its place, or ""."""
    place = next(free) if number in taken else number
    taken.add(place)
    return "" if place == number else str(place)


def _state(segment: Element) -> Status:
    """The state of the text in a target. Without the attribute, the text is not known to be a draft."""
    if segment.attributes.get("subState") == _CHECK:
        return Status.DOUBTFUL
    return Status.DRAFT if segment.attributes.get("state") == "initial" else Status.DONE


def _guards(unit: _Unit, part: _Part) -> Iterator[Guard]:
    """What forbids to change a part."""
    if part.element.attributes.get("state") == "final":
        yield "final"
    if is_locked([unit.element, part.element]):
        yield "locked"


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
