"""Whether a text shows anything: one of invisible characters alone is as good as empty."""

from __future__ import annotations

import re

# For a character class: characters without a shape of their own. Controls and soft hyphens, marks of width
# and of direction, fillers, variation selectors, tags (Unicode's Default_Ignorable_Code_Point), the blank of
# Braille, and what is between annotations.
INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SHOWN = re.compile(f"[^\\s{INVISIBLE}]")


def is_blank(text: str) -> bool:
    """Whether a text has nothing but spaces and characters that are not shown, such as U+200B."""
    return _SHOWN.search(text) is None
