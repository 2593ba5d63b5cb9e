"""Android strings.xml: strings, plurals and string arrays. Inline elements are codes; <xliff:g> is a
placeholder. The tags of HTML in CDATA are codes, too, and their visible attributes are translated.

Plurals get the items that the target language needs.
Escapes and whitespace are those of aapt2 (developer.android.com, "String resources").
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.base.errors import DataError
from dragoman.documents.edits import Edit, Lines, PartsDocument
from dragoman.documents.flat import DIVIDING
from dragoman.documents.formats import Languages
from dragoman.documents.markup.html.runs import VISIBLE_ATTRIBUTES
from dragoman.documents.markup.html.tokens import tokens
from dragoman.documents.markup.inline import Item, paired
from dragoman.documents.plural_rules import categories_of
from dragoman.documents.segment import Code, Content, Result, Segment, changed, merged, text_of
from dragoman.documents.strings.keyed import escape_units, whole_characters
from dragoman.documents.xml.pieces import Piece, after_element, expect_root, read_xml, unescape
from dragoman.text.checks.placeholders import has_language
from dragoman.text.xml import escape, escape_attribute

_XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
_SPACE = " \t\r\n"
_REFERENCE = re.compile(r"@(?:[\w.+]+:)?\w+/[\w./]+|\?(?:[\w.]+:)?\w+(?:/[\w.]+)?|@null|@empty")
_PARTS = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(.?)|(\")|([ \t\r\n]+)|[^\\\" \t\r\n]+", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_CHARS = {"n": "\n", "t": "\t"}
_KINDS: dict[str, Literal["open", "close"]] = {"start": "open", "end": "close"}  # of tags of HTML
_QUANTITY = re.compile(r"(\bquantity\s*=\s*[\"'])other\b")
_LOCALE = re.compile(r"\btools:locale\s*=\s*[\"']([\w-]+)")
_SPECIAL = re.compile("[\\\\\"'\x00-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class _Text:
    """A text to translate, at text[start:end], or one to insert there between `before` and `after`."""

    start: int
    end: int
    content: Content
    key: str
    line: int
    note: str
    wrapped: str = ""  # how the file has it: in quotes, in CDATA, or as it is
    before: str = ""
    after: str = ""

    @property
    def segments(self) -> list[Segment]:
        shown = [html.unescape(_Reader(self.line).read(raw)) for _, _, raw in self._attributes()]
        texts = [self.content, *((one,) for one in shown)]
        return [Segment(one, f"line {self.line}", context=self.key, note=self.note) for one in texts]

    def edits(self, _: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        tags: dict[str, str] = {}
        both = zip(self._attributes(), self.segments[1:], results[1:], strict=True)
        for (tag, start, raw), segment, result in reversed([*both]):  # so that places stay
            if (value := changed(segment, result)) is not None:
                made = escape_attribute(text_of(value)).replace("'", "&#39;")
                old = tags.get(tag, tag)
                tags[tag] = old[:start] + _escaped(made, "") + old[start + len(raw) :]
        new = _written(results[0].content if results[0] else self.content, self.wrapped, tags)
        is_new = new != _written(self.content, self.wrapped)
        if is_new or self.start == self.end:
            yield Edit(self.start, self.end, self.before + new + self.after, alone=is_new)

    def _attributes(self) -> list[tuple[str, int, str]]:
        """The visible attributes of tags in CDATA: the tag, and the place in it and the text of the value."""
        tags = [one.text for one in self.content if isinstance(one, Code)] if self.wrapped == "cdata" else []
        return [
            (tag, attribute.start, raw)
            for tag in dict.fromkeys(tags)
            for token in tokens(_plain(tag), True)
            for attribute in token.attributes
            if attribute.name in VISIBLE_ATTRIBUTES
            and has_language(raw := tag[attribute.start : attribute.end].rstrip("\\"))
        ]


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a file of string resources. Raises DataError with the line for other XML."""
    decoded, pieces, root = read_xml(data)
    hint = "leave the file out, or say which format it has with --format"
    expect_root(decoded.text, root, "resources", "Android's <resources>", hint)
    named = _LOCALE.search(decoded.text, root.start, root.tag.end)
    also = [Edit(*named.span(1), languages.target)] if named and languages.renames(named[1]) else []
    texts = _texts(decoded.text, pieces, root.first, categories_of(languages.target))
    return PartsDocument(decoded, texts, also)


def _texts(text: str, pieces: list[Piece], number: int, categories: tuple[str, ...]) -> Iterator[_Text]:
    notes: list[str] = []
    lines = Lines(text)
    while number < len(pieces):
        piece = pieces[number]
        if piece.kind == "other" and text.startswith("<!--", piece.start):
            notes.append(" ".join(text[piece.start + 4 : piece.end - 3].split()))
        elif piece.kind == "text" and text.count("\n", piece.start, piece.end) > 1:
            notes = []  # a comment above an empty line is a heading
        if piece.kind != "start":
            number += 1
            continue
        after = after_element(pieces, number)
        if piece.attributes.get("translatable") != "false":
            yield from _of_entry(text, pieces[number:after], categories, lines, "\n".join(notes))
        notes = []
        number = after


def _of_entry(
    text: str, pieces: list[Piece], categories: tuple[str, ...], lines: Lines, note: str
) -> Iterator[_Text]:
    entry, key = pieces[0], pieces[0].attributes.get("name", "")
    if entry.name == "string":
        yield from _text(text, pieces, key, lines.line(entry.start), note)
    if entry.name not in ("plurals", "string-array"):
        return
    items = [number for number, piece in enumerate(pieces) if piece.kind == "start" and piece.name == "item"]
    quantities = [pieces[number].attributes.get("quantity", "") for number in items]
    for index, number in enumerate(items):
        item = pieces[number : after_element(pieces, number)]
        line = lines.line(item[0].start)
        of_plural = entry.name == "plurals"
        selector = quantities[index] if of_plural else str(index)
        for one in _text(text, item, f"{key}[{selector}]", line, note):
            if of_plural and selector == "other":
                lacking = [category for category in categories if category not in quantities]
                gap = text[pieces[number - 1].start : item[0].start]
                for each in lacking:
                    yield _added(text, one, item, each, f"{key}[{each}]", gap)
            yield one


def _added(text: str, other: _Text, item: list[Piece], category: str, key: str, gap: str) -> _Text:
    """An item for a plural category that the entry lacks, before the item "other"."""
    place, end = item[0].start, item[-1].end
    before = _QUANTITY.sub(rf"\g<1>{category}", text[place : other.start])
    after = text[other.end : end] + (gap if not gap.strip() else "")
    return _Text(place, place, other.content, key, other.line, other.note, other.wrapped, before, after)


def _text(text: str, pieces: list[Piece], key: str, line: int, note: str) -> Iterator[_Text]:
    """Yield the text of an element, unless it is empty or a reference such as @string/name."""
    start, end = pieces[0].end, pieces[-1].start
    inner = text[start:end].strip(_SPACE)
    if not inner or _REFERENCE.fullmatch(inner):
        return
    start = text.index(inner, start)
    end = start + len(inner)
    inside = [piece for piece in pieces[1:-1] if piece.start <= end and piece.end >= start]
    wrapped = ""
    if inner.startswith("<![CDATA[") and inner.index("]]>") == len(inner) - 3:
        wrapped = "cdata"
    elif _QUOTED.fullmatch(inner):
        wrapped = "quotes"
    content = tuple(_content(text, inside, start, end, line, wrapped))
    yield _Text(start, end, content, key, line, note, wrapped)


def _content(
    text: str, pieces: list[Piece], start: int, end: int, line: int, wrapped: str
) -> Iterator[str | Code]:
    reader = _Reader(line)
    pairs: list[int] = []
    opened = number = 0
    while number < len(pieces):
        piece = pieces[number]
        raw = text[max(start, piece.start) : min(end, piece.end)]
        if piece.kind == "cdata" and wrapped == "cdata":
            yield from _html(unescape(raw), reader)
        elif piece.kind in ("text", "cdata"):
            if decoded := reader.read(unescape(raw)):
                yield decoded
        elif piece.kind == "start" and (piece.space, piece.name) == (_XLIFF, "g"):
            number = after_element(pieces, number) - 1
            reader.after_space = False
            yield Code(text[piece.start : pieces[number].end], "placeholder")
        elif piece.kind == "start" and piece.empty:
            yield Code(raw, "empty", breaks=piece.name == "br")
            number += 1  # its end has no width
        elif piece.kind == "start":
            opened += 1
            pairs.append(opened)
            yield Code(raw, "open", opened)
        elif piece.kind == "end":
            yield Code(raw, "close", pairs.pop())
        else:
            yield Code(raw, "empty")
        number += 1


def _html(text: str, reader: _Reader) -> Iterator[str | Code]:
    """The content of CDATA, with its tags as the file has them."""
    items = []
    for one in tokens(_plain(text), True):
        raw = text[one.start : one.end]
        breaks = one.name in DIVIDING or one.name == "br"
        code = Code(raw, _KINDS.get(one.kind, "empty"), breaks=breaks)
        items.append(Item(one.start, one.end, reader.read(raw) if one.kind == "text" else code, one.name))
    yield from merged(one.what for one in paired(items))


def _plain(text: str) -> str:
    """A text of the same length whose quotes have no backslash before them."""
    return text.replace('\\"', ' "').replace("\\'", " '")


class _Reader:
    """Decodes the texts of one string in turn: spaces collapse across tags, and quotes may enclose them."""

    def __init__(self, line: int) -> None:
        self.after_space = True  # spaces at the beginning are layout
        self._quoted = False
        self._line = line

    def read(self, text: str) -> str:
        return whole_characters("".join(map(self._decoded, _PARTS.finditer(text))))

    def _decoded(self, part: re.Match[str]) -> str:
        code, char, quote, space = part.groups()
        if quote:
            self._quoted = not self._quoted
            return ""
        if space and not self._quoted:
            collapsed = "" if self.after_space else " "
            self.after_space = True
            return collapsed
        self.after_space = False
        if code:
            return chr(int(code, 16))
        if char == "u":
            raise DataError(f"line {self._line}: incomplete \\uXXXX", hint="write four hexadecimal digits")
        return part[0] if char is None else _CHARS.get(char, char)


def _written(content: Content, wrapped: str, tags: Mapping[str, str] | None = None) -> str:
    """Write a text as the file has it: in quotes, in CDATA, or as it is. Some `tags` are replaced."""
    parts: list[str] = []
    after_space = True
    for number, one in enumerate(content):
        if isinstance(one, Code):
            parts.append((tags or {}).get(one.text, one.text))
            after_space = after_space and one.kind != "placeholder"
            continue
        text = _escaped(one, wrapped)
        if wrapped != "quotes":
            text = "\\" + text if not number and text.startswith(("@", "?")) else text
            before = " " * after_space  # spaces in turn would be one, and those at the ends none
            text = re.sub(r"(?<= ) ", r"\\u0020", before + text)[after_space:]
            if number == len(content) - 1:
                text = re.sub(r" \Z", r"\\u0020", text)
        after_space = text.endswith(" ") or (after_space and not text)
        parts.append(text if wrapped == "cdata" else escape(text))
    whole = "".join(parts)
    match wrapped:
        case "quotes":
            return f'"{whole}"'
        case "cdata":
            return f"<![CDATA[{whole.replace(']]>', ']]]]><![CDATA[>')}]]>"
    return whole


def _escaped(text: str, wrapped: str) -> str:
    def special(match: re.Match[str]) -> str:
        char = match[0]
        if char in "\n\t":
            return "\\n" if char == "\n" else "\\t"
        if char == "'" and wrapped == "quotes":
            return char
        return "\\" + char if char in "\\\"'" else escape_units(char, upper=False)

    return _SPECIAL.sub(special, text)
