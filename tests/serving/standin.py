"""A service without a model, and a server around one on a free port of the loopback.

The stand-in writes each text in capitals, so that a test sees that it is asked and what. It meets the same
signatures and raises the same errors as the real one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx

from dragoman.documents.formats import Format, Languages
from dragoman.documents.segment import Result, text_of
from dragoman.models.shapes import TransformerConfig
from dragoman.serving.apis.endpoints import ServerState
from dragoman.serving.app import server_of
from dragoman.serving.http.server import listen
from dragoman.serving.http.settings import Settings
from dragoman.serving.service.ask import Answer, Ask, Guess, Route, TranslatedDocument
from dragoman.serving.service.languages import Leg, Pairs
from dragoman.serving.service.limits import Late, Limits, TooLong
from dragoman.serving.service.models import ServedModel
from dragoman.serving.service.service import Service
from dragoman.translation.next_words import NextWord

_OTHERS = [("en", "pt"), ("de", "en")]


class StandIn:
    """Answers in capitals. `gate` holds answers back; `failing` is raised in their place."""

    def __init__(self, limits: Limits | None = None, models: Sequence[ServedModel] = ()) -> None:
        """`models` are only shown and inspected."""
        self.limits = limits or Limits()
        lists = {"targets": ("de", "fr"), "adapters": ("legal",), "terms": ("product",)}
        model = SimpleNamespace(name="en-de", digest="sha256:00", source="en", engine="native", **lists)
        model.addresses = lambda target: target.lower() == "fr"
        model.legs = [Leg("en-de", ("en",), ("de", "fr"))]
        others = [Leg(f"{source}-{target}", (source,), (target,)) for source, target in _OTHERS]
        self.pairs = Pairs([*model.legs, *others])
        model.translator = SimpleNamespace(
            engine=SimpleNamespace(config=TransformerConfig()), reads=(), aligning=True
        )
        self.models: Sequence[Any] = models or (model,)
        self.memories = (("en", "de"),)
        self.ready = False
        self.warm = True  # whether `start` ends
        self.gate = threading.Event()
        self.gate.set()
        self.failing: Exception | None = None
        self.asked: list[tuple[list[str], Ask, str]] = []
        self.documents: list[Ask] = []
        self.cancelled = 0
        self.drained = False
        self.corrections: list[tuple[Any, ...]] = []

    async def start(self) -> None:
        while not self.warm:
            await asyncio.sleep(0.01)
        self.ready = True

    async def _pass(self, deadline: float) -> None:
        try:
            while not self.gate.is_set():
                if time.monotonic() > deadline:
                    raise Late("not translated in time")
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failing is not None:
            raise self.failing

    def _route(self, ask: Ask) -> Route:
        return self.pairs.find("en" if ask.detects else ask.source or "", ask.target, model=ask.model)

    def check(self, texts: Sequence[str], ask: Ask) -> int:
        self._route(ask)
        if len(texts) > self.limits.texts or sum(map(len, texts)) > self.limits.characters:
            raise TooLong("too much text")
        return sum(map(len, texts))

    async def translate(
        self, texts: Sequence[str], ask: Ask, *, client: str, deadline: float, each: Any = None
    ) -> list[Answer]:
        self.asked.append((list(texts), ask, client))
        self.check(texts, ask)
        route = self._route(ask)
        await self._pass(deadline)
        confidence = 0.75 if ask.detects else None
        answers = [
            Answer(
                text=text.upper(),
                source=route.source,
                confidence=confidence,
                route=route,
                alternatives=tuple(f"{text.upper()} {number}" for number in range(1, ask.n_best)),
            )
            for text in texts
        ]
        for number, answer in enumerate(answers if each else ()):
            each(number, answer)
        return answers

    async def translate_document(
        self, data: bytes, format: Format, ask: Ask, *, client: str, deadline: float, use: Any
    ) -> TranslatedDocument:
        self.documents.append(ask)
        route = self._route(ask)
        document = format.parse(data, Languages(route.source, route.target))
        await self._pass(deadline)
        results = [Result((text_of(one.source).upper(),)) for one in document.segments]
        size = sum(len(text_of(one.source)) for one in document.segments)
        use(size)
        return TranslatedDocument(document.render(results), size)

    async def next_words(
        self, text: str, ask: Ask, *, most: int, client: str, deadline: float
    ) -> list[NextWord]:
        return [NextWord(word.upper(), word.upper(), 0.5) for word in text.split()[:most]]

    async def matches(self, text: str, pair: tuple[str, str], limit: int = 5) -> list[Any]:
        self.pairs.find(*pair)
        return []

    async def detect(self, text: str, ask: Ask | None = None) -> list[Guess]:
        return [Guess("en", 0.75), Guess("de", 0.25)][: 2 if ask is None else 1]

    async def correct(self, source: str, text: str, translation: str, pair: tuple[str, str]) -> bool:
        self.pairs.find(*pair)
        self.corrections.append((source, translation, pair))
        return True

    async def drain(self, seconds: float) -> None:
        self.drained = True


class Running:
    """A server that runs in a thread."""

    def __init__(self, state: ServerState) -> None:
        self.state, self.service = state, cast(Any, state.service)
        socket = listen("127.0.0.1", 0)
        self.port = socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = server_of(state)
        self._thread = threading.Thread(target=self.server.run, args=([socket],), daemon=True)
        self._socket = socket

    @property
    def standin(self) -> StandIn:
        assert isinstance(self.service, StandIn)
        return self.service

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=20, trust_env=False, **options)

    def start(self) -> None:
        self._thread.start()
        wait_for(lambda: self.server.started)

    def stop(self) -> None:
        self.server.stop()
        self.server.stop()
        self._thread.join(120)  # a busy machine
        self._socket.close()
        assert not self._thread.is_alive(), "the server did not end"


def wait_for(what: Any, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.005)


@contextmanager
def running(
    service: Service | StandIn | None = None, *, limits: Limits | None = None, **settings: Any
) -> Iterator[Running]:
    """A server around a service, ready, on a free port."""
    one = Running(ServerState(cast("Service", service or StandIn(limits)), Settings(**settings)))
    one.start()
    try:
        if getattr(one.service, "warm", True):
            wait_for(lambda: one.service.ready, 60)
        yield one
    finally:
        if isinstance(one.service, StandIn):
            one.service.gate.set()
        one.stop()


def keys_file(folder: Path, **keys: str) -> Path:
    """A file with the digests of these keys, by name."""
    import hashlib

    path = folder / "keys"
    lines = [f"{hashlib.sha256(key.encode()).hexdigest()}  {name}" for name, key in keys.items()]
    path.write_text("\n".join(["# who may ask", "", *lines]) + "\n")
    return path
