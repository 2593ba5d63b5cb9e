"""Whole words: what translation had before subwords, and why it needed them. A rare word is unknown.

A space belongs to the word after it, so joining the words of a line gives the line back, spaces and
all. As with SentencePiece a line begins with a space that decoding takes away, so that a first word is
like any other. Chinese characters and kana, written without spaces, are a word each.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from dragoman.base.errors import DataError
from dragoman.text.ids import END, PAD, SPECIALS, START, UNKNOWN

log = logging.getLogger(__name__)

_UNKNOWN = " ⁇"  # as SentencePiece writes it
_SILENT = {PAD, START, END}


class Words:
    """A list of words, the most frequent first. Ids 0 to 3 are pad, start, end and unknown."""

    suffix = ".words.json"

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [*SPECIALS, *words]
        self._ids = {word: number for number, word in enumerate(words, len(SPECIALS))}
        if len(self._ids) != len(words):
            raise ValueError("a word stands twice in the list")

    @classmethod
    def from_bytes(cls, data: bytes) -> Words:
        """The list that `to_bytes` wrote. Raises ValueError where it is none."""
        words = json.loads(data)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("not a list of words")
        return cls(words)

    def __len__(self) -> int:
        return len(self._words)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, with no start or end."""
        known = self._ids
        return [[known.get(word, UNKNOWN) for word in split(line)] for line in lines]

    def sample(self, lines: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """As `encode`: a word is cut in one way only."""
        return self.encode(lines)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids. Pad, start and end are nothing, unknown is ⁇."""
        words = (_UNKNOWN if i == UNKNOWN else self._words[i] for i in ids if i not in _SILENT)
        return "".join(words).removeprefix(" ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What each id stands for; ▁ is a space."""
        return [self._words[i].replace(" ", "▁") for i in ids]

    def surfaces(self, line: str) -> list[str]:
        """What each token of the line spells; joined they are the line, with a space before it."""
        return split(line)

    def to_bytes(self) -> bytes:
        """The list, as JSON."""
        return json.dumps(self._words[len(SPECIALS) :], ensure_ascii=False, indent=0).encode()


def train(lines: Iterable[str], *, vocab_size: int) -> Words:
    """The most frequent words of the lines, as many as `vocab_size` ids hold.

    Raises DataError where there are none.
    """
    counts = Counter(word for line in lines for word in split(line))
    if not counts:
        raise DataError("no text to learn a vocabulary from", hint="is every line empty?")
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[: vocab_size - len(SPECIALS)]
    vocabulary = Words(ranked)
    if len(vocabulary) < vocab_size:
        log.warning("the text supports a vocabulary of %d, not %d", len(vocabulary), vocab_size)
    return vocabulary


def split(line: str) -> list[str]:
    """The words of a line and the marks between them, each with the space before it: none is lost.

    >>> split("Don't  go!")
    [' Don', "'", 't', ' ', ' go', '!']
    """
    return _pattern().findall(f" {line}") if line else []


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    alone = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana, Han
    # Vowel signs and accents are part of a word, and so are the joiners of Persian and Hindi, but not of
    # Python's \w.
    joining = "".join(filter(_is_mark, map(chr, range(0x300, 0x1E960)))) + "\u200c\u200d"
    return re.compile(f" ?(?:[{alone}]|(?:(?![{alone}])[\\w{joining}])+|[^ ])| ")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
