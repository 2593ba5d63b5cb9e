"""reStructuredText, as docutils and Sphinx read it.

Paragraphs, titles, terms, cells, and the text of directives that are known to hold text are segments. Code,
other directives, comments, targets, and tables whose cells span others stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.edits import Decoded, Edit, apply, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.block import Block, Rewriting, accepted, filed
from dragoman.documents.markup.inline import content, core_of, has_words
from dragoman.documents.markup.lines import lines
from dragoman.documents.markup.rst.blocks import RstBlocks, TableBlock
from dragoman.documents.markup.rst.inline import NAME, read_rst_inline, target_name, ways_to_write_rst
from dragoman.documents.segment import Content, Result, Segment, changed, dealt, full_text, text_of
from dragoman.text.width import columns

_REFERENCE = re.compile(rf"`([^`<>]+)`_(?!_)|(?<!\w)({NAME})_(?!\w)|:(?:std:)?(?:ref|numref):`([^`<>]+)`")
_DEFINED = re.compile(r"(?m)^[ \t]*\.\. _(`[^`\n]+`|(?:\\.|[^:\\\n])+):(?:\s|\Z)")
_SIMPLE_NAME = re.compile(NAME)


@dataclass(frozen=True)
class _Text:
    """A segment and its place block.text[start:end]."""

    segment: Segment
    block: Block
    start: int
    end: int


@dataclass(frozen=True)
class _Cells:
    """A table whose cells are texts of their own."""

    block: TableBlock
    cells: list[RstText]


class RstText:
    """A text whose segments are paragraphs, titles and the like. `kept` is as in `Document.render`.

    The file has references to the names of `shared`, and targets with the names of `defined`.
    """

    def __init__(self, text: str, first: int, shared: frozenset[str], defined: frozenset[str]) -> None:
        self.kept: list[Segment] = []
        self._text, self._shared, self._defined = text, shared, defined
        self._read = RstBlocks(text)
        starts = [line.start for line in lines(text)]
        self._parts: list[tuple[_Text | _Cells, int]] = []
        self.segments: list[Segment] = []
        for block in self._read.blocks:
            if isinstance(block, TableBlock):
                line = first + block.line
                cells = []
                for row in block.table.rows:
                    line += 1
                    if not isinstance(row, str):
                        cells += [RstText(cell, line - 1, shared, defined) for cell in row]
                        line += row[0].count("\n")
                self._add(_Cells(block, cells), [segment for cell in cells for segment in cell.segments])
                continue
            source, start, end = self._content(block)
            if has_words(source):
                where = f"line {first - 1 + bisect_right(starts, block.place(start))}"
                segment = Segment(source, where, heading=block.kind == "heading")
                self._add(_Text(segment, block, start, end), [segment])

    def _add(self, part: _Text | _Cells, segments: list[Segment]) -> None:
        self._parts.append((part, len(segments)))
        self.segments += segments

    def _content(self, block: Block) -> tuple[Content, int, int]:
        if block.kind == "plain":
            return (" ".join(block.text.split()),), 0, len(block.text)
        last = block.place(len(block.text) - 1) + 1
        shown = block.text[:-1] if self._text.startswith(":", last) else block.text  # a colon of "::"
        items = core_of(read_rst_inline(shown, self._shared), shown)
        return (content(items), items[0].start, items[-1].end) if items else ((), 0, 0)

    def rendered(self, results: Sequence[Result | None]) -> str:
        """The text with these translations."""
        changes, kept = list[Rewriting](), list[Segment]()
        for part, own in dealt(self._parts, results):
            if isinstance(part, _Text):
                if (new := changed(part.segment, own[0])) is not None:
                    changes.append(Rewriting([part.segment], self._ways(part, new)))
                continue
            left = iter(own)
            cells = [cell.rendered([next(left) for _ in cell.segments]) for cell in part.cells]
            kept += [segment for cell in part.cells for segment in cell.kept]
            if cells != [cell._text for cell in part.cells]:
                block = part.block
                made = (block.line_end + block.prefix).join(block.table.drawn(iter(cells)))
                segments = [segment for cell in part.cells for segment in cell.segments]
                changes.append(Rewriting(segments, iter([[Edit(block.start, block.end, made)]])))
        edits, left_out = accepted(self._text, lambda text: RstBlocks(text).structure, changes)
        self.kept = kept + left_out
        return apply(self._text, edits)

    def _ways(self, part: _Text, new: Content) -> Iterator[list[Edit]]:
        """The ways to write a segment. The lines of a title get as long as it is."""
        block, title = part.block, self._read.titles.get(part.block.places[0][1])
        if block.kind == "plain":
            yield [filed(block, Edit(0, part.end, " ".join(full_text(new).split())))]
            return
        for made in ways_to_write_rst(new, block, part.start, part.end, self._shared):
            edits = [filed(block, Edit(part.start, part.end, made))]
            if title is not None:
                whole = block.text[: part.start] + made + block.text[part.end :]
                for row in filter(None, (title.over, title.under)):
                    line = self._text[row.start : row.end].rstrip()
                    longer = line + line[0] * (columns(whole) + title.inset - len(line))
                    edits.append(Edit(row.start, row.start + len(line), longer))
                name = text_of(part.segment.source).replace("``", "")
                if target_name(name) in self._shared - self._defined:  # a reference by the old title
                    simple = _SIMPLE_NAME.fullmatch(name) is not None
                    target = f".. _{name}:" if simple else f".. _`{name}`:"
                    row = title.over or replace(title.under, start=block.place(0))
                    end = block.line_end or "\n"
                    edits.append(Edit(row.start, row.start, target + end + end))
            yield edits


class Rst(RstText):
    """A file of reStructuredText."""

    def __init__(self, decoded: Decoded) -> None:
        self._decoded = decoded
        names = [target_name(found[found.lastindex or 0]) for found in _REFERENCE.finditer(decoded.text)]
        defined = [target_name(found[1].strip("`")) for found in _DEFINED.finditer(decoded.text)]
        super().__init__(decoded.text, 1, frozenset(names), frozenset(defined))

    def render(self, results: list[Result | None]) -> bytes:
        return self._decoded.encode(self.rendered(results))


def parse(data: bytes, languages: Languages) -> Rst:
    """Read reStructuredText. Raises DataError if it is not UTF-8."""
    return Rst(decode_file(data))
