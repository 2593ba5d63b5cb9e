"""The words of two texts, and how likely the words of one are translations of those of the other.

What needs no lexicon: equal numbers, names, addresses and placeholders, and words that begin alike (Simard et
al. 1992, "Using cognates to align sentences in bilingual corpora"). The rest is IBM Model 1, learnt from
sentences that already belong together (Moore 2002, "Fast and accurate sentence alignment of bilingual
corpora").

V vocabulary, N translations a word; S sentences, T tokens.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.text.lexicon.lexicon import IdPairs, learn
from dragoman.text.lexicon.stems import stem
from dragoman.text.scripts import UNSPACED

Array = np.ndarray[Any, np.dtype[Any]]

_LETTERS = f"[{UNSPACED}]|[^\\W\\d_{UNSPACED}]+"  # one of a script without spaces, or a word
_TOKEN = re.compile(rf"https?://\S+|[%$]\w+|\d+(?:[.,:'\u00a0\u202f]\d+)*|{_LETTERS}|[^\w\s.,]")
_NO_DIGIT = re.compile(r"\D")
_WIDTH = 12  # learnt translations of a word
_DISCOUNT = 0.6  # of each expected count: what was seen once is chance
_EQUAL, _ALIKE = 0.6, 0.3  # how likely an equal word is the translation, and one that begins alike
_BEGINNING = 5  # characters
_SHORT = 4  # a shorter word is equal by chance: "die", "in"
LEXICON_LINES = 60_000  # that a lexicon is learnt from


def word_tokens(text: str, language: str) -> Iterator[str]:
    """Yield the stems, numbers and marks of a text. Numbers lose their points and commas."""
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        if token[0].isdigit():
            yield _NO_DIGIT.sub("", token)
        else:
            yield stem(token, language)


class SideWords:
    """The words of sentences as numbers."""

    def __init__(self, sentences: Iterable[str], language: str) -> None:
        self.language = language
        self.number: dict[str, int] = {}
        self.lines = [
            array("i", [self.number.setdefault(one, len(self.number)) for one in word_tokens(text, language)])
            for text in sentences
        ]
        self.count_V = np.bincount(
            np.concatenate([np.zeros(0, np.int32), *map(np.asarray, self.lines)]), minlength=len(self.number)
        )

    def joined(self, start: int, end: int) -> array[int]:
        """The words of some sentences."""
        return sum(self.lines[start:end], array("i"))

    def known(self, text: str) -> list[int]:
        """The words of another text that these sentences have too."""
        return [self.number[one] for one in word_tokens(text, self.language) if one in self.number]


@dataclass(frozen=True)
class WordTable:
    """Translations of each word: candidates_VN, -1 where a row has no more, and probability_VN."""

    candidates_VN: Array
    probability_VN: Array


def alike_words(given: SideWords, other: SideWords) -> WordTable:
    """A table without learning: equal words, and those that begin alike."""
    beginning: dict[str, list[int]] = {}
    for word, number in other.number.items():
        if len(word) >= _BEGINNING and word.isalpha():
            beginning.setdefault(word[:_BEGINNING], []).append(number)
    candidates_VN = np.full((len(given.number), 2), -1, np.int32)
    probability_VN = np.zeros((len(given.number), 2), np.float32)
    for word, number in given.number.items():
        same = other.number.get(word, -1)
        if same >= 0 and (len(word) >= _SHORT or not word.isalpha()):
            candidates_VN[number, 0], probability_VN[number, 0] = same, _EQUAL
        elif word.isalpha() and (near := beginning.get(word[:_BEGINNING], ())):
            candidates_VN[number, : len(near)] = near[:2]
            probability_VN[number, : len(near)] = _ALIKE / len(near)
    return WordTable(candidates_VN, probability_VN)


def learnt(
    given: SideWords, other: SideWords, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
) -> WordTable:
    """A table of Model 1; what it leaves open is as in `alike_words`."""
    plain = alike_words(given, other)
    lines, count_V = IdPairs(LEXICON_LINES), np.zeros(len(given.number), np.int64)
    for one, translation in pairs:
        lines.add(one, translation)
    if not any(map(min, zip(map(len, lines.source), map(len, lines.target), strict=True))):
        return plain
    for line in lines.source:
        np.add.at(count_V, np.asarray(line), 1)
    lexicon = learn(
        lines, source_vocab=len(given.number), target_vocab=len(other.number), width=_WIDTH, iterations=4
    )
    seen_V1 = np.maximum(count_V, 1)[:, None]
    probability_VN = np.maximum(lexicon.probability_VN - _DISCOUNT / seen_V1, 0)
    rest_V1 = np.clip(1 - probability_VN.sum(1, keepdims=True), 0, 1)
    return WordTable(
        np.hstack([lexicon.candidates_VN, plain.candidates_VN]),
        np.hstack([probability_VN, rest_V1 * plain.probability_VN]).astype(np.float32),
    )
