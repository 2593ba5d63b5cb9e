"""How wide a text is where every character has one column or two, as on a terminal."""

from __future__ import annotations

import unicodedata


def columns(text: str) -> int:
    """The width of a text: 2 for a wide character, 0 for one that combines or is not shown, 1 for others."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
