"""Text that may be shown anywhere."""

from __future__ import annotations

import unicodedata

# Marks that turn the direction of the text after them, on the rest of the line too; and what XML forbids.
_FORBIDDEN = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\ufffe", "\uffff"}


def clean(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey or XML forbids."""
    spaced = text.translate({9: " ", 10: " ", 13: " "})
    return "".join(
        "�" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _FORBIDDEN else c for c in spaced
    )
