"""Where in a text its tokens stand, and which of them make a word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

Span = tuple[int, int]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
# Scripts without spaces: a word there is what the tokenizer says. Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def spans_of_surfaces(surfaces: Sequence[str], text: str) -> list[Span]:
    """(start, end) in `text` of each token of it, in characters, without the spaces around it.

    `surfaces` are what the tokens spell: joined they are the text, perhaps with a space before it. The
    bytes of a character, as <0xE4>, stand for it together: all but the last are empty.
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
    at = min(len(text) - sum(lengths), 0)  # a first space is not in the text
    found = []
    for length in lengths:
        found.append(_bare(text, max(at, 0), max(at + length, 0)))
        at += length
    return found


def spans_of_prefixes(prefixes: Sequence[str], text: str) -> list[Span]:
    """The same where token i is what `prefixes[i]`, the text of the tokens up to it, has more than the one
    before. Bytes that are no character yet are none."""
    found = []
    at = 0
    for prefix in prefixes:
        end = max(at, _common(prefix, text))
        found.append(_bare(text, at, end))
        at = end
    return found


def words(token_spans: Sequence[Span], text: str) -> list[int | None]:
    """For each token the number of its word, from 0 on; None for a token that stands nowhere.

    Tokens are of one word where nothing stands between them and letters, marks or digits meet. In scripts
    without spaces each token is a word.
    """
    numbers: list[int | None] = []
    word, reached = -1, 0
    waiting = False  # the first bytes of a character wait for the last
    for start, end in token_spans:
        if start == end and start == len(text):
            numbers.append(None)
            continue
        if not (waiting or (word >= 0 and _joined(text, reached, start))):
            word += 1
        waiting = start == end
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
    """How many characters the bytes spell: 0 while they are not whole."""
    try:
        return len(data.decode())
    except UnicodeDecodeError:
        return 0


def _common(prefix: str, text: str) -> int:
    """How many characters both begin with."""
    for at, (one, other) in enumerate(zip(prefix, text, strict=False)):
        if one != other:
            return at
    return min(len(prefix), len(text))


def _bare(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
