"""Lists of terms: the words that a translation must use for a thing.

    terms = TermList.read("terms.csv", "en", "de")
    terms.find("Open the print preview.")   # [(line[9:22], Term("print preview", ("Druckvorschau",)))]
    translator.using(terms=terms)

A model reads a term with the line (`soft`), so that it can inflect it, or the search puts it in as it is
written (`hard`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import closest
from dragoman.text.blank import is_blank
from dragoman.text.guidance import Guidance, Note, SourcePhrase
from dragoman.text.lexicon.stems import stem
from dragoman.text.spans import Span
from dragoman.text.tokenizers.words import placed, split
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

        Raises DataError naming file and line for content that cannot be used, ConfigError for "mul".
        """
        if "mul" in (source_language, target_language):
            hint = "choose them, as with --from and --to, or with TermList.read(FILE, SOURCE, TARGET)"
            raise ConfigError(f"{path}: the model has several languages, and a list needs a pair", hint=hint)
        return TermFile(path).terms(source_language, target_language)

    def __len__(self) -> int:
        return len(self.terms)

    def __reduce__(self) -> tuple[Any, ...]:
        return TermList, (self.terms, self.source_language, self.target_language)

    def __repr__(self) -> str:
        return f"<TermList {len(self)} terms, {self.source_language} to {self.target_language}>"

    def find(self, line: str) -> list[FoundTerm]:
        """Return the terms of a line in order, apart from each other. The longest wins."""
        return [FoundTerm(start, end, self.terms[number]) for start, end, number in self._lookup.find(line)]


class TermFile:
    """A file of terms in two languages or more: TBX, or CSV with commas, semicolons or tabs."""

    def __init__(self, path: str | Path) -> None:
        """Raises DataError naming file and line for a file that cannot be read."""
        self.path, self._data = path, terms_csv.content_of(path)
        self._format = terms_tbx if terms_tbx.is_tbx(self._data) else terms_csv

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that it names; a CSV may name none. Raises DataError as `terms` does."""
        return tuple(self._format.stated_languages(self._data, str(self.path)))

    def names(self, language: str) -> bool:
        """Whether it names a language, perhaps of another country."""
        return closest(language, self.languages) is not None

    def terms(self, source: str, target: str) -> TermList:
        """Return the terms of a pair. Raises DataError if it has none, or cannot be read as TBX or CSV."""
        pairs = self._format.read(self._data, str(self.path), source, target)
        terms = TermList((Term(term, (other,)) for term, other in pairs), source, target)
        if not terms.terms:
            raise DataError(f"{self.path}: no terms", hint="write one a line: source,target")
        return terms


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
        terms = tuple(one.term.targets for one in found)
        pairs = [*zip(found, written, strict=True)]
        notes, phrases = tuple[Note, ...](), tuple[SourcePhrase, ...]()
        if self.reads:  # also for hard terms, which the model then mostly uses by itself
            notes = tuple(Note(one.start, one.end, texts[0]) for one, texts in pairs)
        if self.mode == "hard":
            phrases = tuple(SourcePhrase(one.start, one.end, texts) for one, texts in pairs)
        return Guidance(notes=notes, phrases=phrases, terms=terms)


def unused_terms(text: str, terms: Iterable[Sequence[str]], language: str) -> tuple[str, ...]:
    """Return the first translation of each term that a text has less often than `terms`, inflected or not.

    A term that is listed twice is to be there twice. Words are compared by their stems
    (`text/lexicon/stems.py`), so a part of a compound does not count.
    """
    times = Counter(map(tuple, terms))
    return tuple(each[0] for each, count in times.items() if len(places_of(text, each, language)) < count)


def places_of(text: str, translations: Iterable[str], language: str) -> list[Span]:
    """Return where a text has one of these translations, inflected or not, in order and apart."""
    there, found = _stems(text, language), list[Span]()
    for wanted in (_stems(one, language) for one in translations):
        stems = [one for one, _, _ in wanted]
        for first in range(len(there) - len(stems) + 1):
            words = there[first : first + len(stems)]
            if [one for one, _, _ in words] == stems:
                found.append((words[0][1], words[-1][2]))
    apart: list[Span] = []
    for start, end in sorted(found, key=lambda one: (one[0], -one[1])):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


@lru_cache(maxsize=1024)  # terms, and the text in which they are looked for
def _stems(text: str, language: str) -> list[tuple[str, int, int]]:
    """The stem of each word of a text, and its place."""
    words = placed(characters_apart(split(text.translate(ALIKE))))
    return [(stem(word, language), start, end) for word, start, end in words]


def _as_written(line: str, found: FoundTerm) -> tuple[str, ...]:
    """The translations of a term as the line asks for them: in capitals if it has a term in capitals."""
    source, targets = found.term
    written = line[found.start : found.end]
    shouted = len(written) > 1 and written.isupper() and not source.isupper()
    return tuple(target.upper() for target in targets) if shouted else targets
