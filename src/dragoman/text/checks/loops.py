"""Output of a model that is stuck: loops, and text that is far too long for its source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.text.scripts import is_unspaced
from dragoman.text.width import columns

_PERIOD = 20  # words, or characters, of the longest unit whose repetition is looked for
_OF_WORDS = re.compile(rf"(?<!\S)((?:\S*+ ){{1,{_PERIOD}}}?)\1\1")  # most texts have no loop: this is fast
_OF_LETTERS = re.compile(rf"(.{{1,{_PERIOD}}}?)\1\1\1", re.DOTALL)
_LONG = 10  # characters of a word that may have a loop inside


def loops(text: str, source: str = "") -> int:
    """Return how many characters of the text repeat the ones before, as from a model that is stuck.

    Words are compared, and the characters of long words and of scripts without spaces. 0 if nothing is
    repeated, or not more often than in the source.
    """
    found = _repetitions(text)
    if not any(times for times, _ in found):  # as in most texts
        return 0
    return sum(
        length
        for (times, length), (known, _) in zip(found, _repetitions(source), strict=True)
        if times > known
    )


def is_invention(text: str, source: str) -> bool:
    """Whether a text is far longer than its source, as the translation of a single word may be."""
    return columns(text) > 3 * columns(source) + 25


def _repetitions(text: str) -> list[tuple[int, int]]:
    """The longest loops of words and of characters: (how often it comes, characters that it repeats)."""
    words = text.lower().split()
    long = [word for word in words if len(word) >= _LONG or is_unspaced(word)]
    bare = [word.strip(",.;:!?") for word in words]
    return [
        _longest_loop(bare, 3) if _OF_WORDS.search(" ".join([*bare, ""])) else (0, 0),
        max((_longest_loop(word, 4) for word in long if _OF_LETTERS.search(word)), default=(0, 0)),
    ]


def _longest_loop(units: Sequence[str], least: int) -> tuple[int, int]:
    """Return (times, characters after the first time) of the unit that comes in a row most often.

    It has to come `least` times, and a single unit once more.
    """
    most = (0, 0)
    if len(units) - len(set(units)) < least - 1:  # nothing comes that often at all
        return most
    for period in range(1, min(_PERIOD, len(units) // 2) + 1):
        run = 0
        for place in range(period, len(units) + 1):
            if place < len(units) and units[place] == units[place - period]:
                run += 1
                continue
            times = run // period + 1
            if times >= least + (period == 1):
                most = max(most, (times, sum(len(unit) for unit in units[place - run : place])))
            run = 0
    return most
