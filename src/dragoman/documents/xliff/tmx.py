"""Translation memories, TMX 1.1 to 1.4: https://www.gala-global.org/tmx-14b.

The text in <sub>, inside a code, is left as it is. Dates and authors stay as they are, also if a translation
is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.base.errors import DataError
from dragoman.base.languages import closest, related
from dragoman.documents.edits import Decoded, Edit, apply, line_of
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content, Result, Segment, Status
from dragoman.documents.xml.edits import (
    Places,
    attributes,
    declarations,
    indent,
    indent_of_end,
    newline_of,
    refill,
    removal,
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
from dragoman.documents.xml.pieces import XML_SPACE, Element, Piece, read_xml, tree, without_collection
from dragoman.text.corpora.formats.tmx import MACHINE

_LANG = f"{{{XML_SPACE}}}lang"


@dataclass(slots=True)
class _Pair:
    """The text to translate in a <tu>."""

    unit: Element
    source: Element  # a <tuv>
    target: Element | None


@without_collection()
def parse(data: bytes, languages: Languages) -> Tmx:
    """Read a file. Raises DataError, with the line, for one that is damaged or lacks the source language."""
    decoded, pieces = read_xml(data)
    root = tree(pieces)
    if root.name != "tmx":
        line = line_of(decoded.text, root.tag.start)
        raise DataError(f"line {line}: <{root.name}> is not <tmx>", hint="use a file of TMX 1.1 to 1.4")
    return Tmx(decoded, pieces, root, languages)


class Tmx:
    """A file of TMX. Its segments are those units that have the source language."""

    def __init__(self, decoded: Decoded, pieces: list[Piece], root: Element, languages: Languages) -> None:
        self.segments: list[Segment] = []
        self._decoded, self._pieces, self._languages = decoded, pieces, languages
        self._text, self._newline = decoded.text, newline_of(decoded.text)
        self._pairs: list[_Pair] = []
        header = next((one for one in root.children if one.name == "header"), root)
        units = [one for body in root.children if body.name == "body" for one in body.children]
        units = [one for one in units if one.name == "tu"]
        places, known = Places(self._text), set[str]()
        for unit in units:
            variants = {
                _language(one): one
                for one in reversed(unit.children)
                if one.name == "tuv" and _language(one) and any(two.name == "seg" for two in one.children)
            }
            known |= variants.keys()
            main = unit.attributes.get("srclang") or header.attributes.get("srclang", "")
            wanted = main if main != "*all*" and related(main, languages.source) else languages.source
            source = closest(wanted, reversed(variants))
            if source is None:
                continue
            target = closest(languages.target, [one for one in reversed(variants) if one != source])
            pair = _Pair(unit, variants[source], variants[target] if target else None)
            if segment := self._read(pair, places):
                self._pairs.append(pair)
                self.segments.append(segment)
        if known and not any(closest(languages.source, [one]) for one in known):
            raise DataError(
                f"line {line_of(self._text, units[0].tag.start)}: no text in {languages.source!r}, "
                f"but in {', '.join(sorted(known))}",
                hint="choose one of these as the source language",
            )

    def _read(self, pair: _Pair, places: Places) -> Segment | None:
        where = f"line {places.line(pair.unit.tag.start)}"
        source = self._content(pair.source)
        if not has_text(source):
            return None
        target = self._content(pair.target) if pair.target else ()
        state = Status.MISSING
        if pair.target and target:
            state = Status.DOUBTFUL if _our_props(pair.target) else Status.DONE
        notes = [one for one in pair.unit.children + pair.source.children if one.name == "note"]
        note = "\n".join(text_in(self._text, self._pieces[one.first : one.last]).strip() for one in notes)
        return Segment(source, where, target or None, state, note=note)

    def _content(self, variant: Element) -> Content:
        segment = _segment(variant)
        return Reader(self._text, self._pieces, _describe).read(segment.first, segment.last)

    @without_collection()
    def render(self, results: list[Result | None]) -> bytes:
        """See `Document`. Raises DataError for a character that XML or the encoding of the file lacks."""
        edits: list[Edit] = []
        for pair, segment, result in zip(self._pairs, self.segments, results, strict=True):
            if result and changes(segment, result):
                inner = write(result.content, segment.where, newline=self._newline)
                reasons = write(("; ".join(result.doubts),), segment.where, newline=self._newline)
                if pair.target:
                    edits += self._replace(pair.source, pair.target, inner, reasons)
                else:
                    edits.append(self._add(pair, inner, reasons))
        return self._decoded.encode(apply(self._text, edits))

    def _replace(self, source: Element, target: Element, inner: str, reasons: str) -> Iterator[Edit]:
        segment = _segment(target)
        names = declarations(_segment(source), source).items() - declarations(segment, target).items()
        for prop in _our_props(target):
            if reasons:
                yield from refill(self._text, prop, reasons, {})
                reasons = ""
            else:
                yield removal(self._text, prop)
        if reasons:
            start = segment.tag.start
            yield Edit(start, start, _prop(reasons) + indent(self._text, segment))
        yield from refill(self._text, segment, inner, dict(names))

    def _add(self, pair: _Pair, inner: str, reasons: str) -> Edit:
        source = _segment(pair.source)
        space = indent(self._text, source)
        names = attributes(declarations(source, pair.unit))
        key = "xml:lang" if _LANG in pair.source.attributes else "lang"
        language = attributes({key: self._languages.target})
        parts = [_prop(reasons)] * bool(reasons) + [f"<seg{names}>{inner}</seg>"]
        inside = "".join(space + part for part in parts)
        last = pair.unit.children[-1].end.end
        new = f"<tuv{language}>{inside}{indent_of_end(self._text, pair.source)}</tuv>"
        return Edit(last, last, indent(self._text, pair.source) + new)


def _language(variant: Element) -> str:
    return variant.attributes.get(_LANG) or variant.attributes.get("lang", "")


def _segment(variant: Element) -> Element:
    return next(one for one in variant.children if one.name == "seg")


def _our_props(variant: Element) -> list[Element]:
    return [one for one in variant.children if one.name == "prop" and one.attributes.get("type") == MACHINE]


def _prop(reasons: str) -> str:
    return f'<prop type="{MACHINE}">{reasons}</prop>'


def _describe(piece: Piece) -> Tag:
    """The kind of an inline element of TMX."""
    values = piece.attributes
    match piece.name, values.get("type", ""):
        case "bpt", _:
            return Tag("open", values.get("i", ""))
        case "ept", _:
            return Tag("close", values.get("i", ""))
        case "it", _:
            return Tag("close" if values.get("pos") == "end" else "open")
        case "ph", kind if kind in BREAKS:
            return BREAK
        case "ph", kind:
            return Tag("empty" if kind in FORMATS else "placeholder")
        case "ut", _:
            return Tag("empty")
        case _:
            return Tag("pair")
