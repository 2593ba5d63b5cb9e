"""Find the terms of a list in a line: whole words, the longest first.

    Lookup(["print preview", "preview"], "en").find("Print previews open.")   # [(0, 14, 0)]

A word of the line may be inflected (`text/lexicon/stems.py`), but the last one is not shorter than in the
term. A term in lower case is also found in capitals, and with a capital where a sentence begins
or in a heading. Words with capitals are found only as they are written. Nothing is found inside a word, in a
part of a compound with hyphens, in a file name or an address, or in a placeholder.

The words of all terms form a tree, so the time does not depend on the number of terms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from dragoman.text.checks.placeholders import find_placeholders
from dragoman.text.lexicon.stems import stem
from dragoman.text.scripts import is_unspaced
from dragoman.text.tokenizers.words import PlacedWord, placed, split
from dragoman.translation.memory.similarity import characters_apart

# Spaces and apostrophes that count as the plain ones.
ALIKE = str.maketrans(dict.fromkeys("\t\u00a0\u2007\u202f", " ") | {"\u2019": "'"})
_JOINING = "-\u2010\u2011.@\\"  # between two letters or digits they make one word or name of them
_BEFORE = " \"'(\u00ab\u00bb\u201c\u201d\u201e\u2018\u201a[*\u2022\u2013\u2014\u00bf\u00a1-"
_ENDING = ".!?:\u2026\u3002\uff01\uff1f"
_REMEMBERED = 100_000
_LONG = re.compile(r"[^\W\d_]{4,}")


class TermPlace(NamedTuple):
    """line[start:end] is the term with this number."""

    start: int
    end: int
    number: int


@dataclass
class _Node:
    """A place in the tree: the words that may follow, and the terms that end here."""

    next: dict[str, _Node] = field(default_factory=dict)
    terms: list[int] = field(default_factory=list)


class _Begins(dict[str, bool]):
    """Whether a term begins with a token of `split`. Remembers at most as many as the cache of stems."""

    def __init__(self, root: _Node, language: str) -> None:
        self._root, self._language = root, language

    def __missing__(self, token: str) -> bool:
        if len(self) >= _REMEMBERED:
            self.clear()
        begins = self[token] = stem(token.lstrip(" "), self._language) in self._root.next
        return begins


class Lookup:
    """The terms of a language, to be found in lines."""

    def __init__(self, terms: Sequence[str], language: str) -> None:
        """A term without words is never found."""
        self._language = language
        self._words = [placed(_tokens(unicodedata.normalize("NFC", term))) for term in terms]
        self._root = _Node()
        for number, words in enumerate(self._words):
            node = self._root
            for key in self._keys(words):
                node = node.next.setdefault(key, _Node())
            if words:
                node.terms.append(number)
        self._begins = _Begins(self._root, language)

    def find(self, line: str) -> list[TermPlace]:
        """Return the terms of a line in order. They do not overlap: the longest wins, then the first."""
        tokens = _tokens(line)
        if not any(map(self._begins.__getitem__, tokens)):  # nearly always, and faster
            return []
        words = placed(tokens)
        found = list(self._candidates(line, words, self._keys(words)))
        taken = bytearray(len(line))
        for one in find_placeholders(line):
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
        places = []
        for place in sorted(found, key=lambda one: (one.start - one.end, one.start)):
            if not any(taken[place.start : place.end]):
                taken[place.start : place.end] = b"\1" * (place.end - place.start)
                places.append(place)
        return sorted(places)

    def _keys(self, words: Sequence[PlacedWord]) -> list[str]:
        """The text to compare: the stem of each word, after a space if there is one before it in the text."""
        stems = [stem(word.text, self._language) for word in words]
        apart = [before.end < word.start for before, word in pairwise(words)]
        return stems[:1] + [" " * space + text for space, text in zip(apart, stems[1:], strict=True)]

    def _candidates(self, line: str, words: Sequence[PlacedWord], keys: Sequence[str]) -> Iterator[TermPlace]:
        """Yield the best term for each span that one has. They may overlap."""
        for first, key in enumerate(keys):
            node = self._root.next.get(key.lstrip())
            last = first
            while node is not None:
                start, end = words[first].start, words[last].end
                fitting = [
                    number
                    for number in node.terms
                    if self._fits(line, words[first : last + 1], self._words[number])
                ]
                if fitting and not _inside(line, start, end):
                    written = [word.text for word in words[first : last + 1]]
                    yield TermPlace(start, end, min(fitting, key=lambda n: self._distance(n, written)))
                last += 1
                node = node.next.get(keys[last]) if last < len(keys) else None

    def _distance(self, number: int, written: Sequence[str]) -> tuple[int, int]:
        """How many words of a term are spelled differently; ties go to the term listed first."""
        return sum(a.text != b for a, b in zip(self._words[number], written, strict=True)), number

    def _fits(self, line: str, words: Sequence[PlacedWord], term: Sequence[PlacedWord]) -> bool:
        if len(words[-1].text) < len(term[-1].text):
            return False
        capitals = all(word.text.isupper() for word in words if word.text.isalpha())
        return capitals_fit(line, words, term) or (
            capitals and all(one.text == one.text.lower() for one in term)
        )


def _tokens(text: str) -> list[str]:
    """The words and marks of a text, each with the space before it, and spaces alike."""
    tokens = split(text if text.isascii() and "\t" not in text else text.translate(ALIKE))
    return [*characters_apart(tokens)] if is_unspaced(text) else tokens


def capitals_fit(line: str, words: Sequence[PlacedWord], term: Sequence[PlacedWord]) -> bool:
    """Whether each word has its capitals, or one more where anything would have one."""
    return all(
        all(a.isupper() == b.isupper() for a, b in zip(word.text, one.text, strict=False))
        or (
            one.text == one.text.lower()
            and word.text[1:] == word.text[1:].lower()
            and (_begins(line, word.start) or _is_heading(line))
        )
        for word, one in zip(words, term, strict=True)
    )


def _begins(line: str, start: int) -> bool:
    """Whether a sentence begins here."""
    before = line[:start].rstrip(_BEFORE)
    return not before or before[-1] in _ENDING


def _is_heading(line: str) -> bool:
    """Whether the longer words, of which there are at least two, all have a capital."""
    words = _LONG.findall(line)
    return len(words) > 1 and all(word[0].isupper() for word in words)


def _inside(line: str, start: int, end: int) -> bool:
    """Whether the span is a part of a longer word."""
    before, after = line[max(start - 2, 0) : start], line[end : end + 2]
    return (len(before) == 2 and before[1] in _JOINING and before[0].isalnum()) or (
        len(after) == 2 and after[0] in _JOINING and after[1].isalnum()
    )
