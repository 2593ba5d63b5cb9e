"""One caller's requests and answers in the library."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.translation.native.library import functions
from dragoman.translation.search.engine import Hypothesis, no_probabilities, no_translation

_COLLECTED = 1024  # answers that are taken together
_REFUSED = 2  # by `dragoman_submit`


class Session:
    """One caller's requests and their answers."""

    def __init__(self, engine: int, batch_tokens: int) -> None:
        self._library, self._process = functions(), os.getpid()
        self._handle = self._library.dragoman_begin(engine, min(batch_tokens, 2**62))
        if not self._handle:
            raise _out_of_memory()
        self._clear()

    def add(self, key: int, numbers: Sequence[int], fractions: Sequence[float]) -> None:
        """Put a request into the next chunk, as `message.py` lays it out. The key is an int32."""
        self._numbers.append(key)
        self._numbers.extend(numbers)
        self._fractions.extend(fractions)
        self._count += 1

    def submit(self) -> None:
        """Queue the chunk."""
        if not self._count:
            return
        self._check_process()
        numbers, fractions = self._numbers.buffer_info()[0], self._fractions.buffer_info()[0]
        if failed := self._library.dragoman_submit(self._handle, self._count, numbers, fractions):
            if failed != _REFUSED:
                raise _out_of_memory()
            raise DragomanError("translation: a request that does not fit the model", hint="please report it")
        self._clear()

    def collect(
        self, milliseconds: int, sources: dict[int, tuple[int, int]]
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield the answers so far, and remove them from `sources`. Wait up to that long for the first."""
        self._check_process()
        collected = self._library.dragoman_collect(self._handle, _COLLECTED, milliseconds)
        if not collected:
            raise _out_of_memory()
        try:
            one: Any = collected.contents
            numbers = one.numbers[: one.count_numbers]
            fractions = one.fractions[: one.count_fractions]
            scores = one.scores[: one.count_scores]
            answers = one.answers
        finally:
            self._library.dragoman_free(collected)
        n = f = s = 0
        for _ in range(answers):
            key, failed, count = numbers[n : n + 3]
            n += 3
            if failed == -2:
                raise _out_of_memory()
            if failed >= 0:
                raise no_probabilities(failed)
            if not count:
                raise no_translation()
            number, width = sources.pop(key)
            hypotheses = []
            for _ in range(count):
                length, truncated, weights = numbers[n : n + 3]
                n += 3
                tokens = tuple(numbers[n : n + length])
                n += length
                token_logp = tuple(fractions[f : f + length + 1])
                f += length + 1
                attention = tuple(fractions[f : f + weights])
                f += weights
                rows = tuple(attention[i : i + width] for i in range(0, weights, width))
                hypotheses.append(
                    Hypothesis(tokens, scores[s], scores[s + 1], token_logp, bool(truncated), rows)
                )
                s += 2
            yield number, hypotheses

    def close(self) -> None:
        """Drop unanswered requests."""
        if self._process == os.getpid():  # a child of a fork has no threads that could answer
            self._library.dragoman_end(self._handle)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise ConfigError(
                "translation: this process is a fork of the one that began it",
                hint="start a translation in each process",
            )

    def _clear(self) -> None:
        self._numbers, self._fractions, self._count = array("i"), array("d"), 0


def _out_of_memory() -> DragomanError:
    return DragomanError("translation: out of memory", hint="use a smaller beam, or lower batch_tokens")
