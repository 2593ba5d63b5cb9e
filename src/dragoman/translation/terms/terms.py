"""Lists of terms: the words that a translation must use for a thing.

    terms = TermList.read("terms.csv", "en", "de")
    terms.find("Open the print preview.")   # [(line[9:22], Term("print preview", ("Druckvorschau",)))]
    translator.using(terms=terms)

A model reads a term with the line (`soft`), so that it can inflect it, or the search puts it in as it is
written (`hard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dragoman.base.errors import DataError
from dragoman.text.blank import is_blank
from dragoman.text.guidance import Guidance, Note
from dragoman.text.lexicon.stems import stem
from dragoman.text.tokenizers.words import split
from dragoman.translation.memory.similarity import characters_apart
from dragoman.translation.terms import csv as terms_csv
from dragoman.translation.terms import tbx as terms_tbx
from dragoman.translation.terms.lookup import ALIKE, Lookup

TermsMode = Literal["soft", "hard"]


class Term(NamedTuple):
    """A term and its translations, the preferred one first; any of them may be used."""

    source: str
    targets: tuple[str, ...]


class FoundTerm(NamedTuple):
    """line[start:end] is a term."""

    start: int
    end: int
    term: Term


class TermList:
    """A list of terms from one language to another."""

    def __init__(self, terms: Iterable[Term], source_language: str, target_language: str) -> None:
        """Terms that are listed twice have the translations of both.

        Raises DataError for an empty term or translation, and for a term without translations.
        """
        targets: dict[str, dict[str, None]] = {}
        for source, given in terms:
            if is_blank(source) or not given or any(map(is_blank, given)):
                raise DataError(
                    f"term {source!r}: the term, or one of its translations, is empty, or it has no "
                    "translation",
                    hint="fill it in or leave it out",
                )
            own = targets.setdefault(" ".join(source.split()), {})
            own |= dict.fromkeys(" ".join(one.split()) for one in given)
        self.terms = tuple(Term(source, tuple(given)) for source, given in targets.items())
        self.source_language, self.target_language = source_language, target_language
        self._lookup = Lookup([term.source for term in self.terms], source_language)

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> TermList:
        """Read a list: TBX, or CSV with commas, semicolons or tabs. The content says which of them it is.

        Raises DataError naming file and line for content that cannot be used.
        """
        data = terms_csv.content_of(path)
        reader = terms_tbx if terms_tbx.is_tbx(data) else terms_csv
        pairs = reader.read(data, str(path), source_language, target_language)
        terms = cls((Term(source, (target,)) for source, target in pairs), source_language, target_language)
        if not terms.terms:
            raise DataError(f"{path}: no terms", hint="write one a line: source,target")
        return terms

    def __len__(self) -> int:
        return len(self.terms)

    def __reduce__(self) -> tuple[Any, ...]:
        return TermList, (self.terms, self.source_language, self.target_language)

    def __repr__(self) -> str:
        return f"<TermList {len(self)} terms, {self.source_language} to {self.target_language}>"

    def find(self, line: str) -> list[FoundTerm]:
        """Return the terms of a line in order, apart from each other. The longest wins."""
        return [FoundTerm(start, end, self.terms[number]) for start, end, number in self._lookup.find(line)]


@dataclass(frozen=True)
class TermGuide:
    """Guidance by a list of terms: notes that the model reads, phrases that the search puts in, or both."""

    terms: TermList
    mode: TermsMode
    reads: bool  # whether the model reads notes; a soft guide needs that

    def guide(self, lines: Sequence[str]) -> list[Guidance | None]:
        """Return the guidance for each line, None for a line without terms."""
        return [self._of(line, self.terms.find(line)) for line in lines]

    def _of(self, line: str, found: Sequence[FoundTerm]) -> Guidance | None:
        if not found:
            return None
        written = [_as_written(line, one) for one in found]
        terms = tuple(dict.fromkeys(one.term.targets for one in found))
        notes, phrases = tuple[Note, ...](), tuple[tuple[str, ...], ...]()
        if self.reads:  # also faster: the model expects the phrases that the search puts in
            pairs = zip(found, written, strict=True)
            notes = tuple(Note(one.start, one.end, texts[0]) for one, texts in pairs)
        if self.mode == "hard":
            # Each also with the capital that it has where a sentence begins.
            both = ([*each, *(text[:1].upper() + text[1:] for text in each)] for each in written)
            phrases = tuple(dict.fromkeys(tuple(dict.fromkeys(forms)) for forms in both))
        return Guidance(notes=notes, phrases=phrases, terms=terms)


def unused_terms(text: str, terms: Iterable[Sequence[str]], language: str) -> tuple[str, ...]:
    """Return the first translation of each term that a text does not translate, inflected or not.

    Words are compared by their stems (`text/lexicon/stems.py`), so a part of a compound does not count.
    """
    there = _comparable(text, language)
    return tuple(
        targets[0] for targets in terms if not any(_comparable(one, language) in there for one in targets)
    )


def _comparable(text: str, language: str) -> str:
    """The stems of a text, with line feeds between and around them."""
    words = (word.strip(" ") for word in characters_apart(split(text.translate(ALIKE))) if word != " ")
    return "\n".join(["", *(stem(word, language) for word in words), ""])


def _as_written(line: str, found: FoundTerm) -> tuple[str, ...]:
    """The translations of a term as the line asks for them: in capitals if it has a term in capitals."""
    source, targets = found.term
    written = line[found.start : found.end]
    shouted = len(written) > 1 and written.isupper() and not source.isupper()
    return tuple(target.upper() for target in targets) if shouted else targets
