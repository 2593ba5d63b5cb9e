"""Lines of a text with their places, and text wrapped to a width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dragoman.text.width import columns

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_OPENING = frozenset("([{（「『【《〈［｛〔“‘")
_CLOSING = frozenset(")]}）」』】》〉］｝〕”’、。，．！？：；・…ー々!?.,:;")


@dataclass(frozen=True)
class TextLine:
    """text[start:end], without its line end text[end:next]."""

    start: int
    end: int
    next: int


def lines(text: str) -> Iterator[TextLine]:
    """Yield the lines of a text. They end in a line feed, a carriage return, or both."""
    for match in _LINE.finditer(text):
        if match.end() > match.start():
            yield TextLine(match.start(), match.end(1), match.end())


def solid(char: str) -> bool:
    """Whether a character is of a script without spaces, so that a line may end before and after it."""
    return unicodedata.east_asian_width(char) in "WF" and not "\uac00" <= char <= "\ud7a3"


def spaced(text: str) -> list[tuple[int, int]]:
    """The spans of a text between spaces."""
    return [word.span() for word in re.finditer(r"[^ \t\r\n]+", text)]


def breakable(text: str) -> list[tuple[int, int]]:
    """The spans of a text between which a line may end: words, and characters of scripts without spaces."""
    found: list[tuple[int, int]] = []
    for start, end in spaced(text):
        for place in range(start + 1, end):
            before, after = text[place - 1], text[place]
            if before in _OPENING or after in _CLOSING or not (solid(before) or solid(after)):
                continue
            found.append((start, place))
            start = place
        found.append((start, end))
    return found


def wrap(
    text: str,
    width: int,
    first: int = 0,
    glued: Callable[[str], bool] = lambda piece: False,
    split: Callable[[str], list[tuple[int, int]]] = breakable,
) -> list[tuple[int, int]]:
    """Return the spans of the lines of a text, at most `width` columns wide if its words permit.

    `first` columns of the first line are taken. No line begins with a piece that is `glued`.
    """
    rows: list[tuple[int, int]] = []
    used = first
    for start, end in split(text):
        size = columns(text[start:end])
        gap = start - rows[-1][1] if rows else 0
        if rows and (used + bool(gap) + size <= width or glued(text[start:end])):
            rows[-1] = (rows[-1][0], end)
            used += bool(gap) + size
        else:
            used = size if rows else first + size
            rows.append((start, end))
    return rows
