"""Link the words of a pair that translate each other, learnt from parallel text in both directions.

IBM Model 1 (`text/lexicon/lexicon.py`) gives p(target | source) and p(source | target) for words in lower
case. The most frequent words are not linked: articles and prepositions take part in everything.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dragoman.base.errors import DataError
from dragoman.text.lexicon.lexicon import Lines, learn
from dragoman.text.tokenizers.words import PlacedWord, placed, split

Progress = Callable[[str], None]

_PAIRS = 100_000  # lines to learn from
_WORDS = 60_000  # of a side: the most frequent ones
_FREQUENT = 50  # words that are not linked, or a twentieth of all words, if those are fewer
_WIDTH = 16  # translations of a word that are kept
_POSSIBLE = 0.02  # probability of a translation: an inflected word has many
_MUTUAL = 0.02  # probability in one direction times that in the other, if each word is the other's likeliest
_LIKELY = 0.3  # probability of a link in one direction alone


class WordLink(NamedTuple):
    """A word of the source and one of the target, by their numbers in the line."""

    source: int
    target: int
    mutual: bool  # each is the likeliest partner of the other


class WordLinks:
    """Links words of pairs."""

    def __init__(self, forward: Mapping[str, dict[str, float]], backward: Mapping[str, dict[str, float]]):
        """p(target | source) and p(source | target) of words in lower case, for words that may be linked."""
        self._forward, self._backward = forward, backward

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]], *, progress: Progress = lambda text: None) -> WordLinks:
        """Learn from pairs of lines, at most 100,000 of them, spread evenly. They are read once."""
        ours, theirs = dict[str, int](), dict[str, int]()
        lines = Lines(most=_PAIRS)
        for source, target in pairs:
            lines.add(_numbered(source, ours), _numbered(target, theirs))
        sides = _Side([*ours], lines.source), _Side([*theirs], lines.target)
        try:
            forward = _table(*sides, progress)
            backward = _table(sides[1], sides[0], progress)
        except DataError:  # no pair has words on both sides
            forward, backward = {}, {}
        return cls(forward, backward)

    def of(self, source: Sequence[PlacedWord], target: Sequence[PlacedWord]) -> list[WordLink]:
        """Return the likely links between the words of a pair."""
        ours, theirs = ([word.text.lower() for word in side] for side in (source, target))
        there, back = _partners(ours, theirs, self._forward), _partners(theirs, ours, self._backward)
        links = {WordLink(i, j, False) for i, (j, p) in there.items() if p >= _LIKELY}
        links |= {WordLink(i, j, False) for j, (i, p) in back.items() if p >= _LIKELY}
        for i, (j, p) in there.items():
            if j in back and back[j][0] == i and p * back[j][1] >= _MUTUAL:
                links = {*links - {WordLink(i, j, False)}, WordLink(i, j, True)}
        return sorted(links)


def words_of_line(line: str) -> list[PlacedWord]:
    """Return the words of a line, without marks and numbers."""
    return [word for word in placed(split(line)) if word.text[0].isalpha()]


def _numbered(line: str, known: dict[str, int]) -> list[int]:
    return [known.setdefault(word.text.lower(), len(known)) for word in words_of_line(line)]


class _Side:
    """The words of a side from the most frequent on, and its lines as their numbers, without rare words."""

    def __init__(self, words: Sequence[str], lines: Sequence[array[int]]) -> None:
        counts = Counter(number for line in lines for number in line)
        ranked = [number for number, count in counts.most_common(_WORDS) if count > 1]
        new = {number: place for place, number in enumerate(ranked)}
        self.words = [words[number] for number in ranked]
        self.lines = [array("i", [new[number] for number in line if number in new]) for line in lines]
        self.unlinked = frozenset(self.words[: min(_FREQUENT, len(self.words) // 20)])


def _table(ours: _Side, theirs: _Side, progress: Progress) -> dict[str, dict[str, float]]:
    """word -> its likely translations, for words that are linked. Raises DataError without text."""
    lexicon = learn(
        Lines(most=len(ours.lines), source=ours.lines, target=theirs.lines),
        source_vocab=max(len(ours.words), 1),
        target_vocab=max(len(theirs.words), 1),
        width=_WIDTH,
        progress=progress,
    )
    table = {}
    for word, ids, chances in zip(
        ours.words, lexicon.candidates_VN.tolist(), lexicon.probability_VN.tolist(), strict=True
    ):
        likely = {theirs.words[i]: p for i, p in zip(ids, chances, strict=True) if p >= _POSSIBLE}
        if word not in ours.unlinked:
            table[word] = {other: p for other, p in likely.items() if other not in theirs.unlinked}
    return table


def _partners(
    ours: Sequence[str], theirs: Sequence[str], table: Mapping[str, dict[str, float]]
) -> dict[int, tuple[int, float]]:
    """The likeliest partner of each word, the nearest of equal ones, and its probability."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(theirs):
        places.setdefault(word, []).append(place)
    partners = {}
    for number, word in enumerate(ours):
        likely = [(p, other) for other, p in table.get(word, {}).items() if other in places]
        if likely:
            p, other = max(likely)
            expected = number * len(theirs) / len(ours)
            partners[number] = min(places[other], key=lambda place: abs(place - expected)), p
    return partners
