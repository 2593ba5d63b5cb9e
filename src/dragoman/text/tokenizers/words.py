"""Whole words, as translation used them before subwords. A word that is not in the vocabulary is unknown.

A space belongs to the word after it, so the words of a line join to the line itself. As with
SentencePiece, encoding adds a space before the first word, and decoding removes it. Chinese characters
and kana are written without spaces, so each is a word.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from dragoman.base.errors import DataError
from dragoman.text.tokenizers.ids import END, PAD, SPECIALS, START, UNKNOWN
from dragoman.text.tokenizers.reserved import PIECE, pieces

log = logging.getLogger(__name__)

_UNKNOWN = " ⁇"  # as SentencePiece decodes it
_SILENT = {PAD, START, END}


class Words:
    """A list of words, the most frequent first. Its ids begin with our own special ids."""

    marks: Mapping[str, int] = MappingProxyType({})  # of languages
    spare = ()  # ids that never occur in text

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [*SPECIALS, *words]
        self._ids = {word: number for number, word in enumerate(words, len(SPECIALS))}
        self.reserved = tuple(number for word, number in self._ids.items() if PIECE.fullmatch(word))
        if len(self._ids) != len(words):
            raise ValueError("a word is listed twice")

    @classmethod
    def from_bytes(cls, data: bytes) -> Words:
        """Return the list that `to_bytes` wrote. Raise ValueError if `data` is not a list of words."""
        words = json.loads(data)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("not a list of words")
        return cls(words)

    def __len__(self) -> int:
        return len(self._words)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end."""
        ids = self._ids
        return [[ids.get(word, UNKNOWN) for word in self.surfaces(line)] for line in lines]

    def sample(self, lines: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """Encode. A word can be cut in one way only, so nothing is random."""
        return self.encode(lines)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids. Pad, start and end have no text; an unknown word is ⁇."""
        words = (_UNKNOWN if i == UNKNOWN else self._words[i] for i in ids if i not in _SILENT)
        return "".join(words).removeprefix(" ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the word of each id; ▁ is a space."""
        return [self._words[i].replace(" ", "▁") for i in ids]

    def surfaces(self, line: str) -> list[str]:
        """Return the words of the line; joined they are the line, with a space before it."""
        return split(line, reserved=bool(self.reserved))

    def to_bytes(self) -> bytes:
        """Return the list as JSON."""
        return json.dumps(self._words[len(SPECIALS) :], ensure_ascii=False, indent=0).encode()

    def to_files(self) -> dict[str, bytes]:
        """Return the list as JSON, by the suffix of its file."""
        return {".words.json": self.to_bytes()}


def train(lines: Iterable[str], *, vocab_size: int, placeholders: int = 0) -> Words:
    """Return the most frequent words of the lines after the reserved pieces, with at most `vocab_size` ids.

    Raise DataError if there are no words.
    """
    # A space before a reserved piece is a word, because the piece is the same with and without it.
    first = [" ", *pieces(placeholders)] if placeholders else []
    counts = Counter(word for line in lines for word in split(line, reserved=bool(first)))
    if not counts:
        raise DataError("no text to learn a vocabulary from", hint="check that not all lines are empty")
    ranked = sorted(counts.keys() - set(first), key=lambda word: (-counts[word], word))
    vocabulary = Words([*first, *ranked][: vocab_size - len(SPECIALS)])
    if len(vocabulary) < vocab_size:
        message = "a vocabulary of %d, not %d: the text has too few different words"
        log.warning(message, len(vocabulary), vocab_size)
    return vocabulary


def split(line: str, *, reserved: bool = False) -> list[str]:
    """Split a line into words and marks, each with the space before it. No character is lost.

    With `reserved`, the reserved pieces are words, always without the space.

    >>> split("Don't  go!")
    [' Don', "'", 't', ' ', ' go', '!']
    """
    return _pattern(reserved).findall(f" {line}") if line else []


class PlacedWord(NamedTuple):
    """A word or mark of a line, without spaces: line[start:end]."""

    text: str
    start: int
    end: int


def placed(tokens: Iterable[str]) -> list[PlacedWord]:
    """Return the words and marks that `split` returned, with their places in the line."""
    words, end = [], -1  # split puts a space before the line
    for token in tokens:
        end += len(token)
        if text := token.strip(" "):
            words.append(PlacedWord(text, end - len(text), end))
    return words


@lru_cache(maxsize=2)
def _pattern(reserved: bool) -> re.Pattern[str]:
    alone = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana, Han
    # Python's \w lacks vowel signs, accents and the joiners of Persian and Hindi, which are part of a word.
    characters = map(chr, range(0x300, 0x1E960))
    joining = "".join(c for c in characters if unicodedata.category(c)[0] == "M") + "\u200c\u200d"
    words = f"[{alone}]|(?:(?![{alone}])[\\w{joining}])+|[^ ]"
    if reserved:
        return re.compile(f"{PIECE.pattern}| ?(?!{PIECE.pattern})(?:{words})| ")
    return re.compile(f" ?(?:{words})| ")
