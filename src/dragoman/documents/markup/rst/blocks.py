"""The blocks of a reStructuredText file that hold text: paragraphs, titles, terms, arguments, tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.documents.markup.block import Block, block_of
from dragoman.documents.markup.lines import TextLine, lines
from dragoman.documents.markup.rst.tables import SIMPLE, RstTable, read_rst_table
from dragoman.text.width import columns

_DEEPEST = 40  # blocks inside each other; deeper ones stay
_BULLET = re.compile(r"[-+*•‣⁃](?:\s+|\Z)")
_NUMBER = re.compile(r"\(?(?:[0-9]+|[a-zA-Z]|[ivxlcdmIVXLCDM]+|#)[.)](?:\s+|\Z)")
_FIELD = re.compile(r":(?![: ])((?:\\.|[^:\\]|:(?!\s|`|\Z))+)(?<!\s):(?:\s+|\Z)")
_ARGUMENT = r"(?:[a-zA-Z][\w-]*|<[^<>]+>)"
_LONG = rf"-(?:-\w|\w(?=[\w-]))[\w-]*+(?:[ =]{_ARGUMENT})?"
_SWITCH = rf"(?:-[a-zA-Z0-9](?:(?: |(?=<)){_ARGUMENT})?(?![\w-])|{_LONG}|/[A-Z])"  # one way to read each
_OPTION = re.compile(rf"{_SWITCH}(?:, {_SWITCH})*(?:\s{{2,}}|\Z)")
_RULER = re.compile(r"([!-/:-@\[-`{-~])\1*")
_NOTE = re.compile(r"\.\. +(?:\[[^\]\s]+\]|\|[^|]+\| +replace::)(?: +|\Z)")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([\w:.+-]+) ?::(?: +|\Z)")
_TARGET = re.compile(r"\.\. _(?:`[^`]+`|(?:\\.|[^:\\`])+):")
_FROM = re.compile(r"(?:---?(?!-)|—) *(?=\S)")  # whom a quotation is from
_ENTRY = re.compile(r"(\S.*?) +<[^<>]+>")  # of a table of contents
# Directives by what is text: the content with the first line; the content and a title; the content alone.
_TEXT = frozenset(
    "note tip hint important warning caution attention danger error seealso todo epigraph highlights"
    " pull-quote".split()
)
_TITLED = frozenset(
    "admonition topic sidebar rubric centered table list-table csv-table dropdown card grid-item-card tab"
    " tab-item details collapse contents deprecated versionadded versionchanged versionremoved"
    " deprecated-removed".split()
)
_INSIDE = frozenset(
    "figure image container compound hlist tabs tab-set grid grid-item only meta glossary function class"
    " method classmethod staticmethod attribute property data exception decorator module currentmodule type"
    " macro struct member enum enumerator option envvar program describe object confval setting directive"
    " role rst cmdoption var".split()
)
_CODE = frozenset("code-block sourcecode code literalinclude toctree csv-table".split())  # with a caption
_READ_OPTIONS = frozenset(("alt", "caption", "description", "subtitle"))
_TYPE = re.compile(r":(?:(?:r|var|kw)?type\b|default:)")  # fields of code
_CARD = re.compile(r"\+{3,}|\^{3,}")  # where the foot or the head of a card ends


@dataclass(frozen=True)
class Title:
    """The lines above and below a title, and what stands before it."""

    over: TextLine | None
    under: TextLine
    inset: int


@dataclass(frozen=True)
class TableBlock:
    """A table and its lines, behind the marks of the blocks around it."""

    table: RstTable
    line: int
    start: int
    end: int
    prefix: str
    line_end: str


class RstBlocks:
    """The blocks of a file in order, and its structure: all but the text in them."""

    def __init__(self, text: str) -> None:
        self.blocks: list[Block | TableBlock] = []
        self.titles: dict[int, Title] = {}  # by the places of their text
        self.structure: list[tuple[str, ...]] = []
        self._text, self._rows = text, list(lines(text))
        self._begins, self._cols = list[int](), list[int]()  # of the content of each line; -1 if it has none
        for row in self._rows:
            line = text[row.start : row.end]
            space = len(line) - len(line.lstrip())
            self._begins.append(row.start + space)
            self._cols.append(len(line[:space].expandtabs()) if line.strip() else -1)
        self._in_glossary = False  # whose terms are names of targets
        self._fresh = True  # fields at the start describe the file
        self._body(0, len(self._rows), 0, 0)

    def _line(self, number: int) -> str:
        return self._text[self._begins[number] : self._rows[number].end].rstrip()

    def _until(self, number: int, end: int, col: int) -> int:
        """The next line that is not deeper than a column."""
        while number < end and (self._cols[number] < 0 or self._cols[number] > col):
            number += 1
        return number

    def _inner(self, start: int, end: int, default: int) -> int:
        return min((col for col in self._cols[start:end] if col >= 0), default=default)

    def _keep(self, start: int, end: int) -> None:
        self.structure.append(("kept", *(line for line in map(self._line, range(start, end)) if line)))

    def _body(self, number: int, end: int, col: int, depth: int) -> None:
        if depth > _DEEPEST:
            self._keep(number, end)
            return
        while number < end:
            if self._cols[number] < 0:
                number += 1
            elif self._cols[number] > col:
                after = self._until(number, end, col)
                self.structure.append(("quote", str(depth)))
                self._body(number, after, self._cols[number], depth + 1)
                number = after
            else:
                col = self._cols[number]
                number = self._one(number, end, col, depth)

    def _one(self, number: int, end: int, col: int, depth: int) -> int:
        """Read a block. Returns the line behind it."""
        line, following = self._line(number), self._line(number + 1) if number + 1 < end else ""
        if re.match(r"\.\.(?:\s|\Z)", line):
            after = self._until(number + 1, end, col)
            self._explicit(number, after, line, depth)
            return after
        numbered = not following or self._cols[number + 1] > col or _NUMBER.match(following)
        if (mark := _BULLET.match(line) or (_NUMBER.match(line) if numbered else None)) is not None:
            inner = col + len(mark.group().expandtabs())
            if mark.end() == len(line):
                inner = self._inner(number + 1, self._until(number + 1, end, col), inner)
            after = self._until(number + 1, end, inner - 1)
            self._item(number, after, mark.end(), inner, depth)
            return after
        if (mark := _FIELD.match(line) or _OPTION.match(line)) is not None:
            after = self._until(number + 1, end, col)
            about = self._fresh and mark.re is _FIELD and mark[1].lower() not in ("abstract", "dedication")
            if about or _TYPE.match(line):
                self._keep(number, after)
            else:
                self._item(number, after, mark.end(), self._inner(number + 1, after, col + 1), depth)
            return after
        return self._special(number, end, col, line) or self._paragraph(
            number, end, col, line, following, depth
        )

    def _special(self, number: int, end: int, col: int, line: str) -> int:
        """Read a table, lines of a poem, a doctest or a ruler; 0 if it is another block."""
        after = number + 1
        if line.startswith(("+-", "+=")) or SIMPLE.fullmatch(line):
            while after < end and (
                self._line(after).startswith(("+", "|"))
                if line[0] == "+"
                else not SIMPLE.fullmatch(self._line(after))
                or (after + 1 < end and self._cols[after + 1] >= 0)
            ):
                after += 1
            self._table(number, min(after + (line[0] == "="), end))
            return min(after + (line[0] == "="), end)
        if re.match(r"\|(?:\s|\Z)", line):
            while after < end and self._cols[after] > col:
                after += 1
            self.structure.append(("line",))
            self._begins[number] += len(line) - len(line[1:].lstrip())
            self._emit([*range(number, after)])
            return after
        if line.startswith(">>>") or (
            re.match(r"__(?:\s|\Z)", line) and (after := self._until(after, end, col))
        ):
            after = after if line[0] == "_" else number + self._filled(number, end)
            self._keep(number, after)
            return after
        if _RULER.fullmatch(line):
            if number + 2 < end and self._cols[after] >= 0 and self._line(number + 2) == line:
                self._title(after, number)
                return number + 3
            if _CARD.fullmatch(line) or (len(line) >= 4 and (after == end or self._cols[after] < 0)):
                self._keep(number, after)
                return after
        return 0

    def _filled(self, number: int, end: int) -> int:
        """How many lines follow that are not empty."""
        return next((place - number for place in range(number, end) if self._cols[place] < 0), end - number)

    def _paragraph(self, number: int, end: int, col: int, line: str, following: str, depth: int) -> int:
        after = number + 1
        ruler = after < end and self._cols[after] == col and _RULER.fullmatch(following)
        if ruler and (columns(line) <= len(following) or len(following) >= 4):
            self._title(number, None)
            return number + 2
        if after < end and self._cols[after] > col:  # a term with its definition
            after = self._until(after, end, col)
            self.structure.append(("term", line.partition(" : ")[2]))
            if not self._in_glossary:
                self._emit([number], line.partition(" : ")[0])
            self._body(number + 1, after, self._cols[number + 1], depth + 1)
            return after
        while after < end and self._cols[after] == col and not _CARD.fullmatch(self._line(after)):
            after += 1
        if self._in_glossary and after < end and self._cols[after] > col:  # terms of the same text
            self._keep(number, after)
            return after
        if (mark := _FROM.match(line)) is not None:
            self.structure.append((mark.group(),))
            self._begins[number] += mark.end()
        literal = self._line(after - 1).endswith("::")
        self._emit([*range(number, after)], cut=literal)
        if not literal:
            return after
        start = after
        while start < end and self._cols[start] < 0:
            start += 1
        after = self._until(start, end, col)
        if after == start and start < end and (mark := _RULER.match(self._line(start))) is not None:
            while after < end and self._line(after).startswith(mark[1]):
                after += 1
        self._keep(start, after)
        return after

    def _item(self, number: int, end: int, skip: int, inner: int, depth: int) -> None:
        """Read what stands behind a mark, and the deeper lines below it."""
        self.structure.append(("item", self._line(number)[:skip].rstrip()))
        self._begins[number] += skip
        self._cols[number] = inner if self._line(number) else -1
        self._body(number, end, inner, depth + 1)

    def _explicit(self, number: int, end: int, line: str, depth: int) -> None:
        inner = self._inner(number + 1, end, self._cols[number] + 3)
        if (mark := _NOTE.match(line)) is not None:
            self._item(number, end, mark.end(), inner, depth)
        elif (mark := _DIRECTIVE.match(line)) is not None:
            self._directive(number, end, mark, inner, depth)
        elif not _TARGET.fullmatch(line):  # targets of titles may be added
            self._keep(number, end)

    def _directive(self, number: int, end: int, mark: re.Match[str], inner: int, depth: int) -> None:
        name, skip = mark[1].rpartition(":")[2], mark.end()
        if name not in _TEXT | _TITLED | _INSIDE | _CODE:
            self._keep(number, end)
            return
        self._fresh = False
        self.structure.append(("directive", mark.group().strip()))
        after = number + 1
        while after < end and self._cols[after] >= 0 and not _FIELD.match(self._line(after)):
            after += 1
        if name in ("deprecated", "deprecated-removed") or name.startswith("version"):
            version = re.match(r"\S*\s*", self._line(number)[skip:])
            skip += version.end() if version is not None else 0
        head = self._line(number)[skip:]
        if name not in _TEXT | _TITLED:
            self._keep(number, after)
        elif head:
            self._begins[number] += skip
            self._cols[number] = inner
            if name in _TITLED:
                self._emit([*range(number, after)])
            else:
                after = after if after < end and self._cols[after] >= 0 else end  # before its options
                self._body(number, after, inner, depth + 1)
        elif name in _TEXT:
            after = number + 1
        elif after > number + 1:
            self._emit([*range(number + 1, after)])
        while after < end and self._cols[after] >= 0 and (option := _FIELD.match(self._line(after))):
            start, after = after, self._until(after + 1, end, self._cols[after])
            if option[1] in _READ_OPTIONS and option.end() < len(self._line(start)):
                self.structure.append(("option", option[1]))
                self._begins[start] += option.end()
                self._emit([*range(start, start + max(1, self._filled(start, after)))], kind="plain")
            else:
                self._keep(start, after)
        if name in _CODE and name != "toctree":
            self._keep(after, end)
            return
        if name == "toctree":
            for place in range(after, end):
                entry = _ENTRY.fullmatch(self._line(place)) if self._cols[place] >= 0 else None
                self.structure.append(("entry", self._line(place)[entry.end(1) if entry else 0 :]))
                if entry is not None:
                    self._emit([place], entry[1], "plain")
            return
        before, self._in_glossary = self._in_glossary, name == "glossary"
        self._body(after, end, inner, depth + 1)
        self._in_glossary = before

    def _title(self, number: int, over: int | None) -> None:
        under = self._rows[number + 1]
        self.structure.append(("title", self._line(number + 1)[0], "over" if over is not None else ""))
        inset = self._begins[number] - self._rows[number].start if over is not None else 0
        self.titles[self._begins[number]] = Title(None if over is None else self._rows[over], under, inset)
        self._emit([number], kind="heading")

    def _emit(
        self,
        numbers: Sequence[int],
        text: str | None = None,
        kind: Literal["paragraph", "heading", "plain"] = "paragraph",
        *,
        cut: bool = False,
    ) -> None:
        """Add a block of these lines, or of a text in the first; `cut` leaves out "::" at the end."""
        self.structure.append(("text", kind, "::" * cut))
        self._fresh = self._fresh and kind == "heading"
        parts = [text] if text is not None else [self._line(number) for number in numbers]
        if cut:  # "text::" shows a colon, "text ::" does not
            parts[-1] = parts[-1][:-1] if parts[-1][-3:-2].strip() else parts[-1][:-2].rstrip()
        parts = parts if parts[-1] else parts[:-1]
        if not parts:
            return
        shown = [
            (self._rows[one], self._begins[one], part) for one, part in zip(numbers, parts, strict=False)
        ]
        self.blocks.append(block_of(kind, self._text, shown))

    def _table(self, number: int, end: int) -> None:
        self._fresh = False
        inset = self._begins[number] - self._rows[number].start
        rows = [self._text[row.start : row.end][inset:].rstrip() for row in self._rows[number:end]]
        table = read_rst_table(rows)
        if table is None:
            self._keep(number, end)
            return
        shape = [one if isinstance(one, str) else str(len(one)) for one in table.rows]
        self.structure.append(("table", *shape))
        first, second = self._rows[number], self._rows[min(number + 1, end - 1)]
        prefix, line_end = self._text[second.start :][:inset], self._text[first.end : first.next]
        end_place = self._rows[end - 1].end
        self.blocks.append(TableBlock(table, number, self._begins[number], end_place, prefix, line_end))
