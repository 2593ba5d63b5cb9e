"""The inline content of a Markdown file: text and place of each paragraph, heading and cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman.documents.markup.block import Block, Kind, block_of
from dragoman.documents.markup.html.tokens import tokens as html_tokens
from dragoman.documents.markup.lines import TextLine, lines
from dragoman.documents.markup.markdown.front import front_matter
from dragoman.documents.markup.markdown.rules import ALERT, parser

if TYPE_CHECKING:
    from markdown_it.token import Token

# In a line of a paragraph: the definition of a term, also as other readers define it.
_TERM = re.compile(r":[ \t]+|\[\^[^\[\]\s]+\]:[ \t]*")
_CELL = re.compile(r"((?:\\\||[^|])*+)(?:\||\Z)")
_REFERENCE = re.compile(r"\[(?!\^)[^\[\]]+\]:[ \t]*\S+(?:[ \t]+[\"'(].*)?")


@dataclass(frozen=True)
class Parsed:
    """A Markdown file: its blocks, its link references, and its structure."""

    blocks: list[Block]
    references: dict[str, Any]
    structure: list[tuple[str, ...]]  # see `read_blocks`
    front: int  # the size of its front matter


def read_blocks(text: str) -> Parsed:
    """Read a file. The structure is the types and levels of all blocks, and the text of those that stay."""
    rows = list(lines(text))
    plain = "\n".join(text[row.start : row.end] for row in rows)
    front, size = front_matter(plain), len(plain)
    plain = "\n" * front.count("\n") + plain[len(front) :]  # so that the numbers of lines stay
    env: dict[str, Any] = {}
    tokens = parser().parse(plain, env)
    reader = _Reader(text, plain, rows)
    references = env.get("references", {})
    structure: list[tuple[str, ...]] = [
        (one.type, one.tag, str(one.level), _outline(one.type, one.content)) for one in tokens
    ]
    structure.append(tuple(sorted(references)))
    blocks = [block for block in reader.blocks(tokens) if block.text]
    ends = len(text) if len(front) == size else rows[front.count("\n")].start
    return Parsed(blocks, references, structure, ends if front else 0)


def _outline(kind: str, content: str) -> str:
    """The part of a block that stays: of HTML, the tags."""
    if kind != "html_block":
        return "" if kind == "inline" else content
    found = html_tokens(content, False)
    return " ".join(one.kind + one.name for one in found if one.kind not in ("text", "comment"))


class _Reader:
    """Finds the inline content of tokens in the text of a file."""

    def __init__(self, text: str, plain: str, rows: Sequence[TextLine]) -> None:
        self._text = text
        self._rows = rows
        self._starts = [0, *(match.end() for match in re.finditer("\n", plain))]  # of lines in `plain`

    def blocks(self, tokens: Sequence[Token]) -> Iterator[Block]:
        column = 0
        for place, token in enumerate(tokens):
            if token.type == "tr_open":
                column = 0
            if token.map is not None and "title" in token.meta:
                start, end = (self._in_file(at, token.map[0]) for at in token.meta["title"])
                yield Block("heading", self._text[start:end], [(0, start)])
            if token.type not in ("inline", "html_block") or token.map is None:
                continue
            parent = tokens[place - 1]
            first = token.map[0]
            begins = [self._in_file(start, line) for line, start in enumerate(token.meta["starts"], first)]
            if token.type == "html_block":
                rows = enumerate(begins, first)
                part = [(self._rows[n], begin, self._text[begin : self._rows[n].end]) for n, begin in rows]
                yield block_of("html", self._text, part)
            elif parent.type in ("th_open", "td_open"):
                yield self._cell(begins[0], self._rows[first].end, column)
                column += 1
            elif parent.type == "heading_open" and parent.markup.startswith("#"):
                place = self._text.find(token.content, begins[0] + len(parent.markup), self._rows[first].end)
                if place >= 0:
                    yield Block("heading", token.content, [(0, place)])
            else:
                kind: Kind = "title" if parent.type == "heading_open" else "paragraph"  # one of two lines
                yield from self._paragraphs(kind, first, begins, token.content)

    def _in_file(self, place: int, line: int) -> int:
        """The place in the file of a place in a line of `plain`."""
        return self._rows[line].start + place - self._starts[line]

    def _paragraphs(self, kind: Kind, first: int, begins: list[int], expected: str) -> Iterator[Block]:
        """The rows of a paragraph. A definition behind a term is one of its own."""
        ends = [self._rows[first + number].end for number in range(len(begins))]
        ends[-1] = begins[-1] + len(self._text[begins[-1] : ends[-1]].rstrip())
        found = [(begin, self._text[begin:end]) for begin, end in zip(begins, ends, strict=True)]
        if "".join(expected.split()) != "".join("".join(raw for _, raw in found).split()):
            return  # such as a NUL, which a reader shows as another character
        parts: list[list[tuple[TextLine, int, str]]] = [[]]
        for line, (begin, raw) in enumerate(found, first):
            term = _TERM.match(raw) if line > first else None
            if line > first and _REFERENCE.fullmatch(raw.rstrip()):
                parts.append([])
                continue
            if term is not None or (line == first + 1 and ALERT.match(found[0][1])):
                parts.append([])
            if term is not None:
                begin, raw = begin + term.end(), raw[term.end() :]
            parts[-1].append((self._rows[line], begin, raw))
        for part in filter(None, parts):
            yield block_of(kind, self._text, part)

    def _cell(self, start: int, end: int, column: int) -> Block:
        """The text of a cell. A bar in it has a backslash in the file, which does not belong to the text."""
        raw = self._text[start:end].rstrip()
        first = len(raw) - len(raw.lstrip().removeprefix("|"))
        spans = [found.span(1) for found in _CELL.finditer(raw, first)]
        begin, until = spans[column] if column < len(spans) else (len(raw), len(raw))
        cell = raw[begin:until].strip()
        begin = start + raw.index(cell, begin)
        bars = [found.start() for found in re.finditer(r"\\\|", cell)]
        places = [(0, begin), *((bar - number, begin + bar + 1) for number, bar in enumerate(bars))]
        return Block("cell", cell.replace("\\|", "|"), places)
