"""Reserved pieces: tokens that stand for copied text, such as ⟦1⟧ for %s or {name}.

A vocabulary has them in order, for source and target alike. They are whole tokens anywhere in a text,
also inside a word, and spaces around them stay as they are. Their numbers mean nothing.
"""

from __future__ import annotations

import re

PIECE = re.compile(r"⟦[1-9][0-9]*⟧")


def piece(number: int) -> str:
    """Return the reserved piece with this number, from 1 on."""
    return f"⟦{number}⟧"


def pieces(count: int) -> list[str]:
    """Return the first `count` reserved pieces."""
    return [piece(number) for number in range(1, count + 1)]
