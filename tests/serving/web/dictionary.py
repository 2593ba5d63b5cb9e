"""A model that translates word by word from a dictionary, so that tests know what it says and how surely.

Each word of the source has a few translations with probabilities. What is forced may be anything; the words
after it are those of the source words at their places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from dragoman import Translator
from dragoman.serving.service.limits import Limits
from dragoman.serving.service.memories import Memories
from dragoman.serving.service.models import ServedModel
from dragoman.serving.service.service import Service
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.alignment import Aligning
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request
from dragoman.translation.search.options import AttentionOf, Beam
from dragoman.translation.search.rules import Prefix

WORDS: Mapping[str, Mapping[str, float]] = {
    "A": {"Ein": 0.8, "Eine": 0.15},
    "dog": {"Hund": 0.9, "Dackel": 0.06},
    "cat": {"Katze": 0.45, "Mieze": 0.3, "Kater": 0.2},
    "runs": {"rennt": 0.6, "läuft": 0.35},
    "sleeps": {"schläft": 0.1, "schlummert": 0.09, "döst": 0.08},
    "fast": {"schnell": 0.7, "flink": 0.2},
    ".": {".": 0.95, "!": 0.02},
}
_STRANGE = 1e-3  # probability of a word that is forced


class Dictionary:
    """An `Engine` that looks words up."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._end = tokenizer.end_id
        self._table: dict[int, dict[int, float]] = {}
        for word, targets in WORDS.items():
            source = _last(tokenizer.encode_source(["A" + _spaced(word)]))
            self._table[source] = {
                _last(tokenizer.encode_target(["Ein" + _spaced(one)])): p for one, p in targets.items()
            }

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in enumerate(requests):
            if not request.source:
                yield number, [NOTHING]
                continue
            found = list(self._hypotheses(request))
            found.sort(key=lambda one: -one.score)
            yield number, list(islice(found, request.how.n_best))

    def _hypotheses(self, request: Request) -> Iterator[Hypothesis]:
        begun = next((rule.tokens for rule in request.rules if isinstance(rule, Prefix)), ())
        longest = max(request.max_tokens, len(begun) + 1)
        paths: list[tuple[tuple[int, ...], tuple[float, ...]]] = [((), ())]
        for place in range(min(max(len(request.source), len(begun)), longest)):
            known = self._table.get(request.source[place], {}) if place < len(request.source) else {}
            if place < len(begun):
                known = {begun[place]: known.get(begun[place], _STRANGE)}
            known = known or {request.source[place]: 0.5}
            paths = [
                ((*path, token), (*logps, math.log(p))) for path, logps in paths for token, p in known.items()
            ]
        for tokens, logps in paths:
            attention = self._attention(request, len(tokens)) if request.attention else ()
            logp = sum(logps)
            truncated = len(tokens) >= request.max_tokens
            yield Hypothesis(tokens, logp, logp, (*logps, 0.0), truncated, attention)

    def _attention(self, request: Request, length: int) -> tuple[tuple[float, ...], ...]:
        width = len(request.source) + 1
        return tuple(
            tuple(float(i == min(row, width - 1)) for i in range(width)) for row in range(length + 1)
        )

    def score(
        self,
        pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        raise NotImplementedError


def _spaced(word: str) -> str:
    """A word after another one: punctuation follows without a space."""
    return word if word in ".!" else f" {word}"


def _last(encoded: Sequence[Sequence[int]]) -> int:
    return encoded[0][-1]


def translator() -> Translator:
    """A translator from English to German."""
    targets = [one for each in WORDS.values() for one in each]
    pairs = [("".join(map(_spaced, WORDS)), "".join(map(_spaced, targets)))] * 2
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(kind="words", vocab_size=27))
    return Translator(
        tokenizer,
        Dictionary(tokenizer),
        source_language="en",
        target_language="de",
        aligning=Aligning(AttentionOf(1)),
    )


def service_of(*, memory: Path | None = None, limits: Limits | None = None) -> Service:
    """A service with the dictionary, and perhaps a memory."""
    memories = Memories.open([memory], [("en", "de")]) if memory else None
    limits = limits or Limits(seconds=600)  # a test does not depend on the load
    return Service([ServedModel("dictionary", translator())], limits, memories=memories)
