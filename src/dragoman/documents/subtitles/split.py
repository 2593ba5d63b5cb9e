"""Give the translation of a sentence to the cues it was spoken in, and break it into lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from dragoman.documents.markup.lines import breakable, wrap
from dragoman.documents.segment import Code, Content, merged
from dragoman.text.width import columns

WIDEST = 42  # columns in a line of subtitles
_STOP = ".!?…。！？"
_PAUSE = ",;:，、；：–—"


def share(parts: Content, weights: Sequence[int]) -> list[Content]:
    """Split a content into as many as there are weights, each about as long as its weight.

    It is split at spaces, rather after punctuation than elsewhere. If it has too few words, the last part
    comes again: it stays on the screen. Tags that a split is inside of are closed before it and opened again.
    """
    text, codes = _flattened(parts)
    words = breakable(text)
    if not words:
        return [merged(code for _, code in codes), *((),) * (len(weights) - 1)]
    cuts = [0, *_cuts(text, words, weights[: len(words)]), len(words)]
    spans = [(words[a][0], words[b - 1][1]) for a, b in pairwise(cuts)]
    shared = _closed([merged(one) for one in _woven(text, codes, spans)])
    return shared + shared[-1:] * (len(weights) - len(shared))


def _cuts(text: str, words: list[tuple[int, int]], weights: Sequence[int]) -> list[int]:
    """The numbers of the words that begin the parts after the first one. No part is empty."""
    total, found, done, last = sum(weights) or 1, [], 0, 0
    for number, weight in enumerate(weights[:-1], 1):
        done += weight
        ideal = len(text) * done / total
        slack = len(text) / len(weights)

        def cost(cut: int, ideal: float = ideal, slack: float = slack) -> float:
            end = words[cut - 1][1]
            mark = text[end - 1]
            bonus = 0.4 if mark in _STOP else 0.2 if mark in _PAUSE else 0.0
            return abs(end - ideal) / slack - bonus

        last = min(range(last + 1, len(words) - (len(weights) - 1 - number)), key=cost)
        found.append(last)
    return found


def balanced(parts: Content, most: int) -> list[Content]:
    """Break a content into lines of equal length: as few as are 42 columns wide, and at most `most`."""
    text, codes = _flattened(parts)
    size = columns(text)
    for count in range(min(most, max(1, -(-size // WIDEST))), most + 1):
        spans = _balanced(text, count, size)
        if all(columns(text[start:end]) <= WIDEST for start, end in spans) or count > size // WIDEST + 1:
            break
    return [merged(one) for one in _woven(text, codes, spans or [(0, len(text))])]


def _balanced(text: str, count: int, size: int) -> list[tuple[int, int]]:
    """The spans of at most `count` lines, the widest as narrow as can be."""
    width = bisect_left(range(size), True, size // count, key=lambda one: len(wrap(text, one)) <= count)
    return wrap(text, width)


def _woven(text: str, codes: list[tuple[int, Code]], spans: list[tuple[int, int]]) -> list[list[str | Code]]:
    """The text of the spans, with the codes in them. A closing code stays with the text before it."""
    found: list[list[str | Code]] = [[] for _ in spans]
    places = [start for start, _ in spans]
    row = 0
    for place, code in codes:
        if code.kind == "close":
            fits = max((n for n, (start, _) in enumerate(spans) if start < place), default=0)
        else:
            fits = min((n for n, (_, end) in enumerate(spans) if place < end), default=len(spans) - 1)
        row = max(row, fits)
        cut = min(max(place, places[row]), spans[row][1])
        found[row] += [text[places[row] : cut], code]
        places[row] = cut
    for number, (_, end) in enumerate(spans):
        found[number].append(text[places[number] : end])
    return found


def _closed(parts: list[Content]) -> list[Content]:
    """Close at the end of each part the codes that are open there, and open them again in the next one."""
    codes = [one for part in parts for one in part if isinstance(one, Code)]
    closing = {one.pair: one for one in codes if one.kind == "close"}
    opened: list[Code] = []
    found: list[Content] = []
    for part in parts:
        before = list(opened)
        for one in part:
            if isinstance(one, Code) and one.kind == "open" and one.pair in closing:
                opened.append(one)
            elif isinstance(one, Code) and one.kind == "close":
                opened = [other for other in opened if other.pair != one.pair]
        found.append((*before, *part, *(closing[one.pair] for one in reversed(opened))))
    return found


def _flattened(parts: Content) -> tuple[str, list[tuple[int, Code]]]:
    """The text of a content, and its codes with their places in the text. Placeholders are codes too."""
    text, codes = "", []
    for part in parts:
        if isinstance(part, Code):
            codes.append((len(text), part))
        else:
            text += part
    return text, codes
