"""Translation memories, TMX 1.1 to 1.4: https://www.gala-global.org/tmx-14b.

The text in <sub>, inside a code, is left as it is. Dates and authors stay as they are, also if a translation
is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.base.languages import closest, related
from dragoman.documents.edits import Edit, line_of
from dragoman.documents.formats import Languages, OtherLanguage
from dragoman.documents.segment import Segment, Status, translation_of
from dragoman.documents.xliff.bilingual import Bilingual, News, inline_tag
from dragoman.documents.xml.edits import declarations, indent, indent_of_end, removal, written
from dragoman.documents.xml.inline import Tag, has_text
from dragoman.documents.xml.pieces import XML_SPACE, Element, Piece, expect_root, read_xml
from dragoman.text.corpora.formats.tmx import MACHINE, PLACE

_LANG = f"{{{XML_SPACE}}}lang"


@dataclass(slots=True)
class _Pair:
    """The text to translate in a <tu>."""

    unit: Element
    source: Element  # a <tuv>
    target: Element | None


def parse(data: bytes, languages: Languages) -> Tmx:
    """Read a file. Raises DataError, with the line, for one that is damaged or lacks the source language."""
    decoded, pieces, root = read_xml(data)
    expect_root(decoded.text, root, "tmx", "<tmx>", "use a file of TMX 1.1 to 1.4")
    return Tmx(decoded, pieces, root, languages)


class Tmx(Bilingual[_Pair, _Pair]):
    """A file of TMX. Its segments are those units that have the source language."""

    def _read(self) -> None:
        root, languages, known = self._root, self._languages, set[str]()
        header = next((one for one in root.children if one.name == "header"), root)
        units = [one for body in root.children if body.name == "body" for one in body.children]
        units = [one for one in units if one.name == "tu"]
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
            self._add(pair, [(pair, self._segment(pair))])
        if known and not any(closest(languages.source, [one]) for one in known):
            raise OtherLanguage(
                f"line {line_of(self._text, units[0].start)}: no text in {languages.source!r}, "
                f"but in {', '.join(sorted(known))}",
                known,
                hint="choose one of these as the source language",
            )

    def _segment(self, pair: _Pair) -> Segment | None:
        source = self._content(_segment(pair.source))
        if not has_text(source):
            return None
        there = self._content(_segment(pair.target)) if pair.target else ()
        target, state = translation_of(source, there), Status.MISSING
        if pair.target and target:
            state = Status.DOUBTFUL if _our_props(pair.target) else Status.DONE
        inside = pair.unit.children + pair.source.children
        notes = [one for one in inside if one.name == "note"]
        props = {one.attributes.get("type"): self._words(one) for one in inside if one.name == "prop"}
        context, place = (props.get(name, "") for name in PLACE)
        where, note = self._where(pair.unit), self._note(notes)
        return Segment(source, where, target, state, context=context, note=note, place=place)

    def _write(self, unit: _Pair, news: list[News[_Pair]]) -> Iterator[Edit]:
        for one in news:
            inner = self._inner(one.result.content, one.segment.where)
            reasons = self._inner((one.reasons,), one.segment.where)
            if unit.target:
                yield from self._replace(unit.source, unit.target, inner, reasons)
            else:
                yield self._new(unit, inner, reasons)

    def _replace(self, source: Element, target: Element, inner: str, reasons: str) -> Iterator[Edit]:
        segment = _segment(target)
        names = declarations(_segment(source), source).items() - declarations(segment, target).items()
        for prop in _our_props(target):
            if reasons:
                yield from self._refill(prop, reasons)
                reasons = ""
            else:
                yield removal(self._text, prop)
        if reasons:
            start = segment.start
            yield Edit(start, start, _prop(reasons) + indent(self._text, segment))
        yield from self._refill(segment, inner, dict(names))

    def _new(self, pair: _Pair, inner: str, reasons: str) -> Edit:
        source = _segment(pair.source)
        parts = [_prop(reasons)] * bool(reasons) + [written("seg", inner, declarations(source, pair.unit))]
        inside = "".join(indent(self._text, source) + part for part in parts)
        key = "xml:lang" if _LANG in pair.source.attributes else "lang"
        inside += indent_of_end(self._text, pair.source)
        last = pair.unit.children[-1].end
        new = written("tuv", inside, {key: self._languages.target})
        return Edit(last, last, indent(self._text, pair.source) + new)

    def _describe(self, piece: Piece) -> Tag:
        return inline_tag(piece, piece.attributes.get("i", ""), piece.attributes.get("type", ""))


def _language(variant: Element) -> str:
    return variant.attributes.get(_LANG) or variant.attributes.get("lang", "")


def _segment(variant: Element) -> Element:
    return next(one for one in variant.children if one.name == "seg")


def _our_props(variant: Element) -> list[Element]:
    return [one for one in variant.children if one.name == "prop" and one.attributes.get("type") == MACHINE]


def _prop(reasons: str) -> str:
    return written("prop", reasons, {"type": MACHINE})
