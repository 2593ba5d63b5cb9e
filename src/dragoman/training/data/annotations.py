"""Guidance that a model learns to read with a line: notes on terms, a match, context and formality.

A corpus on disk keeps the terms of each pair (`notes`), the most similar other pair (`matches`) and what
stands before it (`context.text`). Every epoch annotates a share of the pairs with some of them, as a function
of seed, epoch and row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from dragoman.text.formality import formality_of
from dragoman.text.guidance import Context, Guidance, Match, Note
from dragoman.text.lexicon.similar import similar
from dragoman.text.lexicon.term_pairs import TermPair, TermPairs, draw_notes
from dragoman.training.data.ragged import Ragged, writing
from dragoman.training.options import Annotating
from dragoman.translation.memory.similarity import likeness

_LEAST, _MOST = 50.0, 99.9  # likeness of a match in percent
_HIDDEN = 0.5  # share of the notes; a model that always sees the term hardly learns to read its translation
_NOTES, _MATCHES = "notes", "matches"
CONTEXT = "context.text"  # of each pair: the source's, a line feed, and the target's


def annotate(folder: Path, how: Annotating, *, progress: Callable[[str], None] = lambda text: None) -> None:
    """Write the terms and the matches of the pairs whose text is in `folder`."""
    source, target = Ragged(folder / "source.text", "uint8"), Ragged(folder / "target.text", "uint8")
    if how.terms:

        def pairs() -> Iterator[tuple[str, str]]:
            return zip(_lines(source), _lines(target), strict=True)

        terms = TermPairs.learn(pairs, target_language=how.target_language, progress=progress)
        progress("looking for terms")
        with writing(folder / _NOTES, "uint8") as add:
            for pair in pairs():
                found = terms.of(*pair)
                add(json.dumps(found, ensure_ascii=False).encode() if found else b"")
    if how.matches:
        progress("looking for similar lines")
        with writing(folder / _MATCHES, "uint32") as add:
            for match in similar(_lines(source), likeness=likeness, least=_LEAST):
                add([] if match is None else [match.number, round(match.score)])


class Annotations:
    """The annotations of a corpus, epoch by epoch."""

    def __init__(self, folder: Path, how: Annotating) -> None:
        self._how = how
        self._source = Ragged(folder / "source.text", "uint8")
        self._target = Ragged(folder / "target.text", "uint8")
        self._notes = Ragged(folder / _NOTES, "uint8") if how.terms else None
        self._matches = Ragged(folder / _MATCHES, "uint32") if how.matches else None
        self._contexts = Ragged(folder / CONTEXT, "uint8") if how.context else None

    def of(self, row: int, epoch: int, *, seed: int) -> Guidance | None:
        """The guidance for a pair in an epoch, None for a pair that is read as it is."""
        random = Random(f"{seed} {epoch} {row} annotations")
        noted, matched = random.random() < self._how.terms, random.random() < self._how.matches
        notes = self._drawn(row, random) if noted else ()
        match = self._match(row) if matched else None
        context = self._context(row) if random.random() < self._how.context else None
        formality = None
        if random.random() < self._how.formality:
            formality = formality_of(self._target.text(row), self._how.target_language)
        if not (notes or match or context or formality):
            return None
        return Guidance(notes=notes, match=match, reads_match=True, context=context, formality=formality)

    def _context(self, row: int) -> Context | None:
        source, _, target = ("\n" if self._contexts is None else self._contexts.text(row)).partition("\n")
        return Context(source, target if self._how.context_target else "") if source else None

    def _drawn(self, row: int, random: Random) -> tuple[Note, ...]:
        if self._notes is None or not len(self._notes[row]):
            return ()
        terms = [TermPair(*one) for one in json.loads(self._notes[row].tobytes())]
        drawn = draw_notes(terms, self._source.text(row), self._target.text(row), random)
        return tuple(replace(note, hidden=random.random() < _HIDDEN) for note in drawn)

    def _match(self, row: int) -> Match | None:
        if self._matches is None or not len(self._matches[row]):
            return None
        other, score = self._matches[row].tolist()
        return Match(self._source.text(other), self._target.text(other), min(score, _MOST))


def moved(guidance: Guidance, changes: Sequence[tuple[int, int, str]]) -> Guidance:
    """The guidance for a line in which each (start, end, other text) takes the place of line[start:end].

    Notes on what changes are left out.
    """
    notes = []
    for note in guidance.notes:
        if all(end <= note.start or start >= note.end for start, end, _ in changes):
            by = sum(len(other) - (end - start) for start, end, other in changes if end <= note.start)
            notes.append(replace(note, start=note.start + by, end=note.end + by))
    return replace(guidance, notes=tuple(notes))


def _lines(text: Ragged) -> Iterator[str]:
    return (text.text(row) for row in range(len(text)))
