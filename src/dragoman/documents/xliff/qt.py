"""Qt Linguist's .ts files, TS 1.1 to 2.1: https://doc.qt.io/qt-6/linguist-ts-file-format.html.

A doubtful translation is "unfinished", with the reasons in its <translatorcomment>.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.base.languages import base
from dragoman.documents.edits import Edit, line_of
from dragoman.documents.formats import Languages, expect_language
from dragoman.documents.plural_rules import plurals_of
from dragoman.documents.segment import Code, Content, Segment, Status, translation_of
from dragoman.documents.xliff.bilingual import Bilingual, News
from dragoman.documents.xml.edits import indent, removal, written
from dragoman.documents.xml.inline import Tag, has_text, write
from dragoman.documents.xml.pieces import Element, Piece, expect_root, read_xml

_OURS = "dragoman: "
_PREVIOUS = "dragoman, previous translation: "
_MOST_FORMS = 20
_FORMS = {"fa": 1, "hu": 1, "km": 2, "lo": 2, "mk": 3, "tr": 1}  # where Qt differs from gettext


def may_be_qt(start: bytes) -> bool:
    """Whether a .ts file that begins so may be of Qt. Most are programs in TypeScript, or films."""
    return b"<" in start[:6]


def parse(data: bytes, languages: Languages) -> Ts:
    """Read a file. Raises DataError, with the line, for one that is damaged or for other languages."""
    if not may_be_qt(data):
        raise DataError("line 1: not XML", hint="files of Qt are translated, but no TypeScript")
    decoded, pieces, root = read_xml(data)
    expect_root(decoded.text, root, "TS", "<TS>", "use a file of Qt Linguist")
    line = line_of(decoded.text, root.start)
    expect_language(line, "sourcelanguage", root.attributes.get("sourcelanguage", ""), languages.source)
    file = Ts(decoded, pieces, root, languages)
    if not file.is_template:
        expect_language(line, "language", root.attributes.get("language", ""), languages.target)
    return file


class Ts(Bilingual[Element, int]):
    """A file of Qt Linguist. A message has one part, or one for each of its numerus forms."""

    def _read(self) -> None:
        texts = [self._text[one.start : one.end] for one in self._pieces if one.kind == "text"]
        self._escapes = {
            char: name
            for char, name in (("'", "&apos;"), ('"', "&quot;"))
            if not any(char in text for text in texts)
        }
        for one in self._root.children:
            context, messages = (self._root, [one]) if one.name == "message" else (one, one.children)
            name = context.child("name")
            for message in messages:
                if message.name == "message" and context.name in ("TS", "context"):
                    self._add(message, enumerate(self._segments(message, self._words(name) if name else "")))

    def _segments(self, message: Element, context: str) -> Iterator[Segment]:
        source, translation = message.child("source"), message.child("translation")
        kind = translation.get("type") if translation else "unfinished"
        if (
            source is None
            or kind in ("vanished", "obsolete")
            or (translation and translation.get("variants"))
        ):
            return
        content = self._content(source)
        if not has_text(content):
            return
        note, comment = self._theirs(message), message.child("comment")
        label = " ".join([context, self._words(comment) if comment else ""]).strip()
        targets, plural = self._targets(message), message.get("numerus") == "yes"
        for number, there in enumerate(targets):
            own = _of_number(content, one=number == 0 and 1 < len(targets) < 5) if plural else content
            target = translation_of(own, there)
            state = Status.DRAFT if kind == "unfinished" else Status.DONE
            state = state if target else Status.MISSING
            yield Segment(own, self._where(source), target, state, context=label, note=note, place=context)

    def _targets(self, message: Element) -> list[Content]:
        """The translation that a message has, for each of the forms that the target language needs."""
        translation = message.child("translation")
        if message.get("numerus") != "yes":
            return [self._content(translation)]
        there = [self._content(one) for one in _forms(message)]
        known = plurals_of(self._languages.target)
        count = _FORMS.get(base(self._languages.target), known.forms if known else len(there) or 2)
        if count < len(there) <= _MOST_FORMS and all(there):
            return there
        return [*there, *[()] * count][:count]

    def _write(self, unit: Element, news: list[News[int]]) -> Iterator[Edit]:
        contents = self._targets(unit)
        for one in news:
            contents[one.part] = one.result.content
        reasons = "; ".join(dict.fromkeys(one.reasons for one in news if one.reasons))
        missing = any(translation_of(news[0].segment.source, one) is None for one in contents)
        values = {"type": "unfinished" if reasons or missing else None}
        translation, forms = unit.child("translation"), _forms(unit)
        source = unit.child("source") or unit
        yield from self._comment(unit, source, reasons, [one.previous for one in news])
        where = news[0].segment.where
        if translation and len(forms) == len(contents):
            yield self._retag(translation, values)
            for one in news:
                yield from self._refill(forms[one.part], self._inner(one.result.content, where))
            return
        inner = "".join(self._inner(one, where) for one in contents)
        if unit.get("numerus") == "yes":
            outer = indent(self._text, source)
            each = indent(self._text, forms[0]) if forms else outer and outer + "    "
            inner = (
                "".join(each + written("numerusform", self._inner(one, where)) for one in contents) + outer
            )
        if translation:
            yield from self._refill(translation, inner, values)
        else:
            last = [one for one in unit.children if one.name not in ("userdata", "location")][-1]
            yield self._after(last.end, source, "translation", inner, values)

    def _comment(self, unit: Element, source: Element, reasons: str, drafts: list[str]) -> Iterator[Edit]:
        """Replace our lines in the comment of translators."""
        comment = unit.child("translatorcomment")
        lines = self._words(comment).split("\n") if comment else []
        new = [line for line in lines if not line.startswith(_OURS)]
        new += [line for one in drafts if one and (line := _PREVIOUS + " ".join(one.split())) not in new]
        new += [_OURS + " ".join(reasons.split())] * bool(reasons)
        if new == lines:
            return
        inner = self._inner(("\n".join(new),), "")
        if comment and new:
            yield from self._refill(comment, inner)
        elif comment:
            yield removal(self._text, comment)
        else:
            before = [one for one in unit.children if one.name not in ("translation", "userdata")][-1]
            yield self._after(before.end, source, "translatorcomment", inner, {})

    def _theirs(self, message: Element) -> str:
        texts = [
            self._words(one) for one in message.children if one.name in ("extracomment", "translatorcomment")
        ]
        lines = (line for text in texts for line in text.split("\n"))
        return "\n".join(line for line in lines if not line.startswith("dragoman"))

    @property
    def is_template(self) -> bool:
        """Whether the file names its source language as the target's, too, and has no translation."""
        renamed = self._languages.renames(self._root.attributes.get("language", ""))
        return renamed and not any(one.target for one in self.segments)

    def _state_language(self, units: list[Element]) -> Iterator[Edit]:
        if units and (self.is_template or not self._root.attributes.get("language")):
            yield self._retag(self._root, {"language": self._languages.target.replace("-", "_")})

    def _inner(self, content: Content, where: str, represent: object = None) -> str:
        """Write a content as lupdate does, with entities for quotes."""
        return "".join(one.text if isinstance(one, Code) else self._escaped(one, where) for one in content)

    def _escaped(self, text: str, where: str) -> str:
        inner = write((text,), where, newline=self._newline, represent=lambda char: f"\0{ord(char):x}\0")
        inner = re.sub("['\"]", lambda found: self._escapes.get(found[0], found[0]), inner)
        return re.sub("\0(\\w+)\0", r'<byte value="x\1"/>', inner)

    def _describe(self, piece: Piece) -> Tag:
        return Tag("empty" if piece.name == "byte" else "pair")


def _forms(message: Element) -> list[Element]:
    translation = message.child("translation")
    return [one for one in translation.children if one.name == "numerusform"] if translation else []


def _of_number(content: Content, *, one: bool) -> Content:
    """The "%n file(s)" of programs as a text of one or of several."""
    return tuple(
        part if isinstance(part, Code) else re.sub(r"(?<=\w)\(s\)", "" if one else "s", part)
        for part in content
    )
