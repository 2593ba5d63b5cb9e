"""Blocks of text in a file, and changes of them that keep its structure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dragoman.documents.edits import Edit, apply
from dragoman.documents.markup.lines import TextLine
from dragoman.documents.segment import Segment
from dragoman.text.width import columns

Kind = Literal["paragraph", "heading", "title", "cell", "html", "plain"]
_MOST_CHECKS = 300  # of the structure; after them, the remaining translations are not taken


@dataclass(frozen=True)
class Block:
    """The inline content of a block, without the marks of containers.

    Its rows are separated by line feeds in `text`. Pairs in `places` say: text[a] is the character b of the
    file.
    """

    kind: Kind
    text: str
    places: list[tuple[int, int]]
    prefix: str = ""  # before the second row and all later ones
    line_end: str = "\n"
    width: int = 0  # columns from the first to the last one of its lines; 0 if it is one line

    def place(self, offset: int) -> int:
        """The place in the file of a character of the text."""
        own, file = self.places[bisect_right(self.places, (offset, 1 << 62)) - 1]
        return file + offset - own


def block_of(kind: Kind, text: str, parts: Sequence[tuple[TextLine, int, str]]) -> Block:
    """The block of some lines of a file, with the places and the texts of their content."""
    places, size = [], 0
    for _, begin, raw in parts:
        places.append((size, begin))
        size += len(raw) + 1
    whole, first = "\n".join(raw for _, _, raw in parts), parts[0][0]
    line_end = text[first.end : first.next]
    if len(parts) == 1:
        return Block(kind, whole, places, line_end=line_end)
    prefix = text[parts[1][0].start : parts[1][1]]
    width = max(columns(text[line.start : begin] + raw.rstrip()) for line, begin, raw in parts)
    return Block(kind, whole, places, prefix, line_end, width)


def filed(block: Block, edit: Edit) -> Edit:
    """An edit of the text of a block as one of the file, with the marks of containers before each line."""
    if block.kind == "cell":
        new = edit.new.replace("\n", " ").replace("|", "\\|")
    else:
        new = edit.new.replace("\n", block.line_end + block.prefix)
    return Edit(block.place(edit.start), block.place(edit.end - 1) + 1, new)


@dataclass
class Rewriting:
    """The ways to write changed segments, the best first, and the one that is tried."""

    segments: list[Segment]
    ways: Iterator[list[Edit]]
    edits: list[Edit] = field(default_factory=list)

    def advance(self) -> bool:
        """Try the next way, if there is one."""
        self.edits = next(self.ways, [])
        return bool(self.edits)


def accepted(
    text: str, structure: Callable[[str], object], changes: Sequence[Rewriting]
) -> tuple[list[Edit], list[Segment]]:
    """Return the edits after which a text has the same structure, and the segments that they do not write."""
    before, checks = structure(text), 0

    def fits(some: Sequence[Rewriting]) -> bool:
        nonlocal checks
        checks += 1
        edits = [edit for change in some for edit in change.edits]
        return checks <= _MOST_CHECKS and structure(apply(text, edits)) == before

    def fitting(some: Sequence[Rewriting], given: Sequence[Rewriting]) -> list[Rewriting]:
        """Those that fit, given others. Halves the list until each one fits."""
        if not some or fits([*given, *some]):
            return [*some]
        if len(some) > 1:
            half = len(some) // 2
            first = fitting(some[:half], given)
            return [*first, *fitting(some[half:], [*given, *first])]
        while some[0].advance():
            if fits([*given, *some]):
                return [*some]
        return []

    taken = fitting([change for change in changes if change.advance()], [])
    fit = {id(change) for change in taken}
    left = [one for change in changes if id(change) not in fit for one in change.segments]
    return [edit for change in taken for edit in change.edits], left
