"""XLIFF 1.2, and 1.0 and 1.1 as far as they are alike: http://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html.

SDLXLIFF of Trados, MQXLIFF of memoQ and MXLIFF of Phrase are XLIFF 1.2 with states of their own. The text in
<sub>, inside a code, is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dragoman.base.errors import DataError
from dragoman.documents.edits import Edit
from dragoman.documents.formats import expect_language
from dragoman.documents.segment import Guard, Segment, Status, full_text, translation_of
from dragoman.documents.xliff.bilingual import Bilingual, News, inline_tag, is_locked, units_of
from dragoman.documents.xml.edits import declarations, removal
from dragoman.documents.xml.inline import Tag, has_text
from dragoman.documents.xml.pieces import ATTRIBUTE, XML_SPACE, Element, Piece

_OURS = "dragoman"  # the author of our notes
_PREVIOUS = "dragoman: previous target"  # and of those with a draft that we replaced
_STATES = {
    **dict.fromkeys(("new", "needs-translation"), Status.DRAFT),
    **dict.fromkeys(("final", "signed-off", "translated"), Status.DONE),
}
_GUARDS: dict[str, Guard] = {"final": "final", "signed-off": "approved"}  # reviewed and approved, says 1.2
_CONFIRMED = {  # by people: in the names of Trados, for a segment, and of memoQ, for a unit
    "conf": ("ApprovedTranslation", "ApprovedSignOff"),
    "status": ("Confirmed", "ManuallyConfirmed", "Proofread", "Proofread1", "Reviewer1Confirmed"),
    "confirmed": ("true", *map(str, range(1, 16))),  # Phrase: the step of the workflow
}
_TRADOS, _PHRASE = "http://sdl.com/FileTypes/SdlXliff/1.0", "http://www.memsource.com/mxlf/2.0"
# How programs show that a machine made a translation that nobody has confirmed, by their namespaces:
# https://docs.memoq.com/current/en/Globalese/How_Globalese_processes_XLIFF_files.html
_BY_MACHINE: dict[str, dict[str, str | None]] = {
    "MQXliff": {"status": "MachineTranslated", "percent": None},
    _PHRASE: {"trans-origin": "mt", "confirmed": "0", "score": "0.0", "gross-score": "0.0"},
    _TRADOS: {
        "conf": "Draft",
        "origin": "mt",
        "origin-system": "dragoman",
        **dict.fromkeys(("percent", "text-match", "struct-match")),
    },
}
_FROM_MEMORY = {"MachineTranslated": "Pretranslated", "mt": "tm"}
_DELETED = ("x-sdl-deleted", "x-sdl-feedback-deleted")  # by a tracked change
_TAGS_OF_PHRASE = re.compile(r"\{(?P<open>\w{1,4}|\^)(?:>|&gt;)|&lt;(?P<close>\w{1,4}|\^)\}")
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


class Xliff12(Bilingual[_Unit, _Part]):
    """A file of XLIFF 1.2. Raises DataError if a unit has no <source>, or a file is for other languages."""

    def _read(self) -> None:
        self._tags = _TAGS_OF_PHRASE if _PHRASE in self._root.tag.spaces.own.values() else None
        for file, element, translate in units_of(self._root, _STRUCTURE, "trans-unit"):
            if element is file:
                line = self._lines.line(element.start)
                for name, wanted in (("source", self._languages.source), ("target", self._languages.target)):
                    name += "-language"
                    if name == "source-language" or not self._is_template(element):
                        expect_language(line, name, element.attributes.get(name, ""), wanted)
            elif translate:
                unit = self._unit(file, element)
                note = self._note(one for one in unit.notes if one.get("from") not in (_OURS, _PREVIOUS))
                self._add(unit, [(part, self._segment(unit, part, note)) for part in unit.parts])

    def _unit(self, file: Element, element: Element) -> _Unit:
        children = {one.name: one for one in reversed(element.children) if one.space == element.space}
        if "source" not in children:
            raise DataError(f"{self._where(element)}: <trans-unit> has no <source>", hint="add one")
        source, segmented, target = children["source"], children.get("seg-source"), children.get("target")
        marks = list(_marks(segmented)) if segmented else []
        there = dict(_marks(target)) if target and marks else {}
        parts = [_Part(mark, there.get(mid), mid) for mid, mark in marks] or [_Part(source, target, "")]
        notes = [one for one in element.children if one.name == "note" and one.space == element.space]
        return _Unit(file, element, source, segmented if marks else None, target, notes, parts)

    def _segment(self, unit: _Unit, part: _Part, note: str) -> Segment | None:
        source = self._content(part.source)
        if not has_text(source):
            return None
        target = translation_of(source, self._content(part.target))
        state = _state(unit) if target or self._is_whole(unit) else Status.MISSING
        if state is Status.DONE and _is_unstarted(unit, part):
            state = Status.DRAFT
        context = unit.element.attributes.get("resname", "")
        where, guards = self._where(part.source), frozenset(_guards(unit, part))
        return Segment(source, where, target, state, guards, context, note, place=str(unit.file.start))

    def _state_language(self, units: Iterable[_Unit]) -> Iterator[Edit]:
        for file in {unit.file.start: unit.file for unit in units}.values():
            if not file.attributes.get("target-language") or self._is_template(file):
                yield self._retag(file, {"target-language": self._languages.target})

    def _is_template(self, file: Element) -> bool:
        """Whether a file names its source language as the target's, too."""
        return self._languages.renames(file.attributes.get("target-language", ""))

    def _write(self, unit: _Unit, news: list[News[_Part]]) -> Iterator[Edit]:
        remembered = all(one.result.is_remembered for one in news)
        ended = _by_machine(unit.element, remembered=remembered)
        if unit.element.attributes.get("approved") == "yes":
            ended["approved"] = "no"
        if ended:
            yield self._retag(unit.element, ended)
        for one in news:
            for element in _definitions(unit, one.part):
                yield self._retag(element, _by_machine(element, remembered=one.result.is_remembered))
        reasons = {one.part.mid: one.reasons for one in news}
        doubts = any(reasons.values()) or any(mid not in reasons for mid, _ in self._our_notes(unit))
        if unit.target and _state(unit) is Status.DOUBTFUL and not self._our_notes(unit):
            left = [one for one in unit.parts if one.mid not in reasons and one.target]  # a person's mark
            doubts = doubts or any(has_text(self._content(one.source)) for one in left)
        there = declarations(unit.target, unit.element) if unit.target else {}
        named = unit.target.attributes.get(f"{{{XML_SPACE}}}lang", "") if unit.target else ""
        values = {
            **dict(declarations(unit.source, unit.element).items() - there.items()),
            "state": "needs-review-translation" if doubts else "translated",
            **({"xml:lang": self._languages.target} if named and self._languages.renames(named) else {}),
            # It says where the translation is from.
            "state-qualifier": "exact-match" if remembered else None,
        }
        inners = {one.part.mid: self._inner(one.result.content, one.segment.where) for one in news}
        copied = self._without_words(unit, inners)
        last = unit.target or unit.segmented or unit.source
        if unit.target and news[0].part.mid and all(one.part.target for one in news):
            yield self._retag(unit.target, values)
            for one in news:
                if one.part.target:
                    yield from self._refill(one.part.target, inners[one.part.mid])
            for mid, mark in _marks(unit.target):
                if mid in copied:
                    yield from self._refill(mark, copied[mid])
        elif unit.target:
            yield from self._refill(unit.target, self._whole(unit, copied | inners), values)
        else:
            yield self._after(last.end, unit.source, "target", self._whole(unit, copied | inners), values)
        yield from self._replace_notes(unit, last.end, reasons)
        yield from self._previous(unit, last.end, news)

    def _whole(self, unit: _Unit, inners: dict[str, str]) -> str:
        """The content of a target: the <seg-source> with translations in place of segments."""
        if unit.segmented is None or "" in inners:
            return inners[""]
        there = {mid: _inside(self._text, mark) for mid, mark in _marks(unit.target)} if unit.target else {}
        parts, place = [], unit.segmented.inner
        for mid, mark in _marks(unit.segmented):
            parts += [self._text[place : mark.inner], (there | inners).get(mid, "")]
            place = mark.inner_end
        return "".join([*parts, self._text[place : unit.segmented.inner_end]])

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

    def _is_whole(self, unit: _Unit) -> bool:
        """Whether a unit with segments has a target with text, but without them."""
        target = unit.target
        if not unit.segmented or not target or any(one.get("mtype") == "seg" for one in target.walk()):
            return False
        return translation_of(self._content(unit.source), self._content(target)) is not None

    def _our_notes(self, unit: _Unit) -> list[tuple[str, Element]]:
        """The notes of ours in a unit, each with the segment that it is about."""
        ours = [note for note in unit.notes if note.attributes.get("from") == _OURS]
        return [(self._words(one).partition(": ")[0] if unit.segmented else "", one) for one in ours]

    def _replace_notes(self, unit: _Unit, place: int, reasons: dict[str, str]) -> Iterator[Edit]:
        """Put the reasons of each segment into a note of its own, in the place of its earlier one."""
        written = {
            mid: self._inner((f"{mid}: {reason}" if mid else reason,), mid)
            for mid, reason in reasons.items()
            if reason
        }
        for mid, note in self._our_notes(unit):
            if mid in written:
                yield from self._refill(note, written.pop(mid))
            elif mid in reasons:
                yield removal(self._text, note)
        for words in written.values():
            yield self._after(place, unit.source, "note", words, {"from": _OURS})

    def _previous(self, unit: _Unit, place: int, news: list[News[_Part]]) -> Iterator[Edit]:
        """Notes with the drafts that are replaced."""
        old = [f"{one.part.mid}: {text}" if one.part.mid else text for one in news if (text := one.previous)]
        if self._is_whole(unit) and news[0].segment.state is Status.DRAFT:
            old = [full_text(self._content(unit.target)).strip()]
        there = [self._words(note) for note in unit.notes if note.attributes.get("from") == _PREVIOUS]
        for text in old:
            if text not in there:
                yield self._after(place, unit.source, "note", self._inner((text,), ""), {"from": _PREVIOUS})

    def _describe(self, piece: Piece) -> Tag:
        values = piece.attributes
        if piece.name == "mrk" and values.get("mtype") in _DELETED:
            return Tag("empty")
        if piece.name == "mrk" and values.get("mtype") == "protected":
            return Tag("pair", translate=False)
        return inline_tag(piece, values.get("rid") or values.get("id", ""), values.get("ctype", ""))


def _inside(text: str, element: Element) -> str:
    return text[element.inner : element.inner_end]


def _marks(element: Element) -> Iterator[tuple[str, Element]]:
    """The segments in a <seg-source> or <target> that have words or may have them, by their mid."""
    todo = [element]
    while todo:
        one = todo.pop()
        if one.name == "mrk" and one.attributes.get("mtype") == "seg" and not one.tag.empty:
            yield one.attributes.get("mid", ""), one
        else:
            todo += reversed(one.children)


def _definitions(unit: _Unit, part: _Part) -> list[Element]:
    """What SDLXLIFF says of a part, behind the texts."""
    there = [one for one in unit.element.children if one.name == "seg-defs"]
    return [one for each in there for one in each.children if one.attributes.get("id") == part.mid]


def _confirmed(element: Element) -> dict[str, str]:
    """The attributes by which a person confirmed a translation, as the file names them, with their values."""
    found = {one[1]: (one[2] or one[3] or "") for one in ATTRIBUTE.finditer(element.tag.inside)}
    return {
        name: value for name, value in found.items() if value in _CONFIRMED.get(name.rpartition(":")[2], ())
    }


def _by_machine(element: Element, *, remembered: bool) -> dict[str, str | None]:
    """The attributes for a new translation, as the file names them. They end a confirmation."""
    new = dict[str, str | None](dict.fromkeys(_confirmed(element), "Pretranslated"))
    for one in ATTRIBUTE.finditer(element.tag.inside):
        prefix, _, local = one[1].rpartition(":")
        values = _BY_MACHINE.get(element.tag.spaces.get(prefix), {})
        if prefix and local in values:
            new[one[1]] = values[local]
    new |= _BY_MACHINE.get(element.space, {})  # <sdl:seg>
    if remembered:
        new = {name: _FROM_MEMORY.get(value or "", value) for name, value in new.items()}
    return new


def _is_unstarted(unit: _Unit, part: _Part) -> bool:
    """Whether a program says that a text in a target is no translation yet."""
    return "NotStarted" in unit.element.attributes.values() or any(
        one.space == _TRADOS and (not one.get("conf") or one.get("origin") == "source")
        for one in _definitions(unit, part)
    )


def _guards(unit: _Unit, part: _Part) -> Iterator[Guard]:
    """What forbids to change a part."""
    own = _definitions(unit, part)
    if any(map(_confirmed, (unit.element, *own))) or unit.element.attributes.get("approved") == "yes":
        yield "approved"
    if unit.target and (guard := _GUARDS.get(unit.target.attributes.get("state", ""))):
        yield guard
    if is_locked([unit.element, unit.target, part.source, part.target, *own]):
        yield "locked"


def _state(unit: _Unit) -> Status:
    """The state of the text in the target of a unit."""
    values = unit.target.attributes if unit.target else {}
    state = values.get("state", "")
    if state in _STATES:
        return _STATES[state]
    doubtful = state.startswith("needs-") or values.get("state-qualifier") in ("fuzzy-match", "mt-suggestion")
    return Status.DOUBTFUL if doubtful or unit.element.attributes.get("approved") == "no" else Status.DONE
