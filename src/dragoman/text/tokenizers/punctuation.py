"""Punctuation as the Moses scripts write it, for models that were trained on such text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from dragoman.base.errors import DragomanError
from dragoman.text.spans import Span, common_length

_SPACES = re.compile(" +")


def normalise_punctuation(line: str, language: str) -> str:
    """Return the line as OPUS-MT prepares it: Unicode punctuation replaced, quotes and spaces normalised.

    These are the Moses scripts replace-unicode-punctuation, remove-non-printing-char and
    normalize-punctuation. Raise DragomanError if sacremoses, which has them, is not installed.
    """
    return _SPACES.sub(" ", _normaliser(language).normalize(line)).strip() if line else ""


def places_of_punctuation(line: str, language: str) -> list[Span]:
    """Return for each character of `normalise_punctuation` the part of the line that it stands for."""
    if not line:
        return []
    normaliser = _normaliser(language)
    rules = [*normaliser.REPLACE_UNICODE_PUNCTUATION, *normaliser.substitutions]
    text, places = line, [(i, i + 1) for i in range(len(line))]
    for pattern, replacement in rules:
        text, places = _substituted(text, places, pattern, replacement)
    kept = [i for i, character in enumerate(text) if normaliser.remove_control_chars(character)]
    text, places = "".join(text[i] for i in kept), [places[i] for i in kept]
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    _, places = _substituted(text[begin:end], places[begin:end], _SPACES, " ")
    return places


def _substituted(
    text: str, places: list[Span], pattern: str | re.Pattern[str], replacement: str
) -> tuple[str, list[Span]]:
    """Return `re.sub(pattern, replacement, text)` and the places of its characters.

    A common beginning and end of a match and its replacement keep their places. The characters between share
    the place of the text they replace.
    """
    parts: list[str] = []
    moved: list[Span] = []
    at = 0
    for match in re.finditer(pattern, text):
        start, end = match.span()
        parts += text[at:start], match.expand(replacement)
        moved += places[at:start]
        old, new = match[0], parts[-1]
        head = common_length(old, new)
        tail = min(common_length(old[::-1], new[::-1]), len(old) - head, len(new) - head)
        inner = places[start + head : end - tail]
        edge = places[start + head - 1][1] if head else places[start][0]
        shared = (inner[0][0], inner[-1][1]) if inner else (edge, edge)
        moved += places[start : start + head]
        moved += [shared] * (len(new) - head - tail)
        moved += places[end - tail : end]
        at = end
    return "".join([*parts, text[at:]]), moved + places[at:]


@lru_cache(maxsize=8)
def _normaliser(language: str) -> Any:
    try:
        from sacremoses import MosesPunctNormalizer
    except ImportError as error:
        raise DragomanError(
            "this model needs the Moses punctuation normaliser", hint="pip install 'dragoman[moses]'"
        ) from error
    return MosesPunctNormalizer(language, pre_replace_unicode_punct=True, post_remove_control_chars=True)
