"""Scripts that put no spaces between words."""

from __future__ import annotations

import re
from functools import cache

# For a character class: Chinese, Japanese, and the scripts of Thailand, Laos, Burma and Cambodia.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
UNSPACED += "\U00020000-\U0003ffff"


def is_unspaced(text: str) -> bool:
    """Whether the text has a character of such a script."""
    return not text.isascii() and _unspaced().search(text) is not None


@cache
def _unspaced() -> re.Pattern[str]:
    """Compiled when a text needs it, for 4 ms."""
    return re.compile(f"[{UNSPACED}]")
