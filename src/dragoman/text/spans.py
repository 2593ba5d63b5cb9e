"""Where in a text its tokens stand, and which of them make a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.text.ids import SPECIALS, UNKNOWN

Span = tuple[int, int]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE = "\u2581"
# Scripts without spaces: a word there is what the tokenizer says. Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def spans(pieces: Sequence[str], text: str) -> list[Span]:
    """(start, end) of each piece in `text`, in characters, without the spaces around it.

    The bytes of a character stand for it together: all but the last are empty. What is not in the text,
    as a special token or a byte that belongs to no character, is empty too; an unknown token reaches to
    the next that is known.
    """
    found: list[Span] = []
    at, pending = 0, b""
    for number, piece in enumerate(pieces):
        start = at
        if match := _BYTE.fullmatch(piece):
            pending += bytes([int(match[1], 16)])
            at += _completed(pending, text, at)
            if at > start:
                pending = b""
        else:
            pending = b""
            while text.startswith("\ufffd", at) and _surface(piece, text, at) is None:
                start = at = at + 1  # bytes that were no character
            if piece == SPECIALS[UNKNOWN]:
                at = _next_known(pieces[number + 1 :], text, at)
            elif (surface := _surface(piece, text, at)) is not None:
                at += len(surface)
        found.append(_bare(text, start, at))
    return found


def words(token_spans: Sequence[Span], text: str) -> list[int | None]:
    """For each token the number of its word, from 0 on; None for a token that stands nowhere.

    Tokens are of one word where nothing stands between them and letters or digits meet. In scripts
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
    return _letter(before) and _letter(after)


def _letter(character: str) -> bool:
    return not character.isspace() and not re.match(r"[^\w\u0300-\u036f\u200c\u200d]", character)


def _surface(piece: str, text: str, at: int) -> str | None:
    """What of the text the piece spells at `at`; a first piece begins with a space that is not there."""
    surface = piece.replace(_SPACE, " ")
    for spelt in (surface, surface.removeprefix(" ")) if at == 0 else (surface,):
        if text.startswith(spelt, at):
            return spelt
    return None


def _next_known(rest: Sequence[str], text: str, at: int) -> int:
    """Where the next piece that can be found begins, or where the text ends."""
    for piece in rest:
        if piece == SPECIALS[UNKNOWN] or _BYTE.fullmatch(piece):
            continue
        place = text.find(piece.replace(_SPACE, " "), at + 1)
        if place >= 0:
            return place
    return len(text)


def _completed(pending: bytes, text: str, at: int) -> int:
    """How many characters the bytes spell at `at`: 0 while they are not whole."""
    try:
        character = pending.decode()
    except UnicodeDecodeError:
        return 0
    return len(character) if text.startswith(character, at) else 0


def _bare(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
