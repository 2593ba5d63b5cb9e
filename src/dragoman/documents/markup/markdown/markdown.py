"""Markdown: CommonMark with tables, strikethrough and the extensions of site generators.

Paragraphs, headings, cells and alternative texts of images are segments. Front matter, code, HTML blocks,
addresses, formulas, templates and modules of JavaScript stay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.documents.edits import Decoded, Edit, apply, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.inline import Item, content, has_words, paired, trimmed
from dragoman.documents.markup.lines import lines
from dragoman.documents.markup.markdown.blocks import Block, read_blocks
from dragoman.documents.markup.markdown.inline import alt_text, read_inline
from dragoman.documents.markup.markdown.text import Place, ways_to_write, written_alt
from dragoman.documents.markup.spans import Span, changed_spans, updated
from dragoman.documents.segment import Code, Content, Result, Segment

_MOST_CHECKS = 300  # of the structure; after them, the remaining translations are not taken


@dataclass(frozen=True)
class _Texts:
    """The segments of a block: its text, and the alternative texts of its images. Places are in the block."""

    block: Block
    main: Span | None
    place: Place | None  # of `main`
    images: list[Span]


@dataclass
class _Change:
    """The ways to write a changed segment, the best first, and the one that is tried."""

    segment: Segment
    ways: Iterator[list[Edit]]
    edits: list[Edit] = field(default_factory=list)

    def advance(self) -> bool:
        """Try the next way, if there is one."""
        self.edits = next(self.ways, [])
        return bool(self.edits)


class Markdown:
    """A Markdown file whose segments are inline content.

    After `render`, `kept` has the segments that stay as in the source, because each way to write their
    translation would change the structure of the file.
    """

    def __init__(self, decoded: Decoded) -> None:
        self.kept: list[Segment] = []
        self._decoded = decoded
        self._parsed = read_blocks(decoded.text)
        self._starts = [line.start for line in lines(decoded.text)]
        self._blocks = [self._texts(block) for block in self._parsed.blocks]
        self._spans = [span for one in self._blocks for span in ([one.main] if one.main else []) + one.images]
        self.segments = [span.segment for span in self._spans]

    def render(self, results: list[Result | None]) -> bytes:
        new = {id(span): made for span, made in changed_spans(self._spans, results)}
        changes = [change for one in self._blocks for change in self._changes(one, new)]
        edits, self.kept = _Check(self._decoded.text, self._parsed.structure).accept(changes)
        return self._decoded.encode(apply(self._decoded.text, edits))

    def _texts(self, block: Block) -> _Texts:
        items = read_inline(block.text, self._parsed.references)
        images = []
        for item in items:
            if isinstance(item.what, Code) and block.text.startswith("![", item.start):
                alt = alt_text(block.text, item, self._parsed.references)
                if alt is not None and has_words((alt[2],)):
                    images.append(Span(self._segment(block, alt[0], (alt[2],)), alt[0], alt[1]))
        core = _core(items, block.text)
        source = content(core)
        if not has_words(source):
            return _Texts(block, None, None, images)
        start, end = core[0].start, core[-1].end
        before = content([item for item in items if item.end <= start])
        after = content([item for item in items if item.start >= end])
        main = Span(self._segment(block, start, source), start, end, core)
        return _Texts(block, main, Place(block, start, end, before, after), images)

    def _segment(self, block: Block, start: int, source: Content) -> Segment:
        return Segment(source, f"line {bisect_right(self._starts, block.place(start))}")

    def _changes(self, one: _Texts, new: dict[int, Content]) -> Iterator[_Change]:
        """The changes of a block. Those of images are part of the change of the text around them."""
        main = one.main if id(one.main) in new else None
        inner = []
        for span in one.images:
            if id(span) not in new:
                continue
            ways = [
                Edit(span.start, span.end, text)
                for text in written_alt(new[id(span)], self._parsed.references)
            ]
            if ways and main is not None and main.start <= span.start < main.end:
                inner.append(ways[0])
            else:
                yield _Change(span.segment, iter([[_filed(one.block, edit)] for edit in ways]))
        if main is not None and one.place is not None:
            parts = updated(one.block.text, main, new[id(main)], inner)
            yield _Change(main.segment, self._ways(one.place, parts))

    def _ways(self, place: Place, parts: Content) -> Iterator[list[Edit]]:
        for text in ways_to_write(parts, place, self._parsed.references):
            yield [_filed(place.block, Edit(place.start, place.end, text))]


def parse(data: bytes, languages: Languages) -> Markdown:
    """Read Markdown.

    Raises ConfigError without markdown-it-py, and DataError if it is not UTF-8.
    """
    return Markdown(decode_file(data))


def _core(items: Sequence[Item], text: str) -> Sequence[Item]:
    """The items of a segment: not those at the ends, unless a link has to get the label that its text was."""
    core = trimmed(items)
    for place, item in enumerate(items):
        if isinstance(item.what, Code) and item.what.kind == "close" and core and item.start >= core[-1].end:
            if item.what.text == text[item.start : item.end]:
                continue
            pair = item.what.pair
            start = next(
                n for n, one in enumerate(items) if isinstance(one.what, Code) and one.what.pair == pair
            )
            if items[start].start < core[0].start:
                core = paired(items[start : place + 1])
    return core


def _filed(block: Block, edit: Edit) -> Edit:
    """An edit of the text of a block as one of the file, with the marks of containers before each line."""
    if block.kind == "cell":
        new = edit.new.replace("\n", " ").replace("|", "\\|")
    else:
        new = edit.new.replace("\n", block.line_end + block.prefix)
    return Edit(block.place(edit.start), block.place(edit.end - 1) + 1, new)


class _Check:
    """Takes the changes after which a file has the same structure as before."""

    def __init__(self, text: str, structure: list[tuple[str, ...]]) -> None:
        self._text = text
        self._structure = structure
        self._checks = 0

    def accept(self, changes: Sequence[_Change]) -> tuple[list[Edit], list[Segment]]:
        """Return the edits, and the segments that no way of writing fits."""
        started = [change for change in changes if change.advance()]
        taken = self._taken(started, [])
        edits = [edit for change in taken for edit in change.edits]
        fit = {id(change) for change in taken}
        return edits, [change.segment for change in changes if id(change) not in fit]

    def _taken(self, changes: Sequence[_Change], before: Sequence[_Change]) -> list[_Change]:
        """Those of the changes that fit, given the ones before them. Halves the list until each one fits."""
        if not changes or self._fits([*before, *changes]):
            return [*changes]
        if len(changes) > 1:
            half = len(changes) // 2
            first = self._taken(changes[:half], before)
            return [*first, *self._taken(changes[half:], [*before, *first])]
        while changes[0].advance():
            if self._fits([*before, *changes]):
                return [*changes]
        return []

    def _fits(self, changes: Sequence[_Change]) -> bool:
        self._checks += 1
        if self._checks > _MOST_CHECKS:
            return False
        edits = [edit for change in changes for edit in change.edits]
        return read_blocks(apply(self._text, edits)).structure == self._structure
