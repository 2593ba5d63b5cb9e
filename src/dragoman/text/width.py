"""How wide a text is where every character has one column or two, as on a terminal."""

from __future__ import annotations

import unicodedata


def columns(text: str) -> int:
    """The width of a text: 2 for a wide character, 0 for one that combines or is not shown, 1 for others."""
    if text.isascii() or (max(text) < "\u0300" and "\u00ad" not in text):
        return len(text)
    shown = (c for c in text if not unicodedata.combining(c) and unicodedata.category(c) != "Cf")
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)
