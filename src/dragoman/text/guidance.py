"""Guidance: terms, a match, context and formality for a line, and how the model reads them with the line.

A note gives the translation of a term (Dinu et al. 2019, "Training Neural Machine Translation to Apply
Terminology Constraints", section 3.1: append), a match the translation of a similar line (Bulté and Tezcan
2019, "Neural Fuzzy Repair"), the context what stands before the line (Tiedemann and Scherrer 2017, "Neural
Machine Translation with Extended Context": 2+1). Formality is how the translation addresses its reader
(Sennrich et al. 2016, "Controlling Politeness in Neural Machine Translation via Side Constraints"). A model
that was trained to read them sees

    The ⟨term⟩ print preview ⟨as⟩ Druckvorschau ⟨end⟩ opens.
    The print preview opens. ⟨match⟩ Die Druckvorschau ist offen.
    It is new. ⟨context⟩ I bought a lamp. ⟨as⟩ Ich habe eine Lampe gekauft.
    ⟨formal⟩ How are you?

The marks are ids of bytes that UTF-8 never uses. Every vocabulary with bytes has them, so no vocabulary
has to grow for them, and no text can contain them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from operator import or_
from typing import Any, NamedTuple, Protocol

from dragoman.text.formality import Formality
from dragoman.text.tokenizers.marks import split_marks
from dragoman.text.tokenizers.tokenizer import Tokenizer

LEAST = 70.0  # likeness of a match in percent; less similar ones seldom help
CONTEXT_TOKENS = 64  # of each side; the last ones, which are next to the line, are read
CONTEXT_CHARACTERS = 64 * CONTEXT_TOKENS  # of each side; those before them are not even cut into tokens


class Marks(NamedTuple):
    """The ids of the marks in the source vocabulary."""

    term: int
    translated: int
    end: int
    match: int
    synthetic: int
    """Before a source that a model made, so that a model can tell such sources from human ones (Caswell et
    al. 2019, "Tagged Back-Translation"). Only training uses it."""
    context: int
    formal: int
    informal: int


class Context(NamedTuple):
    """What stands before a line, its nearest sentence last, and, where it is known, the translation of it."""

    source: str
    target: str = ""


@dataclass(frozen=True)
class Note:
    """line[start:end] is a term and `text` its translation, inflected as the sentence needs it.

    The model does not see the words of a hidden one, so it has to use the translation (Ailem et al. 2021,
    "Encouraging Neural Machine Translation to Satisfy Terminology Constraints", section 3.1).
    """

    start: int
    end: int
    text: str
    hidden: bool = False


class SourcePhrase(NamedTuple):
    """line[start:end] is a term of which the translation has one of the forms, in place of its own word."""

    start: int
    end: int
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Match:
    """A line of a translation memory. `score` says how alike it is, in percent; 100 is the line itself."""

    source: str
    target: str
    score: float

    @property
    def exact(self) -> bool:
        """Whether it is the line itself, so that its translation is taken over."""
        return self.score >= 100

    def to_table(self) -> dict[str, Any]:
        """The match as plain values, for JSON."""
        return {"score": round(self.score, 1), "source": self.source, "target": self.target}

    @property
    def keeps_placeholders(self) -> bool:
        """Whether both sides have the same placeholders."""
        from dragoman.text.checks.placeholders import find_placeholders

        source, target = (Counter(p.text for p in find_placeholders(t)) for t in (self.source, self.target))
        return source == target


@dataclass(frozen=True)
class Guidance:
    """Notes, phrases, a match, context and formality for one line."""

    notes: tuple[Note, ...] = ()  # apart from each other and in order; the model reads them
    phrases: tuple[SourcePhrase, ...] = ()  # the search puts in one form of each
    match: Match | None = None  # found in a memory; with a score of 100 it is the translation
    reads_match: bool = False  # whether the model reads the match
    terms: tuple[tuple[str, ...], ...] = ()  # the translations of each term, as often as it is in the line
    context: Context | None = None
    formality: Formality | None = None

    @property
    def known(self) -> Match | None:
        """The match that is the translation, if the memory has the line."""
        return self.match if self.match is not None and self.match.exact else None


class Guide(Protocol):
    """A source of guidance: a list of terms, a translation memory."""

    def guide(self, lines: Sequence[str]) -> Sequence[Guidance | None]:
        """Return the guidance for each line, or None. Lines have no spaces around them."""
        ...


class Reading(NamedTuple):
    """The tokens that the model reads for a line."""

    tokens: Sequence[int]
    own: Sequence[int]  # the places in `tokens` of the tokens of the line itself, in order


def combined(given: Iterable[Guidance | None]) -> Guidance | None:
    """Return one guidance for several of a line: notes and phrases of all, and the best match.

    Items that several have count once. A note that overlaps one of an earlier guidance is left out.
    """
    some = [one for one in given if one is not None]
    if len(some) < 2:
        return some[0] if some else None
    notes: list[Note] = []
    for note in (note for one in some for note in one.notes):
        if all(note.end <= one.start or one.end <= note.start for one in notes):
            notes.append(note)
    matched = max(some, key=lambda one: -1.0 if one.match is None else one.match.score)
    return Guidance(
        notes=tuple(sorted(notes, key=lambda note: note.start)),
        phrases=tuple(dict.fromkeys(phrase for one in some for phrase in one.phrases)),
        match=matched.match,
        reads_match=matched.reads_match,
        terms=tuple(reduce(or_, (Counter(one.terms) for one in some)).elements()),
    )


def marks_of(tokenizer: Tokenizer) -> Marks | None:
    """Return the marks, or None for a vocabulary without bytes."""
    spare = tokenizer.vocabularies[0].spare
    return Marks(*spare[: len(Marks._fields)]) if len(spare) >= len(Marks._fields) else None


def reading(
    tokenizer: Tokenizer, line: str, tokens: Sequence[int], guidance: Guidance, *, begin: int = 0
) -> Reading:
    """Return the tokens that the model reads for a line with these tokens, and its guidance.

    `begin` is where the text that the notes are about begins: behind the token of a language, for instance.
    The tokens of the line are the same with and without guidance. Raises ValueError for a vocabulary without
    marks, if there is something to read.
    """
    match = guidance.match.target if guidance.match is not None and guidance.reads_match else ""
    if not (tokens and (guidance.notes or match or guidance.context or guidance.formality)):
        return Reading(tokens, range(len(tokens)))
    if (marks := marks_of(tokenizer)) is None:
        raise ValueError("this vocabulary has no marks for guidance")
    spans = tokenizer.source_spans(line) if guidance.notes else ()
    before: dict[int, list[int]] = {}  # the ids before a token of the line, by its place
    if guidance.formality is not None:
        languages = set(tokenizer.vocabularies[0].marks.values())
        before[len([*takewhile(languages.__contains__, tokens)])] = [getattr(marks, guidance.formality)]
    hidden: set[int] = set()  # places of tokens that are left out
    for note in guidance.notes:
        low, high = note.start + begin, note.end + begin
        inside = [place for place, (start, end) in enumerate(spans) if start < high and end > low]
        if not inside:
            continue
        before.setdefault(inside[0], []).append(marks.term)
        if note.hidden:
            hidden.update(inside)
        written = [marks.translated, *spelled(tokenizer, note.text), marks.end]
        # A note that ends here comes before one that begins here.
        before.setdefault(inside[-1] + 1, [])[:0] = written
    read: list[int] = []
    own: list[int] = []
    for place, token in enumerate(tokens):
        read += before.get(place, ())
        if place in hidden:
            own.append(len(read) - 1)  # the mark
            continue
        own.append(len(read))
        read.append(token)
    read += before.get(len(tokens), ())
    if match:
        read += [marks.match, *spelled(tokenizer, match)]
    if guidance.context is not None:
        near = Context(*(side[-CONTEXT_CHARACTERS:] for side in guidance.context))
        _, _, text = split_marks(near.source, tokenizer.vocabularies[0].marks)
        (source,) = tokenizer.encode_source([text])
        read += [marks.context, *source[-CONTEXT_TOKENS:]]
        if near.target:
            read += [marks.translated, *spelled(tokenizer, near.target)[-CONTEXT_TOKENS:]]
    return Reading(read, own)


def spelled(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids by which the source vocabulary spells a text of the target side, never lower-cased."""
    return tokenizer.vocabularies[0].encode([text])[0]
