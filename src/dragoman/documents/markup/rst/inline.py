"""Inline markup of reStructuredText as items, and text written as inline markup.

Markup does not nest. It begins behind space or opening punctuation, and ends before space or closing
punctuation; a backslash with a space stands for these.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from dragoman.documents.markup.block import Block
from dragoman.documents.markup.inline import Item, content, essence, hugged, paired
from dragoman.documents.markup.lines import spaced, wrap
from dragoman.documents.segment import Code, Content, merged
from dragoman.text.width import columns

NAME = r"[^\W_]++(?:[-._+:][^\W_]++){0,20}+"
_ENDS = {"**": r"\*\*", "*": r"\*", "``": "``", "_`": "`", "|": r"\|(?:__?)?", "`": rf"`(?:__?|:{NAME}:)?"}
_TEXT_ROLES = frozenset("emphasis strong dfn title title-reference sub sup subscript superscript".split())
_LINK_ROLES = re.compile(r"(?:std:)?(?:ref|doc|term|any|numref|download|pep|rfc)")
_TARGET = re.compile(r"(?P<text>[^<]*[^<\s\\])\s*<[^<>]+>")
_ESCAPE = re.compile(r"\\(?:\s|(.)|\Z)", re.DOTALL)
_SPACES = re.compile(r"(?:\\\s|[ \t\n])+|(?:\\\S|[^ \t\n\\]|\\\Z)+")
_QUOTES = dict(zip("\"'([{<‘“«‹", "\"')]}>’”»›", strict=True))
# Beginnings of a block that are not text.
_STARTS = re.compile(
    r"[-+*•‣⁃](?=\s|\Z)|\(?(?:[0-9]+|[a-zA-Z]|[ivxlcdmIVXLCDM]+|#)[.)](?=\s|\Z)|:(?![: ])[^:\n]*:(?=\s|\Z)"
    r"|--?\w|/\w|\.\.(?=\s|\Z)|__(?=\s|\Z)|>>>(?=\s|\Z)|\|(?=\s|\Z)|\+[-=]|([!-/:-@\[-`{-~])\1*(?=\s*\Z)"
    r"|={2,}(?=\s)|--\s?|—|::\Z"
)
_PLAIN, _ESCAPED, _WHOLLY_ESCAPED = range(3)  # how much is escaped: what must be, likely markup, all
_ESCAPES = (
    re.compile(r"\\"),
    re.compile(r"[\\*`|]|(?<=\w)_(?!\w)|_(?=`)|(?<=\])_|:(?=:|\Z|\s)"),
    re.compile(r"[\\*`|_:\[\]<>]"),
)
_NO_TEXT = re.compile(r"\s*<(.+)>`(_?_?)", re.DOTALL)
_MARK = re.compile(r"[\x00\x02]\x01*")


@cache
def _around() -> tuple[str, str]:
    """Classes of the characters before and behind markup, as docutils has them."""
    found: dict[str, str] = {}
    for char in map(chr, range(0xA1, 0x10000)):
        kind = unicodedata.category(char)
        found[kind] = found.get(kind, "") + char if kind[0] == "P" else ""
    both = "".join(found.get(kind, "") for kind in ("Pd", "Po", "Pi", "Pf"))
    before, behind = both + found.get("Ps", ""), both + found.get("Pe", "")
    return rf"\s'\"(<\[{{/:\-{re.escape(before)}", rf"\s'\")>\]}}/:\-\\.,;!?{re.escape(behind)}"


@cache
def _forms() -> tuple[re.Pattern[str], dict[str, re.Pattern[str]]]:
    before, behind = _around()
    start = re.compile(
        rf"\\.|(?<![^{before}])(?:(?P<role>:{NAME}:)?(?P<mark>\*\*|``|_`|(?P<one>[*|`])(?!(?P=one)))(?=\S)"
        rf"|(?P<note>\[(?:\d+|\#(?:{NAME})?|\*|{NAME})\]_)(?![^{behind}])"
        rf"|(?P<name>{NAME}__?)(?![^{behind}]))",
        re.DOTALL,
    )
    ends = {mark: re.compile(rf"(?<![\s\\])(?P<end>{end})(?![^{behind}])") for mark, end in _ENDS.items()}
    ends["``"] = re.compile(rf"(?<!\s)(?P<end>``)(?![^{behind}])")
    return start, ends


def read_rst_inline(text: str, shared: frozenset[str] = frozenset()) -> list[Item]:
    """The items of a text. References with names that are `shared` are codes as a whole."""
    start, ends = _forms()
    found: list[Item] = []
    place = done = 0
    missing = set[str]()
    while (match := start.search(text, place)) is not None:
        place = match.end()
        mark = match["mark"]
        quote = _QUOTES.get(text[max(match.start() - 1, 0)], "\0")
        if match.group()[0] == "\\" or (mark and text.startswith(quote, place)):
            continue
        seen = match["note"] is None or match["note"][1].isalpha()  # not a footnote
        code = Code(match.group(), "placeholder" if seen else "empty")
        items = [Item(match.start(), place, code, visible=True)]
        if mark is not None:
            end = None if mark in missing else ends[mark].search(text, place + 1)
            if end is None:  # docutils warns
                missing.add(mark)
            else:
                place = end.end()
                items = [*_marked(text, match, end, shared)]
        found += [*_literal(text, done, match.start()), *items]
        done = place
    return paired([*found, *_literal(text, done, len(text))])


def _marked(text: str, start: re.Match[str], end: re.Match[str], shared: frozenset[str]) -> Iterator[Item]:
    """The items of a piece of markup: its text between two codes, or one code."""
    first, last, until = start.end(), end.start(), end.end()
    mark, role, close = start["mark"], (start["role"] or "").strip(":"), end["end"]
    target = _TARGET.fullmatch(text, first, last)
    kept = mark not in ("*", "**", "`")
    tail = ""  # instead of what closes the markup
    if mark == "`" and role:
        kept = close != "`" or not (role in _TEXT_ROLES or (target and _LINK_ROLES.fullmatch(role)))
    elif mark == "`":
        name = " ".join(text[first:last].split())
        kept = close not in ("`_", "`__") or (
            close == "`_" and target_name(target["text"] if target else "") in shared
        )
        if close == "`_" and not target and not kept:  # the name of a target, which stays
            kept, tail = "\\" in name, f" <{name}_>`__"
        kept = kept or (name.startswith("<") and name.endswith(">"))  # it shows its target
    if kept:
        yield Item(start.start(), until, Code(text[start.start() : until], "placeholder"))
        return
    if target and mark == "`" and role not in _TEXT_ROLES:
        last = target.end("text")
    yield Item(start.start(), first, Code(text[start.start() : first], "open"), mark)
    yield from _literal(text, first, last)
    yield Item(last, until, Code(tail or text[last:until], "close"), mark)


def _literal(text: str, start: int, end: int) -> Iterator[Item]:
    for match in _SPACES.finditer(text, start, end):
        if shown := unescaped(match.group()):
            yield Item(match.start(), match.end(), shown)


def unescaped(text: str) -> str:
    """A text without backslashes. Before space they stand for nothing."""
    return _ESCAPE.sub(lambda found: found[1] or "", text)


def target_name(text: str) -> str:
    """The name of a target, by which references find it."""
    return " ".join(unescaped(text).lower().split())


def ways_to_write_rst(
    new: Content, block: Block, start: int, end: int, shared: frozenset[str]
) -> Iterator[str]:
    """Yield ways to write a content as block.text[start:end], the plainest first. Each is read back."""
    text = block.text
    items = read_rst_inline(text, shared)
    before = content([item for item in items if item.end <= start])
    cut = [item if item.start >= end else Item(end, item.end, text[end : item.end]) for item in items]
    after = content([item for item in cut if item.end > end])
    ways = (new, (*_unnested(hugged(new, None, ("*", "**"))),))
    for parts in dict.fromkeys(merged(_textless(hugged(way, None, ("*", "**")))) for way in ways):
        expected = essence((*before, *parts, *after))
        for level in (_PLAIN, _ESCAPED, _WHOLLY_ESCAPED):
            for width in dict.fromkeys((block.width, 0)):
                made = _laid_out(parts, block, start, end, level, width)
                if essence(content(read_rst_inline(text[:start] + made + text[end:], shared))) == expected:
                    yield made


def _unnested(parts: Content) -> Iterator[str | Code]:
    """Pairs with other codes inside end before these, or begin behind them."""
    opened: Code | None = None
    waiting = False  # no text of the pair yet
    closed = set[int]()
    closes = {one.pair: one for one in parts if isinstance(one, Code) and one.kind == "close"}
    for one in parts:
        if isinstance(one, str):
            if waiting and opened is not None and one.strip():
                yield opened
                waiting = False
            yield one
        elif one.kind == "open" and opened is None:
            opened, waiting = one, True
        elif one.kind == "close" and opened is not None and one.pair == opened.pair:
            if one.pair not in closed:
                yield from (opened, one) if waiting else (one,)
            opened = None
        elif opened is not None and not waiting and opened.pair in closes.keys() - closed:
            close = closes[opened.pair]
            closed.add(opened.pair)
            yield from (close, one)
        else:
            yield one


def _textless(parts: Content) -> Iterator[str | Code]:
    """Links around nothing as links without a text, which show the name or the address of their target."""
    after = iter([*parts[1:], ""])
    skip = False
    for one in parts:
        close = next(after)
        target = _NO_TEXT.fullmatch(close.text) if isinstance(close, Code) and close.kind == "close" else None
        if isinstance(one, Code) and one.kind == "open" and one.text != "*" and target is not None:
            shown = target[1] if len(one.text) > 1 else f"<{target[1]}>"
            yield Code(f"{one.text}{shown}`{target[2]}", "placeholder")
            skip = True
        elif not skip:
            yield one
        else:
            skip = False


def _laid_out(parts: Content, block: Block, start: int, end: int, level: int, width: int) -> str:
    """The parts on lines of a width, or on one line if it is 0."""
    before, behind = _around()
    row, codes = "", list[str]()
    for number, one in enumerate(parts):
        if isinstance(one, str):
            plain = re.sub(r"[ \t\r\n\f\v\x00-\x02\x85\u2028\u2029]+", " ", one)
            piece = _ESCAPES[level].sub(r"\\\g<0>", plain)
            if not row and (start == 0 or block.text[start - 1] == "\n"):
                piece = piece.lstrip()
                piece = "\\" * bool(_STARTS.match(piece)) + piece
            last = parts[number - 1] if number else ""
            closes = isinstance(last, Code) and last.kind != "open"
            row += "\\ " * bool(closes and re.match(rf"[^{behind}]", piece)) + piece
            continue
        if one.kind != "close" and re.match(rf"[^{before}]", row[-1:] or block.text[:start][-1:]):
            row += "\\ "
        codes.append(one.text)
        row += "\x00" + "\x01" * (columns(one.text) - 1)
    if row.endswith(("\x00", "\x01")) and re.match(rf"[^{behind}]", block.text[end : end + 1]):
        row += "\\ "
    if width:
        taken = columns(block.text[:start].rpartition("\n")[2])
        spans = wrap(row, width - columns(block.prefix.expandtabs()), taken, split=spaced)
        row = "\n".join(row[slice(*span)] for span in spans)
    left = iter(codes)
    return _MARK.sub(lambda _: next(left), row.strip(" "))
