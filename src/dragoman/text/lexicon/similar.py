"""Find the most similar other line for each line of a text.

Lines that share a rare word or a rare pair of neighbouring words are compared, the ones with most in common
first. Exact likeness is a parameter, so that training and a translation memory use the same.

The features of a line are numbers: hashes of its words and of its pairs of words. Only some rare ones are
looked up, and few lines are looked at for each, so the time is linear in the number of lines. A block of
lines is searched within itself, so memory is bounded.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple
from zlib import crc32

from dragoman.text.scripts import is_unspaced

_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_BLOCK = 500_000  # lines
_BUCKETS = 1 << 23  # for the counts of features
_FEATURES = 10  # of a line: its rarest that another line has, too
_LINES = 30  # that are looked at for a feature
_COMPARED = 8  # lines that are compared with a line
_LONGEST = 100  # words of a line that features are made of

Likeness = Callable[[str, str, float], float]


class Similar(NamedTuple):
    """Another line, by its number from 0 on, and how alike it is, in percent."""

    number: int
    score: float


def similar(
    lines: Iterable[str], *, likeness: Likeness, least: float = 50.0, block: int = _BLOCK
) -> Iterator[Similar | None]:
    """Yield for each line the most similar one that differs from it; None without one of at least `least`.

    `likeness` is in percent; it gets two lines and the least that counts.
    Lines are compared within their block alone.
    """
    rest, begin = iter(lines), 0
    while chunk := list(islice(rest, block)):
        for found in _Block(chunk, likeness, least).best():
            yield None if found is None else Similar(found.number + begin, found.score)
        begin += len(chunk)


class _Block:
    def __init__(self, lines: list[str], likeness: Likeness, least: float) -> None:
        self._lines, self._likeness, self._least = lines, likeness, least
        self._first: dict[str, int] = {}  # a line and where it comes first
        for number, line in enumerate(lines):
            self._first.setdefault(line, number)
        counts = self._counts = array("I", bytes(4 * _BUCKETS))
        for line in self._first:
            for feature in _features(line):
                counts[feature] += 1
        self._having: dict[int, list[int]] = {}  # a feature -> the lines that have it among their rarest
        for line, number in self._first.items():
            for feature in self._rarest(line):
                self._having.setdefault(feature, []).append(number)

    def best(self) -> Iterator[Similar | None]:
        known: dict[str, Similar | None] = {}
        for line in self._lines:
            if line not in known:
                known[line] = self._best(line)
            yield known[line]

    def _best(self, line: str) -> Similar | None:
        best = None
        for number in self._candidates(line):
            score = self._likeness(line, self._lines[number], best.score if best else self._least)
            if score >= self._least and (best is None or score > best.score):
                best = Similar(number, score)
        return best

    def _candidates(self, line: str) -> list[int]:
        """The other lines with most of the rare features of a line, and of nearly its length."""
        own, shared = self._first[line], Counter[int]()
        for feature in self._rarest(line):
            having = self._having[feature]
            shared.update(having if len(having) <= _LINES else _around(having, own))
        shared.pop(own, None)
        size = len(line)
        ranked = sorted(shared, key=lambda n: (-shared[n], abs(len(self._lines[n]) - size), n))
        return ranked[:_COMPARED]

    def _rarest(self, line: str) -> list[int]:
        counts = self._counts
        repeated = [feature for feature in _features(line) if counts[feature] > 1]
        return sorted(repeated, key=lambda feature: (counts[feature], feature))[:_FEATURES]


def _around(numbers: list[int], own: int) -> list[int]:
    """The neighbours of a line in a list of lines: similar lines are often close in a text."""
    place = numbers.index(own)
    start = min(max(place - _LINES // 2, 0), len(numbers) - _LINES)
    return numbers[start : start + _LINES]


def _words(line: str) -> list[str]:
    words = _WORD.findall(line)
    if is_unspaced(line):
        return [part for word in words for part in (word if is_unspaced(word[0]) else (word,))]
    return words


def _features(line: str) -> set[int]:
    """Numbers for the words of a line and for its pairs of neighbours."""
    hashes = [crc32(word.encode()) for word in _words(line.lower())[:_LONGEST]]
    features = {number % _BUCKETS for number in hashes}
    return features | {(a * 31 + b) % _BUCKETS for a, b in pairwise(hashes)}
