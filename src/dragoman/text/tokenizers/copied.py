"""Spans that are equal on both sides of a pair, and pairs with reserved pieces instead, to learn copying.

Placeholders are found by their form, numbers and names by being equal. A span that one side has more often
is left out, because it is unclear which ones correspond.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from random import Random
from typing import Literal, NamedTuple

from dragoman.text.checks.placeholders import Kind, find_placeholders
from dragoman.text.tokenizers.reserved import piece

# Kinds that come from programs. Ordinary text has the others too.
_OF_PROGRAMS: frozenset[Kind] = frozenset(
    ("icu", "double brace", "brace", "dollar", "printf", "percent", "underscores", "tag", "escape")
)
_ENOUGH = 0.002  # share of pairs with placeholders of programs from which on a vocabulary reserves pieces
_LOOKED_AT = 20_000  # pairs: enough to estimate that
DEFAULT = 10  # pieces that it then reserves

# Letters, digits and underscores, without Han, kana and Hangul: these are written without spaces.
_IN_WORD = r"[^\W\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_TOKEN = rf"(?<!{_IN_WORD})(?:(?P<number>\d+(?:[.,:]\d+){{0,8}})(?!{_IN_WORD})|(?P<word>{_IN_WORD}+))"
_SHORTEST = 3  # characters of a name: shorter words are equal by chance

What = Literal["placeholder", "number", "name"]
# The chance that a span is replaced if its pair is chosen. Most text has no placeholders: numbers and names
# teach copying, and few of them are enough.
_CHANCES: dict[What, float] = {"placeholder": 1.0, "number": 0.5, "name": 0.1}


_WHATS: tuple[What, ...] = tuple(_CHANCES)


class Copied(NamedTuple):
    """A span of the source and one of the target with the same text, each as (start, end) in characters."""

    what: What
    source: tuple[int, int]
    target: tuple[int, int]


def copied(source: str, target: str) -> list[Copied]:
    """Return the placeholders, numbers and names that both sides have equally often, as in the source."""
    ours, theirs = (defaultdict[tuple[What, str], list[tuple[int, int]]](list) for _ in range(2))
    for text, found in ((source, ours), (target, theirs)):
        for what, start, end in _spans(text):
            found[what, text[start:end]].append((start, end))
    return sorted(
        (
            Copied(what, one, other)
            for (what, text), spans in ours.items()
            if len(others := theirs.get((what, text), ())) == len(spans)
            for one, other in zip(spans, others, strict=True)
        ),
        key=lambda one: one.source,
    )


def draw_pieces(
    spans: Sequence[Copied], count: int, share: float, random: Random
) -> list[tuple[Copied, str]]:
    """Return some of the spans with a reserved piece for each, of `count` in random order.

    A pair is left as it is with probability 1 - `share`.
    """
    if not spans or random.random() >= share:
        return []
    chosen = [one for one in spans if random.random() < _CHANCES[one.what]]
    if len(chosen) > count:
        chosen = random.sample(chosen, count)
    return list(zip(chosen, map(piece, random.sample(range(1, count + 1), len(chosen))), strict=True))


def replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with each (start, end, other text) in place of text[start:end]."""
    for start, end, other in sorted(spans, reverse=True):
        text = text[:start] + other + text[end:]
    return text


def packed(spans: Iterable[Copied]) -> list[int]:
    """Return the spans as numbers, for a file."""
    return [number for what, *places in spans for number in (_WHATS.index(what), *chain(*places))]


def unpacked(numbers: Sequence[int]) -> list[Copied]:
    """Return the spans that `packed` turned into numbers."""
    rows = (numbers[first : first + 5] for first in range(0, len(numbers), 5))
    return [Copied(_WHATS[what], (a, b), (c, d)) for what, a, b, c, d in rows]


def pieces_for(pairs: Sequence[tuple[str, str]]) -> int:
    """Return how many pieces to reserve for such text: `DEFAULT` if its placeholders are frequent, else 0.

    At least 0.2 % of the pairs have a placeholder of a program, such as %s, {name} or <b>, on both sides.
    URLs, numbers and names, which ordinary text has too, do not count.
    """
    pairs = pairs[:: max(1, len(pairs) // _LOOKED_AT)]
    having = sum(_of_program(source, target) for source, target in pairs)
    return DEFAULT if pairs and having >= _ENOUGH * len(pairs) else 0


def _of_program(source: str, target: str) -> bool:
    found = {one.text for one in find_placeholders(source) if one.kind in _OF_PROGRAMS}
    return bool(found) and any(one.text in found for one in find_placeholders(target))


def _spans(text: str) -> Iterator[tuple[What, int, int]]:
    """Yield the placeholders of a text, and the numbers and names between them."""
    place = 0
    for one in find_placeholders(text):
        yield from _words(text, place, one.start)
        yield "placeholder", one.start, one.end
        place = one.end
    yield from _words(text, place, len(text))


def _words(text: str, start: int, end: int) -> Iterator[tuple[What, int, int]]:
    for match in _tokens().finditer(text, start, end):
        word = match["word"]
        if word is None:
            yield "number", *match.span()
        elif len(word) >= _SHORTEST and word != word.lower():
            yield "name", *match.span()


@cache
def _tokens() -> re.Pattern[str]:
    """Compiled at the first use: it takes 5 ms, and translation has no use for it."""
    return re.compile(_TOKEN)
