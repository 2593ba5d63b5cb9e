"""A tokenizer of letters, and translators and engines that use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from dragoman import Translator
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import AttentionOf, Beam

LETTERS = "abcdefghij"
LINES = ["abc", "", "j", "hgf abcd abcd", "   ", "cab", "\u200b", "abcabcabcabc", "b"]
BLANK = {1, 4, 6}  # the last of them has no token that Letters knows


class Letters:
    """A tokenizer of letters: everything else has no token, but for "?" which is unknown."""

    pad_id, start_id, end_id, unk_id = 0, 1, 2, 3
    source_size = target_size = 4 + len(LETTERS)

    languages = ()
    placeholders = ()

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        return [[4 + LETTERS.index(c) for c in line if c in LETTERS] for line in lines]

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        return [
            [3 if c == "?" else 4 + LETTERS.index(c) for c in line if c in LETTERS + "?"] for line in lines
        ]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.target_pieces(ids))

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        return ["?" if i == 3 else LETTERS[i - 4] for i in ids]


class Reserving(Letters):
    """The same, with letters of which a translation has each exactly once if the source has it."""

    placeholders = (4, 5, 6), (11, 12, 13)  # a, b, c; h, i, j


def translator_of(model: Any, **generation: Any) -> Translator:
    return Translator(
        cast(Any, Letters()),
        PyTorchEngine(model),
        source_language="en",
        target_language="de",
        generation=Beam(**generation),
    )


class Echo:
    """An engine without a model: it answers a source with itself, the last request first."""

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in reversed(list(enumerate(requests))):
            tokens = tuple(request.source)
            yield number, [Hypothesis(tokens, 0.0, 0.0, (0.0,) * (len(tokens) + 1), False)]

    def score(
        self,
        pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        raise NotImplementedError


class AtOnce(Echo):
    """An engine that answers each request as soon as it has read it."""

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in enumerate(requests):
            tokens = tuple(request.source)
            yield number, [Hypothesis(tokens, 0.0, 0.0, (0.0,) * (len(tokens) + 1), False)]
