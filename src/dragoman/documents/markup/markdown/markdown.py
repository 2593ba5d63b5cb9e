"""Markdown: CommonMark with tables, strikethrough and the extensions of site generators.

Paragraphs, headings, cells, titles of admonitions and alternative texts of images are segments. So are the
text of HTML, and the values of front matter that people read. Code, addresses and titles of links,
formulas, templates, wiki links and modules of JavaScript stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.documents.edits import Decoded, Edit, apply, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.block import Block, Rewriting, accepted, filed
from dragoman.documents.markup.html.html import Html
from dragoman.documents.markup.inline import Item, content, core_of, has_words
from dragoman.documents.markup.lines import lines
from dragoman.documents.markup.markdown.blocks import read_blocks
from dragoman.documents.markup.markdown.front import front_values
from dragoman.documents.markup.markdown.html_blocks import HtmlBlocks
from dragoman.documents.markup.markdown.inline import alt_text, read_inline
from dragoman.documents.markup.markdown.text import ways_to_write, written_alt
from dragoman.documents.markup.spans import Span, changed_spans, updated
from dragoman.documents.segment import Code, Content, Result, Segment, full_text

_TAG = re.compile(r"<[a-z]")  # not of a component: its properties stay


@dataclass(frozen=True)
class _Texts:
    """The segments of a block: its text, and those inside its codes. Places are in the block.

    Inside are the alternative texts of images, and attributes of HTML with the item of their tag.
    """

    block: Block
    main: Span | None
    inside: list[Span]

    @property
    def spans(self) -> list[Span]:
        return ([self.main] if self.main else []) + self.inside


class Markdown:
    """A Markdown file whose segments are inline content.

    After `render`, `kept` has the segments that stay as in the source, because each way to write their
    translation would change the structure of the file.
    """

    def __init__(self, decoded: Decoded, languages: Languages) -> None:
        self.kept: list[Segment] = []
        self._decoded, self._languages = decoded, languages
        self._parsed = read_blocks(decoded.text)
        self._starts = [line.start for line in lines(decoded.text)]
        self._html = HtmlBlocks(self._parsed.blocks, languages, self._where)
        self._texts: list[_Texts] = []
        self._spans: list[Span] = []
        for block, spans in zip(self._parsed.blocks, self._html.spans, strict=True):
            if block.kind != "html" and spans:  # without them, it is in an element that stays
                self._texts.append(self._read(block))
                spans = self._texts[-1].spans
            self._spans += spans
        self._front = front_values(decoded.text[: self._parsed.front])
        front = [segment for one in self._front for segment in one.segments]
        self.segments = front + [span.segment for span in self._spans]

    def render(self, results: list[Result | None]) -> bytes:
        text, first = self._decoded.text, len(self._front)
        new = {id(span): made for span, made in changed_spans(self._spans, results[first:])}
        changes = [change for one in self._texts for change in self._changes(one, new)]
        for value, result in zip(self._front, results, strict=False):
            if edits := list(value.edits(text, [result])):
                changes.append(Rewriting(value.segments, iter([edits])))
        for number, written, edit in self._html.edits(new):
            way = [filed(self._parsed.blocks[number], edit)]
            changes.append(Rewriting([span.segment for span in written], iter([way])))
        edits, self.kept = accepted(text, lambda new: read_blocks(new).structure, changes)
        return self._decoded.encode(apply(text, edits))

    def _read(self, block: Block) -> _Texts:
        items = read_inline(block.text, self._parsed.references)
        inside = [span for item in items for span in self._inside(block, item)]
        core = core_of(items, block.text)
        source = content(core)
        if not has_words(source):
            return _Texts(block, None, inside)
        start = core[0].start
        return _Texts(block, Span(self._segment(block, start, source), start, core[-1].end, core), inside)

    def _inside(self, block: Block, item: Item) -> Iterator[Span]:
        """The segments in a code."""
        if isinstance(item.what, Code) and block.text.startswith(("![", "^["), item.start):
            alt = alt_text(block.text, item, self._parsed.references)
            if alt is not None and has_words(alt[2]):
                yield Span(self._segment(block, alt[0], alt[2]), alt[0], alt[1])
        elif isinstance(item.what, Code) and _TAG.match(item.what.text) and item.what.kind != "placeholder":
            for span in self._tag(item).spans:
                start = item.start + span.start
                segment = self._segment(block, start, span.segment.source)
                yield Span(segment, start, item.start + span.end, [item])

    def _tag(self, item: Item) -> Html:
        return Html(Decoded(full_text([item.what]), "utf-8", b""), self._languages, True)

    def _segment(self, block: Block, start: int, source: Content) -> Segment:
        return Segment(source, self._where(block.place(start)), heading=block.kind in ("heading", "title"))

    def _where(self, place: int) -> str:
        return f"line {bisect_right(self._starts, place)}"

    def _changes(self, one: _Texts, new: dict[int, Content]) -> Iterator[Rewriting]:
        """The changes of a block. Those inside codes are part of the change of the text around them."""
        main = one.main if id(one.main) in new else None
        inner, written = [], []
        for span in one.inside:
            if id(span) not in new:
                continue
            ways = [Edit(span.start, span.end, text) for text in self._ways_inside(span, new[id(span)])]
            if ways and main is not None and main.start <= span.start < main.end:
                inner.append(ways[0])
                written.append(span.segment)
            else:
                yield Rewriting([span.segment], iter([[filed(one.block, edit)] for edit in ways]))
        if main is not None:
            parts = updated(one.block.text, main, new[id(main)], inner)
            texts = ways_to_write(parts, one.block, main.start, main.end, self._parsed.references)
            edits = ([filed(one.block, Edit(main.start, main.end, text))] for text in texts)
            yield Rewriting([main.segment, *written], edits)

    def _ways_inside(self, span: Span, parts: Content) -> Iterator[str]:
        if not span.items:
            yield from written_alt(parts, self._parsed.references)
            return
        tag, start = self._tag(span.items[0]), span.items[0].start
        plain = Result((" ".join(full_text(parts).split()),))
        results = [plain if one.start == span.start - start else None for one in tag.spans]
        yield from (edit.new for edit in tag.edits(results))


def parse(data: bytes, languages: Languages) -> Markdown:
    """Read Markdown. Raises DataError if it is not UTF-8."""
    return Markdown(decode_file(data), languages)
