"""Translators without a model, for files that a model would take too long for."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dragoman.translation.search.alignment import Alignment
from dragoman.translation.search.options import AttentionOf, Decoding
from dragoman.translation.translation import Translation

WORD = re.compile(r"\S+")
SIGNS = (
    "<b>", "</i>", "<", "&", "&amp;", '"', "'", "\\", "]]>", "{", "}", "{0}", "%s", "%", "*", "`", "|", "#",
    "- ", "_", "[x](y)", "\n", "\n\n", "\t", "=", ":", "-->", "1.", "<!--", "$", "~~", "..", "@", "!", ",",
    ";", "=cmd",
)  # fmt: skip


@dataclass
class _Tokenizer:
    placeholders: tuple[tuple[int, ...], ...] = ()


@dataclass
class Plain:
    """Turns the letters of each word around. Everything else stays."""

    source_language: str = "en"
    target_language: str = "de"
    memory: None = None
    aligning: AttentionOf | None = field(default_factory=lambda: AttentionOf(1))
    tokenizer: _Tokenizer = field(default_factory=_Tokenizer)

    def translate(self, lines: Iterable[str], decoding: Decoding | None = None) -> list[Translation]:
        return [self.one(line) for line in lines]

    def change(self, word: str) -> str:
        return re.sub(r"[^\W\d_]+", lambda found: found[0][::-1], word)

    def one(self, line: str) -> Translation:
        source = [found.span() for found in WORD.finditer(line)]
        target, text, before = list[tuple[int, int]](), "", 0
        for start, end in source:
            word = self.change(line[start:end])
            text += line[before:start]
            target.append((len(text), len(text) + len(word)))
            text, before = text + word, end
        text += line[before:]
        links = tuple((number, number) for number in range(len(source)))
        alignment = Alignment(line, text, tuple(source), tuple(target), links) if self.aligning else None
        return Translation(line, text, 0.0, (), (), False, alignment=alignment)


@dataclass
class Hostile(Plain):
    """Drops, doubles and changes words, and writes signs that formats use."""

    seed: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        ids = tuple(range(4, 4 + self.seed % 3))  # pieces that stand for placeholders
        self.tokenizer = _Tokenizer((ids, ids) if ids else ())
        if self.seed % 3 == 2:
            self.aligning = None

    def change(self, word: str) -> str:
        how = self.chance.randrange(6)
        sign = self.chance.choice(SIGNS)
        return ("", word, word + word, sign, word + sign, super().change(word))[how]


@dataclass
class Careless(Plain):
    """Writes German-looking words, and drops or bends each thing that is no word."""

    seed: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        if self.seed % 2:
            self.aligning = None

    def change(self, word: str) -> str:
        if word.isalpha() and not word.isupper():
            return super().change(word)
        how = self.chance.randrange(6)
        letters = re.sub(r"[^\w]+", "", word)
        return ("", letters, word[1:], word[:-1], super().change(word), word.replace("%", "% "))[how]


def pretend(kind: str, seed: int, source: str, target: str) -> Any:
    made: dict[str, type[Plain]] = {"plain": Plain, "hostile": Hostile, "careless": Careless}
    if kind == "plain":
        return Plain(source, target)
    return made[kind](source, target, seed=seed)  # type: ignore[call-arg]
