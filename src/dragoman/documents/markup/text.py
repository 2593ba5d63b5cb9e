"""Plain text by paragraphs.

A paragraph is a run of lines up to an empty one. A line that begins with a bullet, a number or an indent
begins a segment of its own. Hard-wrapped lines are one segment, and are wrapped again when they change. Short
lines that begin with capitals or digits stay lines, as in a list or a poem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from dragoman.documents.edits import Edit, PartsDocument, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.inline import has_words
from dragoman.documents.markup.lines import TextLine, lines, solid, wrap
from dragoman.documents.segment import Code, Content, Result, Segment, changed, merged
from dragoman.text.width import columns

_HEAD = re.compile(
    r"(?P<indent>[ \t\u3000]*)(?P<quote>(?:>[ \t]*)*)"
    r"(?P<bullet>(?:[-*+•‣◦▪·–—]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-z])[.)]|\d{1,3}(?:\.\d{1,3})+)[ \t]+)?"
)
_BULLET = re.compile(r"[-*+•‣◦▪·–—]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-z])[.)]|\d{1,3}(?:\.\d{1,3})+|>.*")
_SENTENCE_END = re.compile(r"[.!?:…。！？؟۔।][\"'”’»)\]」』]*$")
_NARROW, _NEARLY_FULL = 32, 0.7  # columns of wrapped text, and the share that a line fills
_SPACE = re.compile(r"[ \t\r\n]+")  # a no-break space stays
_BROKEN = re.compile(  # a word that groff or a soft hyphen divides
    r"(?<=[^\W\d_])[\u2010\xad]\n(?=[a-z\xdf-\u024f\u03ac-\u03ce\u0430-\u045f])(?!(?:and|or|und|oder|et|ou|e|y|o|en|och|og)\b)"
)
_GAP = re.compile(r"( *\t[ \t]*| {3,})")
_WIDEST = 120  # in columns; a longer line is an unwrapped paragraph


@dataclass(frozen=True)
class _Row:
    """A line without its margins: text[start:end]. The rest of the line before it is its head."""

    line: TextLine
    start: int
    end: int
    indent: int  # columns before the bullet or the text
    quote: str
    bullet: bool
    number: int  # of the line, from 1


@dataclass(frozen=True)
class _Paragraph:
    """The rows of a segment."""

    rows: list[_Row]
    segments: list[Segment]

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        if (new := changed(self.segments[0], results[0])) is not None:
            yield Edit(self.rows[0].start, self.rows[-1].end, _wrapped(text, self.rows, new))


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a text. Raises DataError if it is not UTF-8 and has no byte order mark of another encoding."""
    decoded = decode_file(data)
    text = decoded.text
    paragraphs = (
        _Paragraph(rows, [Segment(_content(text, rows), f"line {rows[0].number}")])
        for block in _blocks(text)
        for rows in _split(text, block)
        if has_words((_joined(text, rows),))
    )
    return PartsDocument(decoded, paragraphs)


def _blocks(text: str) -> Iterator[list[_Row]]:
    """Yield the runs of lines with words or numbers. Empty lines and rulers such as "-----" lie between."""
    block: list[_Row] = []
    for number, line in enumerate(lines(text), 1):
        row = _row(text[line.start : line.end], line, number)
        if any(map(str.isalnum, text[row.start : row.end])):
            block.append(row)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _row(raw: str, line: TextLine, number: int) -> _Row:
    head = cast("re.Match[str]", _HEAD.match(raw))  # all its parts may be empty
    start = line.start + len(raw) - len(raw[head.end() :].lstrip())
    end = max(start, line.start + len(raw.rstrip()))
    indent = columns(head["indent"].expandtabs())
    return _Row(line, start, end, indent, "".join(head["quote"].split()), bool(head["bullet"]), number)


def _split(text: str, block: list[_Row]) -> Iterator[list[_Row]]:
    """Yield the paragraphs of a run of lines."""
    # A line of one word, such as an address, is as long as the word is.
    wrapped = [row for row in block if " " in text[row.start : row.end]] or block
    widest = max(columns(text[row.line.start : row.end]) for row in wrapped)
    rows = block[:1]
    for row in block[1:]:
        if _goes_on(text, rows, row, widest):
            rows.append(row)
        else:
            yield rows
            rows = [row]
    yield rows


def _goes_on(text: str, rows: list[_Row], row: _Row, widest: int) -> bool:
    """Whether a line continues the paragraph of the rows before it."""
    last = rows[-1]
    if row.bullet or row.quote != last.quote or widest > _WIDEST:
        return False
    word = text[row.start : row.end].split()[0]
    full = columns(text[last.line.start : last.end]) + 1 + columns(word) > widest
    if row.indent:
        # Below the first line, as far as the text behind its bullet.
        behind = columns(text[last.line.start : last.start].expandtabs()) if last.bullet else None
        hangs = row.indent == (last.indent if len(rows) > 1 else behind)
        return hangs or (row.indent == last.indent and full and not rows[0].bullet)
    if not full and _SENTENCE_END.search(text[last.start : last.end]):
        return False
    # A list or a poem has lines that begin with capitals, and are short or of many lengths.
    begins = word[0].isupper() or (word[0].isdigit() and not solid(text[last.end - 1]))
    return not begins or (
        widest >= _NARROW and (full or columns(text[last.line.start : last.end]) >= _NEARLY_FULL * widest)
    )


def _joined(text: str, rows: list[_Row]) -> str:
    """The text of a paragraph on one line."""
    found, *others = _BROKEN.sub("", "\n".join(text[row.start : row.end] for row in rows)).split("\n")
    for part in others:
        found += part if _seamless(found, part) else " " + part
    return found


def _content(text: str, rows: list[_Row]) -> Content:
    """The text of a paragraph. In a line of its own a tab or several spaces are codes that end a sentence."""
    joined = _joined(text, rows)
    if len(rows) > 1:
        return (joined,)
    return merged(
        Code(part, "empty", shown=" ", breaks=True) if number % 2 else part
        for number, part in enumerate(_GAP.split(joined))
    )


def _seamless(before: str, after: str) -> bool:
    """Whether nothing stands between two lines: behind a hyphen, or in a script without spaces."""
    if before[-1] in "-\u2010" and before[-2:-1].isalpha():  # "Vor‐ und Nachteile" keeps its space
        return after[0].isalpha() if before[-1] == "-" else after[0].isupper()
    return solid(before[-1]) and solid(after[0])


def _wrapped(text: str, rows: list[_Row], new: Content) -> str:
    """The new text of a paragraph: wrapped to the old width, or one line if it was one."""
    parts = [one.text if isinstance(one, Code) else _SPACE.sub(" ", one) for one in new]
    first, *others = rows
    if not others:
        return "".join(parts).strip(" ")
    plain = _SPACE.sub(" ", "".join(parts)).strip(" ")
    width = max(columns(text[row.line.start : row.end].expandtabs()) for row in rows)
    head = text[others[0].line.start : others[0].start]
    taken = columns(text[first.line.start : first.start].expandtabs())
    indent = columns(head.expandtabs())
    new_rows = wrap(plain, width - indent, taken - indent, lambda piece: bool(_BULLET.fullmatch(piece)))
    return (text[first.line.end : first.line.next] + head).join(plain[start:end] for start, end in new_rows)
