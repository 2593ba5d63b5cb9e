"""Models that need no weights: engines of letters, and services of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from dragoman.serving.service.ask import Answer, Ask
from dragoman.serving.service.models import ServedModel
from dragoman.serving.service.service import Service
from dragoman.text.tokenizers.tokenizer import TokenizerConfig
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request
from dragoman.translation.search.watching import look_up
from dragoman.translation.translator import Translator
from tests.translation.letters import LETTERS, Letters


class Shift:
    """An engine that writes the letter `by` places later for each letter. Remembers what it was asked.

    While `gate` is closed it waits, and looks up as engines do.
    """

    def __init__(self, by: int = 1, *, gate: threading.Event | None = None) -> None:
        self.by, self.gate = by, gate
        self.asked: list[str] = []
        self.dropped = 0

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        for number, request in enumerate(requests):
            if not request.source:
                yield number, [NOTHING]
                continue
            self.asked.append("".join(LETTERS[token - 4] for token in request.source))
            self._wait()
            yield number, [self._answer(request.source, n) for n in range(request.how.n_best)]

    def score(self, *_: Any, **__: Any) -> Iterator[tuple[int, Hypothesis]]:
        raise NotImplementedError

    def _wait(self) -> None:
        try:
            while self.gate is not None and not self.gate.is_set():
                look_up()
                time.sleep(0.005)
        except BaseException:
            self.dropped += 1
            raise

    def _answer(self, source: Sequence[int], more: int) -> Hypothesis:
        tokens = tuple(4 + (token - 4 + self.by + more) % len(LETTERS) for token in source)
        return Hypothesis(tokens, -float(more), -float(more), (-0.5,) * (len(tokens) + 1), False)


class Several(Letters):
    """The tokenizer of a model with several target languages."""

    languages = ("deu", "fr")
    config = TokenizerConfig()

    def address(self, source: str | None, target: str | None) -> str:
        return f">>{target}<< "

    def target_start(self, target: str | None) -> tuple[int, ...]:
        return ()


def served(name: str, engine: Any, source: str = "en", target: str = "de", **options: Any) -> ServedModel:
    """A model of letters."""
    tokenizer = options.pop("tokenizer", Letters())
    translator = Translator(
        cast(Any, tokenizer), engine, source_language=source, target_language=target, **options
    )
    return ServedModel(name, translator, digest=f"sha256:{name}")


async def ask(
    service: Service, *texts: str, seconds: float = 20, client: str = "c", **options: Any
) -> list[Answer]:
    """Translate texts from English to German, if nothing else is said."""
    options = {"source": "en", "target": "de"} | options
    return await service.translate(texts, Ask(**options), client=client, deadline=time.monotonic() + seconds)


async def until(condition: Any, seconds: float = 10) -> None:
    """Wait for a condition."""
    import asyncio

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        await asyncio.sleep(0.005)
