"""Punctuation as the Moses scripts write it, for models that were trained on such text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from dragoman.base.errors import DragomanError

_SPACES = re.compile(" +")


def normalise_punctuation(line: str, language: str) -> str:
    """Return the line as OPUS-MT prepares it: Unicode punctuation replaced, quotes and spaces normalised.

    These are the Moses scripts replace-unicode-punctuation, remove-non-printing-char and
    normalize-punctuation. Raise DragomanError if sacremoses, which has them, is not installed.
    """
    return _SPACES.sub(" ", _normaliser(language).normalize(line)).strip() if line else ""


@lru_cache(maxsize=8)
def _normaliser(language: str) -> Any:
    try:
        from sacremoses import MosesPunctNormalizer
    except ImportError as error:
        raise DragomanError(
            "this model needs the Moses punctuation normaliser",
            hint="pip install 'dragoman[moses]'",
        ) from error
    return MosesPunctNormalizer(language, pre_replace_unicode_punct=True, post_remove_control_chars=True)
