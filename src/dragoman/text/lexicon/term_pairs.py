"""Terms and their translations in parallel text, from which a model learns to read notes.

IBM Model 1 (`text/lexicon/lexicon.py`) gives p(target | source) and p(source | target) for words in lower
case. The most frequent words are not linked: articles and prepositions take part in everything. A term is one
word or several that are linked with each other's translations and with nothing else: "print preview" and
"Druckvorschau". Its note has the commonest form of the
translation, not the one of the sentence, so that a model learns to inflect it (Bergmanis and Pinnis 2021,
"Facilitating Terminology Translation with Target Lemma Annotations").
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from dragoman.base.errors import DataError
from dragoman.text.guidance import Note
from dragoman.text.lexicon.lexicon import IdPairs, learn
from dragoman.text.lexicon.stems import stem
from dragoman.text.tokenizers.words import PlacedWord, placed, split

_LONGEST = 3  # words of a term between marks
_LONGEST_TARGET = 6  # words of its translation; a character of Chinese is a word
_SHORTEST = 3  # letters of a term
_MOST = 3  # notes for a line
_JOINED = 0.3  # chance that two neighbours whose translations are neighbours, too, become one note

Pairs = Callable[[], Iterable[tuple[str, str]]]  # to be read several times
Progress = Callable[[str], None]
_PAIRS = 100_000  # lines to learn from
_WORDS = 60_000  # of a side: the most frequent ones
_FREQUENT = 50  # words that are not linked, or a twentieth of all words, if those are fewer
_WIDTH = 16  # translations of a word that are kept
_POSSIBLE = 0.02  # probability of a translation: an inflected word has many
_MUTUAL = 0.02  # probability in one direction times that in the other, if each word is the other's likeliest
_LIKELY = 0.3  # probability of a link in one direction alone


class TermPair(NamedTuple):
    """source[start:end] is translated as target[target_start:target_end], whose commonest form is `form`."""

    start: int
    end: int
    target_start: int
    target_end: int
    form: str


class TermPairs:
    """Finds terms and their translations in pairs of lines."""

    def __init__(self, links: WordLinks, forms: dict[str, str], target_language: str) -> None:
        """`forms` has the commonest form of a translation by its key, see `_terms`."""
        self._links, self._forms, self._target_language = links, forms, target_language

    @classmethod
    def learn(
        cls, pairs: Pairs, *, target_language: str, progress: Progress = lambda text: None
    ) -> TermPairs:
        """Learn links and forms from parallel text, which is read twice."""
        links = WordLinks.learn(pairs(), progress=progress)
        progress("counting the forms of words")
        counts: Counter[tuple[str, str]] = Counter()
        for source, target in pairs():
            counts.update((key, form) for _, key, form in _terms(links, source, target, target_language))
        forms: dict[str, str] = {}
        for (key, form), _ in counts.most_common():
            forms.setdefault(key, form)
        return cls(links, forms, target_language)

    def of(self, source: str, target: str) -> list[TermPair]:
        """Return the terms of a pair in the order of the source."""
        terms = _terms(self._links, source, target, self._target_language)
        return [TermPair(*span, self._forms.get(key, form)) for span, key, form in terms]


def draw_notes(terms: Sequence[TermPair], source: str, target: str, random: Random) -> tuple[Note, ...]:
    """Return notes for some of the terms of a pair, from one to three, in order."""
    joined: list[TermPair] = []
    for one in terms:
        before = joined[-1] if joined else None
        if before is not None and _are_neighbours(before, one, source, target) and random.random() < _JOINED:
            form = before.form + target[before.target_end : one.target_start] + one.form
            joined[-1] = TermPair(before.start, one.end, before.target_start, one.target_end, form)
        else:
            joined.append(one)
    count = min(random.randint(1, _MOST), len(joined))
    return tuple(Note(one.start, one.end, one.form) for one in sorted(random.sample(joined, count)))


def _are_neighbours(before: TermPair, one: TermPair, source: str, target: str) -> bool:
    gap = target[before.target_end : one.target_start]
    return (
        before.target_end <= one.target_start
        and source[before.end : one.start] == " "
        and (gap == " " or (gap == "" and target[one.target_start] >= "\u2e80"))
    )


def _terms(
    links: WordLinks, source: str, target: str, target_language: str
) -> Iterator[tuple[tuple[int, int, int, int], str, str]]:
    """Yield (start, end, start, end) of each term and of its translation, in characters; a key; the form.

    All forms of one word share the key: the source, and the stems of the translation.
    """
    ours, theirs = words_of_line(source), words_of_line(target)
    found = links.of(ours, theirs)
    taken = {link.source for link in found}, {link.target for link in found}
    for group in _groups(found):
        if not any(link.mutual for link in group):
            continue
        inside = {link.source for link in group}, {link.target for link in group}
        (first, last), (begin, end) = ((min(side), max(side)) for side in inside)
        between = {*range(first, last + 1)}, {*range(begin, end + 1)}
        apart = all(taken[side] & between[side] == inside[side] for side in (0, 1))
        if apart and last - first < _LONGEST and end - begin < _LONGEST_TARGET:
            span = ours[first].start, ours[last].end, theirs[begin].start, theirs[end].end
            if _is_one(ours[first : last + 1], source) and _is_one(theirs[begin : end + 1], target):
                form = target[span[2] : span[3]]
                stemmed = " ".join(stem(word, target_language) for word in form.split())
                yield span, f"{source[span[0] : span[1]].lower()}\n{stemmed}", form


def _is_one(words: Sequence[PlacedWord], line: str) -> bool:
    """Whether the words are long enough, and only a space or a hyphen is between two of them."""
    between = (line[a.end : b.start] for a, b in pairwise(words))
    long = words[-1].end - words[0].start >= _SHORTEST or words[0].text[0] >= "\u2e80"
    return long and all(gap in ("", " ", "-") for gap in between)


def _groups(links: Iterable[WordLink]) -> list[list[WordLink]]:
    """The links in groups that share no word, in the order of the source."""
    groups: list[list[WordLink]] = []
    for link in links:
        sharing = [
            group
            for group in groups
            if any(link.source == one.source or link.target == one.target for one in group)
        ]
        merged = [one for group in sharing for one in group] + [link]
        groups = [group for group in groups if group not in sharing] + [merged]
    return sorted(groups, key=lambda group: min(link.source for link in group))


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
        lines = IdPairs(most=_PAIRS)
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
        IdPairs(most=len(ours.lines), source=ours.lines, target=theirs.lines),
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
