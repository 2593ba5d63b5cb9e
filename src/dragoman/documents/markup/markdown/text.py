"""Write text as Markdown: escaped where it would be markup, and wrapped as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeGuard

from dragoman.documents.markup.block import Block
from dragoman.documents.markup.inline import Item, content, essence, hugged
from dragoman.documents.markup.lines import spaced, wrap
from dragoman.documents.markup.markdown.inline import alt_text, read_inline
from dragoman.documents.segment import Code, Content
from dragoman.text.width import columns

_PLAIN, _ESCAPED, _WHOLLY_ESCAPED = range(3)  # how much is escaped: certain markup, all but URLs, all
_SURE = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\Z)|`|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_MAYBE = re.compile(r"[\\`*\[\]<$~{]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w)|!(?=\[|\Z)")
_URL = re.compile(r"((?:https?|ftp)://[^\s<>\"'`]+|www\.[^\s<>\"'`]+)")
# Beginnings of a line that make it a block.
_LINE_START = re.compile(
    r"(#{1,6}(?=\s|\Z)|>|[-+*](?=\s|\Z)|[-=_*:|][-=_*:|\s]*\Z|```|~~~|:::|!!!|\?\?\?|===)"
    r"|(\d{1,9})([.)])(?=\s|\Z)"
)
_GLUED = re.compile(r"[-+*=#>|:~`<!?\x02]|\d{1,9}[.)]\Z|\$\$")
_GLUED_CODES = ("<", "{", "```", "~", "!", "$$", "[^", "[[")
_HEADING_END = re.compile(r"(?<!\S)#+\Z")
_TAGS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
_MARK = re.compile(r"[\x00\x02]\x01*")
_SPACES, _ASCII = re.compile(r"[\s\x00-\x02]+"), re.compile(r"[\x00-\x7f]+")


def ways_to_write(
    new: Content, block: Block, start: int, end: int, references: dict[str, Any]
) -> Iterator[str]:
    """Yield ways to write a content at block.text[start:end], the plainest first.

    Each is read back as the content it is made of.
    """
    new = hugged(new, _TAGS.keys(), _TAGS.keys())
    text = block.text
    items = read_inline(text, references)
    before = content([item for item in items if item.end <= start])
    after = content([item for item in items if item.start >= end])
    # Emphasis as it is; with stars, which may stand inside words; as HTML, which may stand anywhere.
    starred = _remarked(new, lambda one: one.text.replace("_", "*"))
    tagged = _remarked(new, lambda one: f"<{'/' * (one.kind == 'close')}{_TAGS[one.text]}>")
    for parts in dict.fromkeys((new, starred, tagged)):
        expected = essence((*before, *parts, *after))
        for level in (_PLAIN, _ESCAPED, _WHOLLY_ESCAPED):
            marked, codes = _marked(parts, block, start, end, level)
            for width in dict.fromkeys((block.width, 0)):
                made = _laid_out(marked, codes, block, start, width)
                whole = text[:start] + made + text[end:]
                if essence(content(read_inline(whole, references))) == expected:
                    yield made


def written_alt(new: Content, references: dict[str, Any]) -> Iterator[str]:
    """Yield ways to write the alternative text of an image."""
    for level in (_PLAIN, _ESCAPED, _WHOLLY_ESCAPED):
        parts = (_escaped(one, level) if isinstance(one, str) else one.text for one in new)
        made = " ".join("".join(parts).split())
        image = f"![{made}](x)"
        alt = alt_text(image, Item(0, len(image), image), references)
        if alt is not None and alt[1] == 2 + len(made) and essence(alt[2]) == essence(new):
            yield made


def _remarked(parts: Content, text: Callable[[Code], str]) -> Content:
    def is_mark(one: str | Code) -> TypeGuard[Code]:
        return isinstance(one, Code) and one.kind in ("open", "close") and one.text in _TAGS

    return tuple(replace(one, text=text(one)) if is_mark(one) else one for one in parts)


def _marked(parts: Content, block: Block, start: int, end: int, level: int) -> tuple[list[str], list[str]]:
    """The rows between hard breaks with marks for their codes, each as wide as its code, and the codes."""
    rows, codes = [""], list[str]()
    edge = None if level == _WHOLLY_ESCAPED else " "  # emphasis cannot begin with any space
    for one in parts:
        if isinstance(one, str):
            # One space for several; spaces that do not break, and ideographic ones, stay.
            plain = _SPACES.sub(lambda found: _ASCII.sub("", found[0]) or " ", one)
            text = _escaped(plain, level)
            rows[-1] += text if rows[-1] else _begun(text.lstrip(edge), block, start if len(rows) == 1 else 0)
            continue
        codes.append(one.text)
        if one.breaks and "\n" in one.text:
            rows.append("")
        else:
            first = "\x02" if one.text.startswith(_GLUED_CODES) else "\x00"
            rows[-1] += first + "\x01" * (columns(one.text) - 1)
    rows[-1] = rows[-1].rstrip(edge)
    if block.kind == "heading" and end == len(block.text):
        rows[-1] = _HEADING_END.sub(r"\\\g<0>", rows[-1])
    return rows, codes


def _escaped(text: str, level: int) -> str:
    if level == _PLAIN:
        return _SURE.sub(r"\\\g<0>", text)
    if level == _WHOLLY_ESCAPED:
        return _MAYBE.sub(r"\\\g<0>", text).replace("|", "&#124;")
    parts = _URL.split(text)
    parts[::2] = [_MAYBE.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def _begun(text: str, block: Block, start: int) -> str:
    """A text that stands at a place of a block, escaped if it would begin another block there."""
    begins = block.kind in ("paragraph", "title") and block.text[max(start - 1, 0) : start] in ("", "\n")
    if not begins or (found := _LINE_START.match(text)) is None:
        return text
    return rf"{found[2] or ''}\{found[1] or found[3]}{text[found.end() :]}"


def _laid_out(rows: list[str], codes: list[str], block: Block, start: int, width: int) -> str:
    """The rows with their codes in place of the marks, wrapped to a width unless it is 0."""
    left = iter(codes)
    head = columns(block.prefix.expandtabs())
    found = ""
    for number, row in enumerate(rows):
        if number:
            found += next(left)
        if width:
            before = block.text[:start].rpartition("\n")[2] if not number else ""
            spans = wrap(row, width - head, columns(before), lambda piece: bool(_GLUED.match(piece)), spaced)
            row = "\n".join(row[start:end] for start, end in spans)
        found += _MARK.sub(lambda _: next(left), row)
    return found
