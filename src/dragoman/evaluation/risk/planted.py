"""Translations with a planted error: a phrase left out, a phrase of another text added, a wrong number.

A phrase goes from a function word, such as an article or a preposition, or from after a comma, to the next
one. So most translations stay grammatical without it or with it, and only the source tells. The function
words are the most frequent words of the text itself, in any language. In scripts without spaces each
character is a word, and phrases are cut at any place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random

from dragoman.text.checks.faults import FlagKind
from dragoman.text.checks.numbers import cardinals
from dragoman.text.scripts import is_unspaced
from dragoman.text.spans import Span

_FREQUENT = 60  # words that count as function words
_LEAST = 2  # words of a phrase
_CHARACTERS = 4  # of a phrase in a script without spaces
_TRIES = 20  # other texts in which a phrase is looked for
_WORD = re.compile(r"\S+")
_END = re.compile(r"[.!?…。！？]*[\"'»“”’)]*\s*$")
_NUMBER = re.compile(r"(?<![\w.,%$@{\[])\d+(?![\w.,]*\d)")
_LETTERS = re.compile(r"[^\W\d_]+")
_MARKS = ".,;:!?\"'()«»„“”‘’"


class Planter:
    """Plants errors in translations. The same seed plants the same errors."""

    def __init__(self, texts: Sequence[str], language: str, seed: int = 1) -> None:
        """`texts` are all the translations, whose phrases are added to others."""
        self._cardinals = cardinals(language)[2:]
        counts = Counter(_bare(word) for text in texts for word in text.split())
        self._texts, self._seed = texts, seed
        frequent = counts.most_common(min(_FREQUENT, len(counts) // 4))
        self._function_words = {word for word, _ in frequent} - {""}

    def errors(self) -> Iterator[tuple[int, str, FlagKind]]:
        """Yield the number of each text, the text with an error, and its kind: each that fits."""
        for number, text in enumerate(self._texts):
            for kind, plant in _ERRORS.items():
                new = plant(self, number)
                if new and new.strip() and new != text:
                    yield number, new, kind

    def omission(self, number: int) -> str | None:
        """Return text `number` without one of its phrases; None if none is short enough."""
        text, random = self._texts[number], Random(f"{self._seed} omission {number}")
        phrases = [one for one in self._phrases(text) if one[1] - one[0] < len(text.strip()) * 0.6]
        if not phrases:
            return None
        start, end = random.choice(phrases)
        closing = _END.search(text)
        if closing and end >= closing.start():  # the last phrase: keep the full stop
            return text[:start].rstrip().rstrip(",;:") + text[closing.start() :]
        return text[:start] + text[end:].lstrip()

    def addition(self, number: int) -> str | None:
        """Return text `number` with a phrase of another; None if none of 20 others has one that fits."""
        text, random = self._texts[number], Random(f"{self._seed} addition {number}")
        closing = _END.search(text)
        end = closing.start() if closing else len(text)
        places = [start for start, _ in self._phrases(text) if start] + [end]
        for _ in range(_TRIES):
            other = random.choice(self._texts)
            phrases = [other[a:b].strip(f" {_MARKS}") for a, b in self._phrases(other) if a]
            if phrases and (phrase := random.choice(phrases)) and phrase not in text:
                place = random.choice(places)
                return _inserted(text, place, phrase)
        return None

    def wrong_number(self, number: int) -> str | None:
        """Return text `number` with one of its numbers replaced by another; None if it has none.

        Numbers in digits come first; numbers in words count in languages whose words are known.
        """
        text, random = self._texts[number], Random(f"{self._seed} number {number}")
        found = list(_NUMBER.finditer(text))
        if not found:
            return self._wrong_word(text, random)
        chosen = random.choice(found)
        others = [digit for digit in "123456789" if digit not in chosen[0]] or ["0"]
        place = random.randrange(len(chosen[0]))
        wrong = chosen[0][:place] + random.choice(others) + chosen[0][place + 1 :]
        return text[: chosen.start()] + wrong + text[chosen.end() :]

    def _wrong_word(self, text: str, random: Random) -> str | None:
        """The text with another number in the place of one of its numbers in words, from two on."""
        found = [word for word in _LETTERS.finditer(text) if word[0].lower() in self._cardinals]
        if not found:
            return None
        chosen = random.choice(found)
        wrong = random.choice([word for word in self._cardinals if word != chosen[0].lower()])
        wrong = wrong.capitalize() if chosen[0].istitle() else wrong
        return text[: chosen.start()] + wrong + text[chosen.end() :]

    def _phrases(self, text: str) -> list[Span]:
        """The (start, end) of each phrase with a word that is not a function word."""
        if is_unspaced(text):
            return [(at, at + _CHARACTERS) for at in range(0, len(text) - _CHARACTERS, _CHARACTERS)]
        words = [found.span() for found in _WORD.finditer(text)]
        frequent = [_bare(text[start:end]) in self._function_words for start, end in words]
        begins = [0]
        for number in range(1, len(words)):
            after_comma = text[words[number - 1][1] - 1] in ",;:"
            if after_comma or (frequent[number] and not frequent[number - 1]):
                begins.append(number)
        return [
            (words[first][0], words[end - 1][1])
            for first, end in pairwise([*begins, len(words)])
            if end - first >= _LEAST and not all(frequent[first:end])
        ]


_ERRORS: dict[FlagKind, Callable[[Planter, int], str | None]] = {
    "omission": Planter.omission,
    "addition": Planter.addition,
    "number differs": Planter.wrong_number,
}


def _inserted(text: str, place: int, phrase: str) -> str:
    before, after = text[:place], text[place:]
    if is_unspaced(text):
        return before + phrase + after
    space = " " if after and after[0].isalnum() else ""
    return f"{before.rstrip()} {phrase}{space}{after.lstrip() if space else after}"


def _bare(word: str) -> str:
    return word.strip(_MARKS).casefold()
