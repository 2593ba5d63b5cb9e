"""Translators that need no model: what they do with a line is plain to see, and so is its alignment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from dragoman.text.guidance import Context, Match
from dragoman.translation.memory.store import MemoryGuide, TranslationMemory
from dragoman.translation.search.alignment import Alignment
from dragoman.translation.search.options import AttentionOf, Decoding
from dragoman.translation.translation import Translation

WORD = re.compile(r"\S+")
Change = Callable[[str], str]


def same(word: str) -> str:
    return word


@dataclass
class _Tokenizer:
    placeholders: tuple[tuple[int, ...], ...] = ()


@dataclass
class Pretend:
    """Changes each word, and may turn their order around. Counts the lines that it was asked for."""

    change: Change = same
    backwards: bool = False
    pieces: int = 0  # how many reserved pieces the vocabulary has
    links: bool = True
    source_language: str = "en"
    target_language: str = "de"
    asked: list[str] = field(default_factory=list)
    memory: MemoryGuide | None = None
    reads: tuple[str, ...] = ()

    @property
    def aligning(self) -> AttentionOf | None:
        return AttentionOf(1) if self.links else None

    @property
    def tokenizer(self) -> _Tokenizer:
        ids = tuple(range(4, 4 + self.pieces))
        return _Tokenizer((ids, ids) if ids else ())

    def pair(self, decoding: Decoding | None = None) -> tuple[str, str]:
        how = decoding or Decoding()
        return how.source or self.source_language, how.to or self.target_language

    def translate(
        self, lines: Iterable[str], decoding: Decoding | None = None, *, context: object = None
    ) -> list[Translation]:
        lines = list(lines)
        guided = self.memory.guide(lines) if self.memory else [None] * len(lines)
        return [
            self._one(line) if one is None or one.match is None else self._remembered(line, one.match)
            for line, one in zip(lines, guided, strict=True)
        ]

    def _remembered(self, line: str, match: Match) -> Translation:
        """What the memory has, aligned word by word."""
        if match.score < 100:
            return replace(self._one(line), match=match)
        source, target = (
            tuple(found.span() for found in WORD.finditer(side)) for side in (line, match.target)
        )
        links = tuple((n, n) for n in range(min(len(source), len(target)))) if self.links else ()
        aligned = Alignment(line, match.target, source, target, links)
        return Translation(line, match.target, 0.0, (), (), False, alignment=aligned, match=match)

    def _one(self, line: str) -> Translation:
        self.asked.append(line)
        source = [found.span() for found in WORD.finditer(line)]
        # The space between words stays where it is.
        edges = [0, *(place for span in source for place in span), len(line)]
        spaces = [line[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
        order = list(range(len(source)))[:: -1 if self.backwards else 1]
        text, target = spaces[0], []
        for number, space in zip(order, spaces[1:], strict=True):
            word = self.change(line[slice(*source[number])])
            target.append((len(text), len(text) + len(word)))
            text += word + space
        links = tuple((number, place) for place, number in enumerate(order)) if self.links else ()
        return Translation(
            source=line,
            text=text,
            score=0.0,
            tokens=(),
            token_logp=(),
            truncated=False,
            alignment=Alignment(line, text, tuple(source), tuple(target), links),
        )


@dataclass
class Reading(Pretend):
    """A translator that reads context, and keeps it."""

    reads: tuple[str, ...] = ("context",)
    read: list[tuple[str, str]] = field(default_factory=list)

    def translate(
        self, lines: Iterable[str], decoding: Decoding | None = None, *, context: object = None
    ) -> list[Translation]:
        lines = list(lines)
        given = cast("list[Context | None]", context or [None] * len(lines))
        self.read += [(line, one.source if one else "") for line, one in zip(lines, given, strict=True)]
        return super().translate(lines, decoding)


def remembering(memory: TranslationMemory, **options: Any) -> Pretend:
    """A translator with a memory, which writes capitals."""
    return Pretend(str.upper, memory=MemoryGuide(memory), **options)
