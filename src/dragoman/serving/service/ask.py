"""Requests to the service and its answers. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dragoman.text.segmenter import Splitting
from dragoman.translation.search.options import Quality

if TYPE_CHECKING:
    from dragoman.text.formality import Formality
    from dragoman.text.guidance import Match
    from dragoman.translation.translation import Translation

Markup = Literal["text", "html", "xml"]
Want = Literal["tokens", "alignment", "risk"]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """The options of a client for its texts."""

    source: str | None  # a language in any spelling of `Pairs.find`; None, "" or "auto": detect it
    target: str
    model: str | None = None  # the name of a model of the pair; None: the default
    markup: Markup = "text"
    ignored_tags: frozenset[str] = frozenset()  # names of elements whose content is left as it is
    sentences: Splitting = "split"  # into sentences and lines; into lines only; the text is one sentence
    beam: int | None = None
    length_penalty: float | None = None
    n_best: int = 1  # the translation, and its alternatives
    quality: Quality | None = None
    contexts: tuple[str, ...] = ()  # what stands before the texts: one for all, or one for each
    formality: Formality | None = None  # used where the model has learnt it
    prefix: str = ""  # the beginning of the translation; for one text without markup
    adapter: str | None = None  # the name of one that was loaded
    terms: str | None = None  # the name of a list that was loaded
    memory: bool = True  # use the memory of the server, if it has one
    wants: frozenset[Want] = frozenset()

    @property
    def detects(self) -> bool:
        """Whether the source language is to be detected."""
        return (self.source or "auto").strip().lower() in ("", "auto")


@dataclass(frozen=True)
class Route:
    """How a pair is translated: from the source through pivots, if any, to the target."""

    languages: tuple[str, ...]  # source, pivots, target
    models: tuple[str, ...]  # the name of the model of each step

    @property
    def source(self) -> str:
        return self.languages[0]

    @property
    def target(self) -> str:
        return self.languages[-1]

    @property
    def pivots(self) -> tuple[str, ...]:
        """The languages between source and target, for most pairs none."""
        return self.languages[1:-1]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The translation of a text."""

    text: str
    source: str  # language
    confidence: float | None  # of the detection, 0 to 1; None if the source was given
    route: Route
    alternatives: tuple[str, ...] = ()  # fewer than asked if the search found fewer; none with markup
    translation: Translation | None = None
    """Of a text of one sentence, without markup and without a pivot: tokens, alignment, risk."""
    match: Match | None = None  # of the memory, for the whole text; with a score of 100 it was taken over
    cached: bool = False
    lacking: bool = False  # whether it seems to lack most of the text


@dataclass(frozen=True)
class Guess:
    """A language that a text may be in."""

    language: str
    confidence: float  # 0 to 1


@dataclass(frozen=True)
class TranslatedDocument:
    """A file in the format of its source."""

    data: bytes
    characters: int  # of the text that was to be translated
