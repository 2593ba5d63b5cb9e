"""Text that is safe to show on a terminal and in XML."""

from __future__ import annotations

import unicodedata

# Marks that change the writing direction of the rest of the line, and characters that XML forbids.
_FORBIDDEN = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\ufffe", "\uffff"}


def clean(text: str) -> str:
    """Return `text` on one line; � replaces control characters and those that XML forbids."""
    spaced = text.translate({9: " ", 10: " ", 13: " "})
    return "".join(
        "�" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _FORBIDDEN else c for c in spaced
    )
