"""The HTML of a Markdown file as one HTML file, in which each other block is a letter.

So translate="no" holds for the Markdown in an element, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from dragoman.documents.edits import Decoded, Edit
from dragoman.documents.formats import Languages
from dragoman.documents.markup.block import Block
from dragoman.documents.markup.html.elements import BLOCK, VOID, extents
from dragoman.documents.markup.html.html import Html
from dragoman.documents.markup.html.tokens import HtmlToken, tokens
from dragoman.documents.markup.markdown.rules import EXPRESSION
from dragoman.documents.markup.spans import Span
from dragoman.documents.segment import Content, Result

_SPACE = re.compile(r"[\s\u0085\u2028\u2029]+", re.ASCII)  # an empty line would end a block
_CODE = re.compile(rf"(?<!\{{){EXPRESSION}[^<{{}}]*\}}?")


class HtmlBlocks:
    """The segments of blocks of HTML, and which other blocks are translated."""

    def __init__(self, blocks: Sequence[Block], languages: Languages, where: Callable[[int], str]) -> None:
        self._starts: list[int] = []
        size, parts, found = 0, list[str](), list[HtmlToken]()
        for block in blocks:
            self._starts.append(size)
            text = block.text if block.kind == "html" else "x"
            found += [_moved(part, size) for one in tokens(text, False) for part in _without_code(text, one)]
            size += len(text) + 1
            found.append(HtmlToken("other", size - 1, size))  # no text goes on in the next block
            parts.append(text)
        ends = extents(found, False)
        for place, end in ends.items():
            if end == len(found) and found[place].name not in VOID | BLOCK:  # it has no end
                found[place] = replace(found[place], kind="comment")
        self._html = Html(Decoded("\n".join([*parts, ""]), "utf-8", b""), languages, True, found=found)
        self.spans: list[list[Span]] = [[] for _ in blocks]  # of each block; a letter is one, too
        for place, span in enumerate(self._html.spans):
            number = self._number(span.start)
            line = where(blocks[number].place(span.start - self._starts[number]))
            self._html.spans[place] = replace(span, segment=replace(span.segment, where=line))
            self.spans[number].append(self._html.spans[place])

    def edits(self, new: Mapping[int, Content]) -> Iterator[tuple[int, list[Span], Edit]]:
        """The edits that write the contents of the spans with these ids, with their blocks.

        Their places are those in the text of the block. An edit may write several segments.
        """
        results = [
            Result(tuple(_SPACE.sub(" ", one) if isinstance(one, str) else one for one in new[id(span)]))
            if id(span) in new
            else None
            for span in self._html.spans
        ]
        for edit in self._html.edits(results):
            number = self._number(edit.start)
            start, end = edit.start - self._starts[number], edit.end - self._starts[number]
            written = [
                span
                for span in self.spans[number]
                if id(span) in new and edit.start <= span.start and span.end <= edit.end
            ]
            yield number, written, Edit(start, end, edit.new)

    def _number(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1


def _without_code(text: str, token: HtmlToken) -> Iterator[HtmlToken]:
    """A token, or the parts of a text around expressions of JSX, which may end behind elements."""
    place = token.start
    for code in _CODE.finditer(text, place, token.end if token.kind == "text" else place):
        if code.start() > place:
            yield replace(token, start=place, end=code.start())
        place = code.end()
        yield HtmlToken("opaque", code.start(), place)
    if place < token.end:
        yield replace(token, start=place)


def _moved(token: HtmlToken, by: int) -> HtmlToken:
    values = [replace(one, start=one.start + by, end=one.end + by) for one in token.attributes]
    return replace(token, start=token.start + by, end=token.end + by, attributes=values)
