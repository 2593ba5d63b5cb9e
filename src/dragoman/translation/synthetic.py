"""Back-translation: sources that a model of the reverse direction makes for real targets.

Sennrich et al. 2016, "Improving Neural Machine Translation Models with Monolingual Data". The ways to
generate them come from Edunov et al. 2018, "Understanding Back-Translation at Scale", section 3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from dragoman.base.errors import ConfigError
from dragoman.text.blank import is_blank
from dragoman.text.checks.loops import is_invention, loops
from dragoman.text.noise import scrambled
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.translation.translator import Translator

How = Literal["beam", "greedy", "sample", "noise"]
HOWS: tuple[How, ...] = get_args(How)

EMPTY_LINE = "empty line"
EMPTY = "empty translation"
CUT = "cut short"
LENGTH = "far longer or shorter than the line"
LOOP = "repeats itself"
BROKEN = "broken characters"
COPY = "copy of the line"
EQUAL = "equal to another of its line"
# Control characters, which a text file must not have, and the mark for bytes that are not a character.
_BROKEN = re.compile("[\x00-\x1f\x7f-\x9f\ufffd]")
_COPIED = 4  # words of a copy; fewer may be a name, the same in both languages


@dataclass(frozen=True)
class SyntheticPairs:
    """A line of the target language with its synthetic sources, and why others are left out."""

    target: str
    sources: tuple[str, ...]
    left_out: Counter[str]

    def rows(self) -> str:
        """The pairs as lines of a .tsv file: source, tab, target."""
        return "".join(f"{source}\t{self.target}\n" for source in self.sources)


def back_translated(
    translator: Translator,
    lines: Iterable[str],
    decoding: Decoding,
    *,
    how: How,
    per_line: int = 1,
    seed: int = 1,
    first: int = 1,
) -> Iterator[SyntheticPairs]:
    """Yield the pairs of each line, in order, in bounded memory. `first` is the number of the first line.

    `decoding` says how to translate, and how many translations to take. "noise" makes `per_line` noisy copies
    of the best one, a function of the seed, the number of the line and the number of the copy. Raises
    ConfigError for options that do not fit.
    """
    if how not in HOWS:
        raise ConfigError(f"how = {how!r} cannot be used", hint=f"use {', '.join(HOWS)}")
    if how == "greedy" and per_line > 1:
        raise ConfigError(
            f"{per_line} sources a line by greedy search, which finds one",
            hint="use beam, sample or noise, or 1 a line",
        )
    whole = replace(decoding, split=False)
    for number, found in enumerate(translator.stream(lines, whole), first):
        target = _cell(found.source)
        texts = [one if not one.truncated else None for one in (found, *found.alternatives)]
        if how == "noise":
            texts = texts[:1] * per_line
        sources: dict[str, None] = {}
        left_out: Counter[str] = Counter()
        for copy, one in enumerate(texts):
            text = "" if one is None else _cell(one.text)
            reason = CUT if one is None and target else _reason(text, target)
            if reason is None and how == "noise":
                text = scrambled(text, f"{seed} {number} {copy}")
            if reason is None and text in sources:
                reason = EQUAL
            if reason is None:
                sources[text] = None
            else:
                left_out[reason] += 1
            if reason == EMPTY_LINE:
                break
        yield SyntheticPairs(target, tuple(sources), left_out)


def _cell(text: str) -> str:
    """The text as a column of a .tsv file."""
    return text.replace("\t", " ").strip()


def _reason(text: str, line: str) -> str | None:
    """Why a translation of a line is unusable for training, or None."""
    if is_blank(line):
        return EMPTY_LINE
    if is_blank(text):
        return EMPTY
    if _BROKEN.search(text):
        return BROKEN
    if is_invention(text, line) or is_invention(line, text):
        return LENGTH
    if loops(text, line):
        return LOOP
    if text.casefold() == line.casefold() and len(line.split()) >= _COPIED:
        return COPY
    return None
