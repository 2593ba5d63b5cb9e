"""Similarity of two segments in percent, and the words by which similar ones are looked up.

    likeness = (words + characters) / 2, where each is 100 (1 - edits / units of the longer segment)

An edit inserts, deletes or replaces one unit (Levenshtein 1966). The units of the first are words, numbers
and marks, the units of the second are characters. In scripts without spaces, such as Chinese, a character
is a word, too. Case and numbers count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from dragoman.text.scripts import UNSPACED, is_unspaced

LONGEST = 2000  # characters of a segment that similar ones are looked for

_UNIT = re.compile(rf"\d+|[{UNSPACED}]|[^\W\d{UNSPACED}]+|([^\w\s])\1*")
_GAP = re.compile(rf"(?<=[{UNSPACED}])\s+(?=[{UNSPACED}])")
_MARKS = "".join(c for c in map(chr, range(0xE00, 0x1800)) if unicodedata.category(c)[0] == "M")
_CHARACTER = re.compile(rf" ?[{UNSPACED}][{_MARKS}]*|[^{UNSPACED}]+")
_RUN = re.compile(rf"([{UNSPACED}]+)|[^\W{UNSPACED}]+")


def single_spaced(text: str) -> str:
    """Return the text as it is compared: composed (NFC), with single spaces, and none around it."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


@lru_cache(4096)
def units(text: str) -> tuple[str, ...]:
    """Return the words, numbers and marks of a text. A mark that is repeated is one."""
    return tuple(found.group() for found in _UNIT.finditer(text))


def likeness(one: str, other: str, least: float = 0.0) -> float:
    """Return how alike two texts are, in percent; 0 if it is below `least`. Only equal texts have 100."""
    if one == other:
        return 100.0
    # The words count half, so the characters must reach the rest.
    by_characters = Levenshtein.normalized_similarity(one, other, score_cutoff=max(2 * least / 100 - 1, 0))
    if 50 * (1 + by_characters) < least:
        return 0.0
    by_words = Levenshtein.normalized_similarity(units(one), units(other))
    score = min(50 * (by_words + by_characters), 99.9)
    return score if score >= least else 0.0


def characters_apart(tokens: Iterable[str]) -> Iterator[str]:
    """Yield the tokens of a text, those in a script without spaces as their characters with their accents."""
    for token in tokens:
        if is_unspaced(token):
            yield from _CHARACTER.findall(token)
        else:
            yield token


def keys(text: str) -> list[str]:
    """Return the index terms of a segment: its words in lower case, and its pairs of neighbouring words.

    In scripts without spaces a word is two characters, and a pair is three. Spaces that a program has put
    between words there make no difference.
    """
    found: dict[str, None] = {}
    before = ""
    for run in _RUN.finditer(_GAP.sub("", text.lower())):
        word = run.group()
        if run[1] is None:
            found[word] = None
            if before:
                found[f"{before} {word}"] = None
            before = word
        else:
            before = ""
            for size in (2, 3):
                found |= dict.fromkeys(word[at : at + size] for at in range(max(len(word) - size, 0) + 1))
    return list(found)
