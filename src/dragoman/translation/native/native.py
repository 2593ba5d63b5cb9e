"""The native engine: `Engine` in C++, with threads of its own and no PyTorch.

The library translates while Python reads and tokenises. Requests of several callers share its batches.
"""

from __future__ import annotations

import copy
import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.machine import usable_cores
from dragoman.models.shapes import Architecture, SSRUConfig, TransformerConfig, experiments
from dragoman.translation.folder.config import WEIGHTS, check_digests, read_config
from dragoman.translation.folder.digest import check_digest
from dragoman.translation.native.library import TYPES, functions, open_adapted, open_engine, open_ensemble
from dragoman.translation.native.message import Pair, message_of
from dragoman.translation.native.session import Session
from dragoman.translation.native.weights import PlacedWeights, map_weights
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request, Tokens
from dragoman.translation.search.options import AttentionOf, Average, Beam
from dragoman.translation.search.watching import look_up

_CHUNK = 256  # requests that are queued together
_PATIENCE = 100  # milliseconds between looks at signals


class NativeEngine:
    """An `Engine` that translates on the CPU without PyTorch: Transformers, and those with an SSRU decoder.

    `dtype` is float32, bfloat16 or int8. `threads` translate, each a batch of its own; by default one for
    each core that the process may use. Several Python threads may use one engine.
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
            raise ConfigError(f"dtype = {dtype!r} cannot be used", hint=f"use {', '.join(TYPES)} or auto")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads = {threads} cannot be used", hint="use at least 1")
        if not isinstance(config, TransformerConfig | SSRUConfig):  # unsupported() has refused it
            raise TypeError(type(config).__name__)
        self.config, self.dtype, self.threads = config, dtype, threads or usable_cores()
        self._weights, self._where = weights, where
        self._members: tuple[Self, ...] = ()  # of an ensemble
        self._start(lambda: open_engine(config, weights, self.dtype, self.threads, where))

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
        check_digests(Path(folder))
        with _checking(path, config.weights):
            return cls(config.model, weights, dtype=dtype, threads=threads, where=str(path))

    def adapted(self, adapter: PlacedWeights, scale: float, *, where: str = "adapter") -> Self:
        """Return an engine for the same model with an adapter, whose `AdapterShape` has this `scale`.

        The matrices that the adapter changes are packed anew; all others are shared with this engine, in the
        same memory. Both engines may translate at the same time, each with threads of its own. Raises
        ModelError if the adapter does not fit.
        """

        def new() -> int:
            with self._lock:
                base = self._handle()
            names = {"where": self._where, "where_adapter": where}
            return open_adapted(base, self._weights, adapter, scale, threads=self.threads, **names)

        engine = copy.copy(self)
        engine._start(new)
        return engine

    @classmethod
    def ensemble(cls, engines: Sequence[Self], average: Average = "log-probabilities") -> Self:
        """Return an engine that translates with the models of several engines together.

        It shares their memory and has threads of its own. Attention comes from the first model. The models
        have the same vocabularies, as `Translator.ensemble` checks.
        """

        def new() -> int:
            handles = []
            for engine in engines:
                with engine._lock:
                    handles.append(engine._handle())
            return open_ensemble(handles, average, threads)

        together, threads = copy.copy(engines[0]), engines[0].threads
        together._members = tuple(engines)  # their weights have to stay in memory
        together._start(new)
        return together

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """See `Engine.search`. Draws of `Sample` depend only on the seed and the source.

        Requests are read while earlier ones are translated.
        """
        if lookahead < 1:
            raise ConfigError(f"lookahead = {lookahead} cannot be used", hint="it must be at least 1")
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
        numbered = ((number, Pair(*pair, how, attention)) for number, pair in enumerate(pairs))
        for number, hypotheses in self._run(numbered, batch_tokens, 4096):
            yield number, hypotheses[0]

    def _run(
        self, numbered: Iterator[tuple[int, Request | Pair]], batch_tokens: int, lookahead: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        # Unanswered requests by key, an int32: their number, and the length of the source with its end.
        sources: dict[int, tuple[int, int]] = {}
        with self._lock:
            session = Session(self._handle(), batch_tokens)
        with closing(session):
            more = True
            while more or sources:
                look_up()
                room = min(lookahead - len(sources), _CHUNK) if more else 0
                chunk = list(islice(numbered, room))
                more = more and len(chunk) == room
                # The longest first: at the end of a text short sentences are left, and no row runs alone.
                for number, request in sorted(chunk, key=lambda one: -len(one[1].source)):
                    if not request.source and not (isinstance(request, Pair) and request.target):
                        yield number, [NOTHING]
                        continue
                    key = number % 2**31
                    session.add(key, *message_of(self.config, request))
                    sources[key] = number, len(request.source) + 1
                session.submit()
                wait = bool(sources) and (not more or len(sources) >= lookahead)
                yield from session.collect(_PATIENCE if wait else 0, sources)

    def _start(self, new: Callable[[], int]) -> None:
        """Open the engine that `new` returns, and in a child of this process once more."""
        self._new, self._lock = new, threading.Lock()
        self._open()

    def _open(self) -> None:
        handle = self._new()
        self._opened, self._process = handle, os.getpid()
        close = functions().dragoman_close
        weakref.finalize(self, _close, close, handle, self._process, self._lock)

    def _handle(self) -> int:
        """The engine of this process. Threads do not survive a fork, so a child opens its own."""
        if self._process != os.getpid():
            self._open()
        return self._opened


def unsupported(config: Architecture) -> str | None:
    """Return why the native engine cannot run a model of this shape, or None if it can."""
    if not isinstance(config, TransformerConfig | SSRUConfig):
        return f"it has no {config.architecture} models"
    unknown = ", ".join(experiments(config))
    return f"it does not know {unknown}" if unknown else None


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


def _close(close: Any, handle: int, process: int, lock: threading.Lock) -> None:
    if process == os.getpid():  # threads do not survive a fork, so a child cannot stop them
        # Never released: at the end of the program a daemon thread must not begin with a closed engine.
        lock.acquire()
        close(ctypes.c_void_p(handle))
