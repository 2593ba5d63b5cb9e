"""Faults of a translation that show without a model: loops, copied text, placeholders, numbers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.text.blank import is_blank
from dragoman.text.checks.loops import is_invention, loops
from dragoman.text.checks.omissions import lacks_most
from dragoman.text.checks.placeholders import find_placeholders, has_language
from dragoman.text.clean import clean

FlagKind = Literal[
    "omission",
    "addition",
    "repetition",
    "number differs",
    "placeholder",
    "copied",
    "language",
    "low confidence",
]
FLAGS: tuple[FlagKind, ...] = get_args(FlagKind)

_COPIED = 4  # words in a row that a translation has in common with its source
_LOWER = 2  # of them, words in lower case: names are often the same in both languages
_LETTERS = 3  # of a word that counts as one in lower case


@dataclass(frozen=True)
class Fault:
    """A reason to look at a translation, and where: words of the source, of the translation, or a number."""

    kind: FlagKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {clean(self.detail)}" if self.detail else self.kind


@dataclass(frozen=True)
class Side:
    """One text of a pair, as the checks read it."""

    text: str
    language: str
    placeholders: Counter[str]
    words: str  # the text with a space in place of each placeholder

    @classmethod
    def of(cls, text: str, language: str) -> Side:
        """Find the placeholders of a text."""
        found = find_placeholders(text)
        edges = [0, *(edge for one in found for edge in (one.start, one.end)), len(text)]
        between = zip(edges[::2], edges[1::2], strict=True)
        words = " ".join(text[start:end] for start, end in between)
        return cls(text, language, Counter(one.text for one in found), words)


def faults(source: str, target: str, source_language: str, target_language: str) -> list[Fault]:
    """Return the faults of a translation that the two texts show."""
    return faults_of(Side.of(source, source_language), Side.of(target, target_language))


def faults_of(source: Side, target: Side) -> list[Fault]:
    """Return the faults of a translation that the two texts show.

    An empty translation of a text is an omission, and so is one that lacks most of it; one that is far too
    long is an addition.
    """
    flags = []
    if is_blank(target.text) and has_language(source.text):
        flags.append(Fault("omission", source.text.strip()))
    elif lacks_most(source.text, target.text):
        flags.append(Fault("omission", "most of the text"))
    if is_invention(target.text, source.text):
        flags.append(Fault("addition"))
    if loops(target.text, source.text):
        flags.append(Fault("repetition"))
    from dragoman.text.checks.numbers import different_numbers  # its patterns are slow to compile

    numbers = different_numbers(source.words, target.words, source.language, target.language)
    flags += [Fault("number differs", one) for one in numbers]
    flags += [Fault("placeholder", one) for one in unmatched(source.placeholders, target.placeholders)]
    from dragoman.text.checks.tokens import lost_tokens, lost_units  # its patterns, too

    lost = lost_tokens(source.words, target.words, source.language)
    lost += lost_units(source.text, target.text, target.words)
    flags += [Fault("placeholder", f"{one} missing") for one in lost]
    if source.language != target.language and (words := _copied(source.words, target.words)):
        flags.append(Fault("copied", words))
    return flags


def unmatched(source: Counter[str], target: Counter[str]) -> list[str]:
    """Return the items that one side has more often, such as "%s missing" or "{0} added"."""
    missing = [f"{one} missing" for one in (source - target).elements()]
    return missing + [f"{one} added" for one in (target - source).elements()]


def _copied(source: str, target: str) -> str:
    """The longest run of words that both have, if it is too long for names; else an empty text."""
    ours, theirs = source.split(), target.split()
    if [_bare(word) for word in ours] == [_bare(word) for word in theirs]:
        return target.strip() if _in_lower_case(theirs) >= _LOWER else ""
    # With a character for each word, `in` finds runs of them. difflib is far slower if few words differ.
    names = {word: chr(number % 0x110000) for number, word in enumerate({*theirs, *ours})}
    inside, text = ("".join(names[word] for word in side) for side in (theirs, ours))
    start = length = 0
    for at in range(len(theirs)):
        while at + length < len(theirs) and inside[at : at + length + 1] in text:
            start, length = at, length + 1
    best = theirs[start : start + length]
    return " ".join(best) if len(best) >= _COPIED and _in_lower_case(best) >= _LOWER else ""


def _bare(word: str) -> str:
    return word.strip(".,;:!?").casefold()


def _in_lower_case(words: list[str]) -> int:
    letters = (re.sub(r"[\W\d_]+", "", word) for word in words)
    return sum(len(found) >= _LETTERS and found.islower() for found in letters)
