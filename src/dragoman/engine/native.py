"""The native engine: `Engine` in C++, with threads of its own and no PyTorch.

The library translates while Python reads and tokenises. Requests of several callers share its batches.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.base.machine import usable_cores
from dragoman.decoding.engine import NOTHING, Hypothesis, Request, Tokens
from dragoman.decoding.options import AttentionOf, Beam, Sample
from dragoman.decoding.requests import (
    check_ids,
    check_tokens,
    draw_key,
    limit_of,
    never_generated_ids,
    prefix_of,
)
from dragoman.decoding.rules import Banned, MinimumLength, NoRepeatedNgram
from dragoman.engine.library import NORMALIZATIONS, STOPS, TYPES, functions, open_engine
from dragoman.engine.weights import PlacedWeights, map_weights
from dragoman.folder.config import WEIGHTS, read_config
from dragoman.folder.digest import check_digest
from dragoman.models.shapes import Architecture, SSRUConfig, TransformerConfig

_CHUNK = 256  # requests that are queued together
_PATIENCE = 100  # milliseconds between looks at signals
_MOST_ROWS = 1_000_000  # of a sentence, in a batch
_INT = 2**30  # more than any sentence has tokens, and still an int32
_BEAM, _SAMPLE, _SCORE = range(3)


class NativeEngine:
    """An `Engine` that translates on the CPU without PyTorch: Transformers, and those with an SSRU decoder.

    `dtype` is float32, bfloat16 or int8. `threads` translate, each a batch of its own; by default as many as
    the process may use cores. Several Python threads may use one engine.
    """

    def __init__(
        self,
        config: Architecture,
        weights: PlacedWeights,
        *,
        dtype: str = "float32",
        threads: int | None = None,
        where: str = "weights",
    ) -> None:
        """Raises ConfigError for another architecture or type, ModelError for weights that do not fit."""
        if reason := unsupported(config):
            raise ConfigError(f"the native engine: {reason}", hint="use the PyTorch engine")
        if dtype not in TYPES:
            raise ConfigError(f"dtype = {dtype!r}", hint=f"use {', '.join(TYPES)} or auto")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads = {threads}", hint="use at least 1")
        if not config.end_id < min(config.source_vocab, config.target_vocab):
            raise ModelError(
                f"{where}: the end of a sentence has id {config.end_id}, in vocabularies of "
                f"{config.source_vocab} and {config.target_vocab}",
                hint="config.json is damaged: restore it or train again",
            )
        if not isinstance(config, TransformerConfig | SSRUConfig):  # unsupported() has refused it
            raise TypeError(type(config).__name__)
        self.config, self.dtype, self.threads = config, dtype, threads or usable_cores()
        self._weights, self._where = weights, where
        self._lock = threading.Lock()
        self._process = 0
        self._open()

    @classmethod
    def load(cls, folder: Path, *, dtype: str = "auto", threads: int | None = None) -> Self:
        """Load the model in a folder. "auto" is int8 if its weights are, else float32.

        Raises ModelError if a file is missing or damaged, or the weights do not fit.
        """
        config, path = read_config(folder), Path(folder) / WEIGHTS
        weights = map_weights(path)
        if dtype == "auto":
            quantised = any(one.outline.dtype == "int8" for one in weights.weights.values())
            dtype = "int8" if quantised else "float32"
        with _checking(path, config.weights):
            return cls(config.model, weights, dtype=dtype, threads=threads, where=str(path))

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """See `Engine.search`. Draws of `Sample` depend only on the seed and the source.

        Requests are read while earlier ones are translated.
        """
        if lookahead < 1:
            raise ConfigError(f"lookahead = {lookahead}", hint="it must be at least 1")
        return self._run(enumerate(requests), batch_tokens, lookahead)

    def score(
        self,
        pairs: Iterable[tuple[Tokens, Tokens]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        """See `Engine.score`."""
        numbered = ((number, _Pair(*pair, how, attention)) for number, pair in enumerate(pairs))
        for number, hypotheses in self._run(numbered, batch_tokens, 4096):
            yield number, hypotheses[0]

    def _run(
        self, numbered: Iterator[tuple[int, Request | _Pair]], batch_tokens: int, lookahead: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        # Unanswered requests by key, an int32: their number, and the length of the source with its end.
        sources: dict[int, tuple[int, int]] = {}
        with self._session(batch_tokens) as session:
            more = True
            while more or sources:
                room = min(lookahead - len(sources), _CHUNK) if more else 0
                chunk = list(islice(numbered, room))
                more = more and len(chunk) == room
                # The longest first: at the end of a text short sentences are left, and no row runs alone.
                for number, request in sorted(chunk, key=lambda one: -len(one[1].source)):
                    if not request.source and not (isinstance(request, _Pair) and request.target):
                        yield number, [NOTHING]
                        continue
                    key = number % 2**31
                    session.add(key, self._message(request))
                    sources[key] = number, len(request.source) + 1
                session.submit()
                wait = bool(sources) and (not more or len(sources) >= lookahead)
                yield from session.collect(_PATIENCE if wait else 0, sources)

    def _message(self, request: Request | _Pair) -> _Message:
        config = self.config
        check_ids("source", [request.source], config.source_vocab)
        if isinstance(request, _Pair):
            check_ids("target", [request.target], config.target_vocab)
            return _score_message(config, request)
        return _search_message(config, request)

    @contextmanager
    def _session(self, batch_tokens: int) -> Iterator[_Session]:
        session = _Session(self._handle(), batch_tokens, self._where)
        try:
            yield session
        finally:
            session.end()

    def _open(self) -> None:
        handle = open_engine(self.config, self._weights, self.dtype, self.threads, self._where)
        self._opened, self._process = handle, os.getpid()
        close = functions().dragoman_close
        weakref.finalize(self, _close, close, handle, self._process)

    def _handle(self) -> int:
        """The engine of this process. Threads do not survive a fork, so a child opens its own."""
        with self._lock:
            if self._process != os.getpid():
                self._open()
            return self._opened


def unsupported(config: Architecture) -> str | None:
    """Return why the native engine cannot run a model of this shape, or None if it can."""
    if isinstance(config, TransformerConfig | SSRUConfig):
        return None
    return f"it has no {config.architecture} models"


class _Pair:
    """A translation to score."""

    def __init__(self, source: Tokens, target: Tokens, how: Beam, attention: AttentionOf | None) -> None:
        self.source, self.target, self.how, self.attention = source, target, how, attention


class _Message:
    """A request as the library reads it."""

    def __init__(self, numbers: list[int], fractions: Sequence[float]) -> None:
        self.numbers, self.fractions = numbers, fractions


class _Session:
    """One caller's requests and their answers."""

    def __init__(self, engine: int, batch_tokens: int, where: str) -> None:
        self._library, self._where, self._process = functions(), where, os.getpid()
        self._handle = self._library.dragoman_begin(engine, min(batch_tokens, 2**62))
        if not self._handle:
            raise _out_of_memory()
        self._clear()

    def add(self, key: int, message: _Message) -> None:
        """Put a request into the next chunk."""
        self._numbers.append(key)
        self._numbers.extend(message.numbers)
        self._fractions.extend(message.fractions)
        self._count += 1

    def submit(self) -> None:
        """Queue the chunk."""
        if not self._count:
            return
        self._check_process()
        numbers, fractions = self._numbers.buffer_info()[0], self._fractions.buffer_info()[0]
        if self._library.dragoman_submit(self._handle, self._count, numbers, fractions):
            raise _out_of_memory()
        self._clear()

    def collect(
        self, milliseconds: int, sources: dict[int, tuple[int, int]]
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield the answers so far, and remove them from `sources`. Wait up to that long for the first."""
        self._check_process()
        collected = self._library.dragoman_collect(self._handle, 4 * _CHUNK, milliseconds)
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
                raise _no_probabilities(failed)
            if not count:
                raise _impossible()
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

    def end(self) -> None:
        """Drop what is not answered."""
        if self._process == os.getpid():  # a child of a fork has no threads that could answer
            self._library.dragoman_end(self._handle)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise ConfigError(
                "translation: this process is a fork of the one that began it",
                hint="begin another translation in each process",
            )

    def _clear(self) -> None:
        self._numbers, self._fractions, self._count = array("i"), array("d"), 0


def _search_message(config: TransformerConfig | SSRUConfig, request: Request) -> _Message:
    """Raises ConfigError for options and rules that do not fit the model."""
    how, prefix, limit = request.how, prefix_of(request), limit_of(request)
    vocab = config.target_vocab
    if how.rows > _MOST_ROWS:
        raise ConfigError(
            f"{how.rows:,} translations of a sentence at once", hint=f"at most {_MOST_ROWS:,} are possible"
        )
    check_tokens("forced prefix", prefix, vocab)
    minimum = 0
    ngrams: list[int] = []
    banned: list[int] = []
    for rule in request.rules:
        match rule:
            case MinimumLength(tokens):
                minimum = max(minimum, tokens)
            case NoRepeatedNgram(n):
                ngrams.append(min(n, _INT))
            case Banned(tokens=ids):
                check_tokens("banned tokens", ids, vocab)
                banned += ids
    shortlist: list[int] | None = None
    if request.shortlist is not None:
        check_tokens("shortlist", request.shortlist, vocab)
        shortlist = sorted({*request.shortlist, *prefix, config.end_id})
    layer, head = _attention(config, request.attention)
    match how:
        case Beam():
            kind, size, stop = _BEAM, how.size, STOPS.index(how.stop)
            normalization, top_k = NORMALIZATIONS.index(how.normalization), 0
            fractions = [how.length_penalty, 1.0, 1.0]
        case Sample():
            kind, size, stop, normalization, top_k = _SAMPLE, 1, 0, 0, min(how.top_k, vocab)
            fractions = [0.0, how.temperature, how.top_p, *_uniforms(how, request.source, limit)]
    return _message(
        config, kind, size, how.n_best, stop, normalization, top_k, how.renormalize, min(limit, _INT),
        min(minimum, _INT), layer, head, bool(request.rules), source=request.source, prefix=prefix,
        ngrams=ngrams, banned=sorted(set(banned)), never=never_generated_ids(config, how),
        shortlist=shortlist, fractions=fractions,
    )  # fmt: skip


def _score_message(config: TransformerConfig | SSRUConfig, pair: _Pair) -> _Message:
    how = pair.how
    layer, head = _attention(config, pair.attention)
    return _message(
        config, _SCORE, 1, 1, 0, NORMALIZATIONS.index(how.normalization), 0, how.renormalize,
        len(pair.target), 0, layer, head, False, source=pair.source, prefix=pair.target, ngrams=(), banned=(),
        never=never_generated_ids(config, how), shortlist=None, fractions=(how.length_penalty, 1.0, 1.0),
    )  # fmt: skip


def _message(
    config: TransformerConfig | SSRUConfig,
    *head: int,
    source: Tokens,
    prefix: Tokens,
    ngrams: Sequence[int],
    banned: Sequence[int],
    never: Sequence[int],
    shortlist: Sequence[int] | None,
    fractions: Sequence[float],
) -> _Message:
    """Lay out `Head` of cpp/api.cpp, without the number, and its lists."""
    lists = ([*source, config.end_id], prefix, ngrams, banned, never)
    numbers = [*head, *map(len, lists), -1 if shortlist is None else len(shortlist)]
    for one in lists:
        numbers += one
    numbers += shortlist or ()
    return _Message(numbers, fractions)


def _uniforms(how: Sample, source: Tokens, limit: int) -> list[float]:
    """The random numbers of each draw, one for each token and the end: those of `sampling.uniforms`."""
    import numpy as np

    key = draw_key(source)
    draws = (np.random.default_rng((how.seed, key, sample)).random(limit + 1) for sample in range(how.n_best))
    return [number for draw in draws for number in draw.tolist()]


def _attention(config: TransformerConfig | SSRUConfig, asked: AttentionOf | None) -> tuple[int, int]:
    """Layer and head of the cross-attention to return, counted from 0; -1 for neither and for the mean."""
    if asked is None:
        return -1, -1
    asked.check(config.decoder_layers, config.heads)
    return asked.layer - 1, -1 if asked.head is None else asked.head - 1


@contextmanager
def _checking(path: Path, digest: str | None) -> Iterator[None]:
    """Check the digest of a file in a thread of its own, while the block runs. Raises ModelError."""
    errors: list[ModelError] = []

    def check() -> None:
        try:
            check_digest(path, digest)
        except ModelError as error:
            errors.append(error)

    thread = threading.Thread(target=check)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        if errors:
            raise errors[0]


def _close(close: Any, handle: int, process: int) -> None:
    if process == os.getpid():  # threads do not survive a fork, so a child cannot stop them
        close(ctypes.c_void_p(handle))


def _no_probabilities(tokens: int) -> ModelError:
    return ModelError(
        f"search: the model gives no probabilities after {tokens} tokens "
        "(its logits are NaN, infinite, or all -inf)",
        hint="are its weights damaged? Train again, or load another checkpoint",
    )


def _impossible() -> ModelError:
    return ModelError(
        "search: the model gives every translation of a sentence probability 0",
        hint="are its weights damaged, or do the rules forbid what they force?",
    )


def _out_of_memory() -> DragomanError:
    return DragomanError("translation: out of memory", hint="use a smaller beam, or lower batch_tokens")
