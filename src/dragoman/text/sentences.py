"""A text cut into sentences, by sentencex, which knows the abbreviations and marks of many languages.

Chinese and Japanese marks, and what sentencex mispairs or mistakes (`abbreviations.py`), are handled here.

Nothing is lost: the pieces, joined, are the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import cast

from dragoman.base.languages import base
from dragoman.text.abbreviations import hide_abbreviations

_NUMBER = re.compile(r"\s*[(\[]?(?:\d{1,3}|[A-Za-z])[.)\]]\s*")  # "1." before a sentence
_ENDS_OF_LINE = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # those of `str.splitlines`
_LINE = re.compile(f"([^{_ENDS_OF_LINE}]*)([{_ENDS_OF_LINE}]*)")
_CLAUSE = re.compile(r"[;:,–—؛،；：，、]\s*|\s[-–]\s")
_SPACE = re.compile(r"\s+")
_READ = 4000  # characters at once: the time grows with the square of some lines, and no other thread runs
_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f](?=[^\w\s])")  # sentencex 1.0 fails for "C\u00a0."
_MARKS = ".!?…"
# No sentence ends in brackets, unless they hold the whole line, or in a short quote.
_WHOLE = re.compile(
    r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}"
    r"|(?<![^\s(\[])(?:\"(?=\w)[^\"]{0,60}\"|“[^“”]{0,60}”|„[^„“”]{0,60}[“”]|«[^«»]{0,60}»)(?!\w)"
)
_BRACKETED = re.compile(r"[^\w()[\]{}]*(?:\([^()]*\)|\[[^][]*\])[^\w()[\]{}]*")
_QUOTED = re.compile(r"“[^“”]*”|「[^「」]*」|『[^『』]*』|（[^（）]*）|\([^()]*\)|\"[^\"]*\"")
_CLOSING = re.compile(r"[\"'“”’»›)\]}]+\s+")
_SAID = r"(?![^。！？“]{1,30}(?<!来)[说道问](?:。|，[“\"]))"  # after a quote: who said it
_WIDE_END = re.compile(
    rf"(?:[。！？]+(?:[”’」』）)\"]+{_SAID})?(?![”’」』）)\"])"
    r"|(?:(?<=[^\W\d_a-zA-Z])[!?]+|(?<=[^\x00-(*-\x7f])\.\.\.)[”’」』）)\"]*(?=[^\W_]))\s*"
)
_WORDS = re.compile(r".*\w")
_ENDS = ".?!\"'”’»)]"  # marks after which a space tells whether the sentence ends


def split_sentences(
    text: str, language: str, *, kept: Iterable[tuple[int, int]] = (), longest: int | None = None
) -> list[str]:
    """Return the sentences of a text, each with the space after it.

    A line end always ends a sentence. No sentence ends inside the spans `kept`, places of `text` from first
    to behind the last. A sentence of more than `longest` characters is cut at its clauses, else between
    words. `language` is a code such as "de" or "pt-BR"; unknown ones are cut by common marks.
    """
    inside = [False] * (len(text) + 1)
    for first, behind in kept:
        inside[first + 1 : behind] = [True] * max(behind - first - 1, 0)
    pieces: list[str] = []
    place, open_piece = 0, ""
    for piece in _pieces(text, language):
        open_piece += piece
        place += len(piece)
        if not inside[place]:
            pieces.append(open_piece)
            open_piece = ""
    if open_piece:
        pieces.append(open_piece)
    return pieces if longest is None else list(_shorter(pieces, longest, inside))


def _pieces(text: str, language: str) -> Iterator[str]:
    code = base(language)
    for line, end in _LINE.findall(text):
        start = 0
        words = _WORDS.match(line)
        last = words.end() if words else 0  # no sentence is without a word
        for place in _places(_SURROGATE.sub("?", line), code) if last else ():
            if start < place < last and not _NUMBER.fullmatch(line, start, place):
                yield line[start:place]
                start = place
        if line or end:
            yield line[start:] + end


def _places(line: str, code: str) -> Iterable[int]:
    """The places after the sentences of a line, in order."""
    if code not in ("zh", "ja"):
        return _ends_of_words(line, code)
    wide = (found.end() for found in _WIDE_END.finditer(line))
    return sorted({*wide, *_ends_of_words(line, code)} - _inside(_QUOTED, line))


def _ends_of_words(line: str, code: str) -> Iterator[int]:
    """Yield where sentences end, by sentencex. It gets the line without the quotes that it would mispair."""
    kept = set[int]() if _BRACKETED.fullmatch(line) else _inside(_WHOLE, line)
    for place in _ends(hide_abbreviations(line, code), code):
        closing = _CLOSING.match(line, place)
        if closing and line[place - 1] in _MARKS:
            place = closing.end()
            if line[place : place + 1].islower():  # "Stop!" he said
                continue
        last = line[place - 1]
        if (last.isspace() or last not in _ENDS) and place not in kept:
            yield place


def _inside(spans: re.Pattern[str], line: str) -> set[int]:
    """The places within the spans that a pattern finds."""
    return {place for found in spans.finditer(line) for place in range(found.start() + 1, found.end())}


def _ends(line: str, code: str) -> Iterator[int]:
    """Yield where sentences end. A long line is read in parts: its last sentence there may be incomplete."""
    segment, place = _sentencex(), 0
    while place < len(line):
        pieces = _segmented(segment, code, line[place : place + _READ])
        more = place + _READ < len(line)
        if more and len(pieces) < 2:
            place += _READ
            continue
        for piece in pieces[:-1] if more else pieces:
            place += len(piece)
            yield place
        if not more:
            break


def _segmented(segment: Callable[[str, str], list[str]], code: str, text: str) -> list[str]:
    """The pieces of a text, of the same lengths as it has there."""
    try:
        return [piece for piece in segment(code, _WIDE_SPACE.sub(" ", text)) if piece]
    except BaseException as error:  # sentencex raises something that is not an Exception
        if type(error).__name__ != "PanicException":
            raise
        return [text]


def _shorter(pieces: Sequence[str], longest: int, inside: Sequence[bool]) -> Iterator[str]:
    place = 0
    for piece in pieces:
        start = 0
        last = _last_bound(piece, inside[place : place + len(piece)]) if len(piece) > longest else 0
        while len(piece) - start > longest:
            cut = _cut(piece, start, longest, inside[place + start : place + start + longest + 1])
            if not cut:
                if last > start:  # the rest is not a single long word
                    break
                cut = min(start + longest, len(piece) - 1)
            yield piece[start:cut]
            start = cut
        yield piece[start:]
        place += len(piece)


def _last_bound(piece: str, inside: Sequence[bool]) -> int:
    """The last place where two words meet, or where a cut is forbidden; 0 without one."""
    body = piece.rstrip()
    words = body.rsplit(None, 1)
    space = len(body) - len(words[1]) - 1 if len(words) > 1 else 0
    return max(space, next((at for at in range(len(inside) - 1, 0, -1) if inside[at]), 0))


def _cut(piece: str, start: int, longest: int, inside: Sequence[bool]) -> int:
    """Where to cut a long sentence from `start`: after its last clause that fits, else after its last word.

    `inside` says for each place from `start` on whether a cut is forbidden. Returns 0 if none fits.
    """
    for marks in (_CLAUSE, _SPACE):
        places = [found.end() for found in marks.finditer(piece, start, start + longest)]
        places = [place for place in places if place < len(piece) and not inside[place - start]]
        # A short first clause gains nothing.
        if places and places[-1] - start > longest // 4:
            return places[-1]
    return 0


@cache
def _sentencex() -> Callable[[str, str], list[str]]:
    from sentencex import segment  # loads 4 MB

    return cast("Callable[[str, str], list[str]]", segment)
