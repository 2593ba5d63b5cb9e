"""The places of tokens in a text, and the words they form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

Span = tuple[int, int]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
# Scripts without spaces, where each token counts as a word: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def spans_of_surfaces(surfaces: Sequence[str], text: str) -> list[Span]:
    """Return (start, end) in `text` of each token, in characters, without the spaces around it.

    `surfaces` are the texts of the tokens; joined they are `text`, perhaps with a space before it. If a
    character is written as bytes, such as <0xE4>, the last byte has its span and the others are empty.
    """
    lengths: list[int] = []
    pending = b""
    for surface in surfaces:
        if match := _BYTE.fullmatch(surface):
            pending += bytes([int(match[1], 16)])
            lengths.append(_characters(pending))
            pending = b"" if lengths[-1] else pending
        else:
            lengths.append(len(surface))
    at = min(len(text) - sum(lengths), 0)  # -1 if there is a space before the text
    spans = []
    for length in lengths:
        spans.append(_stripped(text, max(at, 0), max(at + length, 0)))
        at += length
    return spans


def spans_of_prefixes(prefixes: Sequence[str], text: str) -> list[Span]:
    """Return the same, where `prefixes[i]` is the text of the tokens up to and including token i.

    Token i has what `prefixes[i]` adds to the prefix before it. The bytes of an incomplete character add
    nothing.
    """
    spans = []
    at = 0
    for prefix in prefixes:
        end = max(at, _common(prefix, text))
        spans.append(_stripped(text, at, end))
        at = end
    return spans


def words_of(token_spans: Sequence[Span], text: str) -> list[int | None]:
    """Return the number of each token's word, from 0 on; None for a token without text.

    Two neighbours belong to one word if a letter, mark or digit of one touches that of the other. In
    scripts without spaces each token is a word.
    """
    numbers: list[int | None] = []
    word, reached = -1, 0
    incomplete = False  # whether the last token was a byte of a character that is not whole yet
    for start, end in token_spans:
        if start == end and start == len(text):
            numbers.append(None)
            continue
        if not (incomplete or (word >= 0 and _joined(text, reached, start))):
            word += 1
        incomplete = start == end
        reached = max(reached, end)
        numbers.append(word)
    return numbers


def _joined(text: str, reached: int, start: int) -> bool:
    if start != reached or not 0 < start < len(text):
        return False
    before, after = text[start - 1], text[start]
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return False
    return _in_word(before) and _in_word(after)


def _in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" or character in "\u200c\u200d"


def _characters(data: bytes) -> int:
    """Return how many characters the bytes spell; 0 as long as the last one is incomplete."""
    try:
        return len(data.decode())
    except UnicodeDecodeError:
        return 0


def _common(prefix: str, text: str) -> int:
    """Return the length of the common prefix."""
    for at, (one, other) in enumerate(zip(prefix, text, strict=False)):
        if one != other:
            return at
    return min(len(prefix), len(text))


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
