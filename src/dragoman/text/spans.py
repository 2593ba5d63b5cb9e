"""The places of tokens in a text, and the words they form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from dragoman.text.scripts import is_unspaced

Span = tuple[int, int]
Link = tuple[int, int, int, int]  # a span of the source, and the span of its translation

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def spans_of_surfaces(surfaces: Sequence[str], text: str) -> list[Span]:
    """Return (start, end) in `text` of each token, in characters, without the spaces around it.

    `surfaces` are the texts of the tokens; joined they are `text`, with or without a space before it. If a
    character is written as bytes, such as <0xE4>, the last byte has its span and the others are empty.
    """
    lengths: list[int] = []
    pending = b""
    # Surfaces with bytes are longer than the text. If they are not, a text that looks like a byte is text.
    literal = sum(map(len, surfaces)) <= len(text) + 1
    for surface in surfaces:
        if not literal and (match := _BYTE.fullmatch(surface)):
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

    The text of token i is the part that `prefixes[i]` adds. The bytes of an incomplete character add
    nothing.
    """
    spans = []
    at = 0
    for prefix in prefixes:
        end = max(at, common_length(prefix, text))
        spans.append(_stripped(text, at, end))
        at = end
    return spans


def spans_of_characters(spans: Sequence[Span], pieces: Sequence[str]) -> list[Span]:
    """Return the spans with each byte of a character, such as the piece <0xE4>, at the whole character."""
    whole = list(spans)
    following: Span | None = None
    for i in reversed(range(len(whole))):
        start, end = whole[i]
        if not _BYTE.fullmatch(pieces[i]):
            following = None
        elif start < end:
            following = start, end
        elif following is not None:
            whole[i] = following
    return whole


def spans_before(spans: Sequence[Span], places: Sequence[Span], end: int) -> list[Span]:
    """Return the spans of a normalised text in the text before, which is `end` characters long.

    `places` has the span in the text before of each character of the normalised text.
    """
    ends = [*(start for start, _ in places), end]
    return [(places[a][0], places[b - 1][1]) if a < b else (ends[a], ends[a]) for a, b in spans]


def common_length(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    if other.startswith(one):  # nearly always, and faster
        return len(one)
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def words_of(token_spans: Sequence[Span], text: str) -> list[int | None]:
    """Return the number of each token's word, from 0 on; None for a token without text.

    Two neighbours belong to one word if a letter, mark or digit of one touches one of the other. In
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


def united(spans: Sequence[Span], words: Sequence[int | None]) -> list[Span]:
    """Return the span of each word, from the spans and words of its tokens. One without text adds nothing."""
    found: dict[int, Span] = {}
    for (start, end), word in zip(spans, words, strict=True):
        if word is not None:
            low, high = found.get(word, (start, end))
            found[word] = (min(low, start), max(high, end))
    return [found[word] for word in sorted(found)]


def _joined(text: str, reached: int, start: int) -> bool:
    if start != reached or not 0 < start < len(text):
        return False
    before, after = text[start - 1], text[start]
    if is_unspaced(before + after):
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


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
