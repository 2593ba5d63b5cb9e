"""Faults of a translation that show without a model: loops, copied text, placeholders, numbers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.text.numbers import different_numbers
from dragoman.text.odd import has_language, is_invention, loops
from dragoman.text.placeholders import find_placeholders

FlagKind = Literal[
    "omission", "addition", "repetition", "number differs", "placeholder", "copied", "low confidence"
]
FLAGS: tuple[FlagKind, ...] = get_args(FlagKind)

_COPIED = 4  # words in a row that a translation has in common with its source
_LOWER = 2  # of them, words in lower case: names are often the same in both languages
_LETTERS = 3  # of a word that counts as one in lower case


@dataclass(frozen=True)
class Flag:
    """A reason to look at a translation, and where: words of the source, of the translation, or a number."""

    kind: FlagKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def faults(source: str, target: str, source_language: str, target_language: str) -> list[Flag]:
    """Return what is wrong with a translation, as far as the two texts show it.

    An empty translation of a text is an omission, one that is far too long an addition.
    """
    flags = []
    if not target.strip() and has_language(source):
        flags.append(Flag("omission", source.strip()))
    if is_invention(target, source):
        flags.append(Flag("addition"))
    if loops(target, source):
        flags.append(Flag("repetition"))
    numbers = different_numbers(source, target, source_language, target_language)
    flags += [Flag("number differs", one) for one in numbers]
    flags += [Flag("placeholder", one) for one in _placeholders(source, target)]
    if source_language != target_language and (words := _copied(source, target)):
        flags.append(Flag("copied", words))
    return flags


def _placeholders(source: str, target: str) -> list[str]:
    """The placeholders that one side has more often."""
    ours, theirs = (Counter(one.text for one in find_placeholders(text)) for text in (source, target))
    missing = [f"{one} missing" for one in (ours - theirs).elements()]
    return missing + [f"{one} added" for one in (theirs - ours).elements()]


def _copied(source: str, target: str) -> str:
    """The longest run of words that both have, if it is too long for names; else an empty text."""
    ours, theirs = source.split(), target.split()
    if [_bare(word) for word in ours] == [_bare(word) for word in theirs]:
        return target.strip() if _in_lower_case(theirs) >= _LOWER else ""
    best = _longest_common_run(ours, theirs)
    return " ".join(best) if len(best) >= _COPIED and _in_lower_case(best) >= _LOWER else ""


def _longest_common_run(ours: list[str], theirs: list[str]) -> list[str]:
    """The first of the longest runs of words of `theirs` that stand together in `ours` too."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(ours):
        places.setdefault(word, []).append(place)
    longest = end = 0
    lengths: dict[int, int] = {}  # of the run that ends at a place of `ours` and at the last word of `theirs`
    for number, word in enumerate(theirs, 1):
        lengths = {place: lengths.get(place - 1, 0) + 1 for place in places.get(word, ())}
        if (run := max(lengths.values(), default=0)) > longest:
            longest, end = run, number
    return theirs[end - longest : end]


def _bare(word: str) -> str:
    return word.strip(".,;:!?").casefold()


def _in_lower_case(words: list[str]) -> int:
    return sum(len(found) >= _LETTERS and found.islower() for found in map(_letters, words))


def _letters(word: str) -> str:
    return re.sub(r"[\W\d_]+", "", word)
