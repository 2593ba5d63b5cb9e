"""The service: texts of many clients in, translations out. It is independent of HTTP.

service = Service.open([ModelSpec(folder="runs/en-de")])
await service.start()
answers = await service.translate(
    ["A dog."], Ask(source=None, target="de"), client="", deadline=time.monotonic() + 30
)
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dragoman.base.errors import ConfigError
from dragoman.documents.office.package import most_tags
from dragoman.serving.service.admission import Admission, Counting, QueuePlace
from dragoman.serving.service.ask import Answer, Ask, Guess, TranslatedDocument
from dragoman.serving.service.documents import FileTranslator
from dragoman.serving.service.languages import Pairs, detect_language
from dragoman.serving.service.limits import MARKS, Late, Limits, NotReady, Overloaded, TooLong
from dragoman.serving.service.memories import Memories
from dragoman.serving.service.models import ModelSpec, ServedModel, load_all
from dragoman.serving.service.routing import Each, Router, decoding_of
from dragoman.serving.service.turns import Turns
from dragoman.text import toy
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.documents.formats import Format
    from dragoman.translation.memory.store import FuzzyMatch
    from dragoman.translation.native.choice import DType, EngineName
    from dragoman.translation.next_words import NextWord

__all__ = ["ModelSpec", "ServedModel", "Service"]

_PREPARING = 4  # threads for short work
_READING = 2  # threads that read and write files, so that no text waits for a file
_LOOK = 0.02  # seconds between looks at whether all are done
_SLOW = 0.1  # seconds for two sentences
_GRACE = 5.0  # seconds in which stopped work notices it
log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Service:
    """Translates for many clients at once. Use it in one event loop."""

    def __init__(
        self,
        models: Sequence[ServedModel],
        limits: Limits | None = None,
        *,
        memories: Memories | None = None,
        counting: Counting | None = None,
    ) -> None:
        """See `open`."""
        self.models, self.limits = tuple(models), limits or Limits()
        self.pairs = Pairs(leg for one in self.models for leg in one.legs)
        self._memories, self._counting = memories or Memories({}), counting or Counting()
        self._threads = Turns(self.limits.threads, "translate")
        self._preparing = ThreadPoolExecutor(_PREPARING, "prepare")
        self._reading = ThreadPoolExecutor(_READING, "read", most_tags.set, (MARKS,))
        self._admission = Admission(self.limits, self._counting, time.monotonic)
        self._router = Router(
            self.pairs,
            self.models,
            self._memories,
            self._threads,
            self._preparing,
            limits=self.limits,
            counting=self._counting,
        )
        self._started = self._draining = False

    @classmethod
    def open(
        cls,
        models: Sequence[ModelSpec],
        limits: Limits | None = None,
        *,
        memories: Sequence[Path] = (),
        engine: EngineName | None = None,
        dtype: DType | None = None,
        counting: Counting | None = None,
    ) -> Service:
        """Load all models, which takes seconds.

        `memories` are translation memories, at most one for each pair. A missing file is created,
        for the first pair without a memory.

        Raises ModelError for a model that cannot be loaded, ConfigError for options that contradict each
        other, such as two models with one name.
        """
        served = load_all(models, engine=engine, dtype=dtype)
        opened = Memories.open(memories, Pairs(leg for one in served for leg in one.legs))
        return cls(served, limits, memories=opened, counting=counting)

    @property
    def ready(self) -> bool:
        """Whether each model has translated a sentence, and the service takes new work."""
        return self._started and not self._draining

    @property
    def memories(self) -> tuple[tuple[str, str], ...]:
        """The pairs that have a translation memory."""
        return self._memories.pairs

    async def start(self) -> None:
        """Load the detector, translate a sentence with each model and measure its speed: then it is ready."""
        with suppress(ConfigError):  # without one, only a request that needs it fails
            await self._prepare(partial(detect_language, "a", (), self.pairs.sources[0]))
        for model in self.models:
            for adapter in (None, *model.adapters):
                translator, (source, to) = model.variant(adapter), model.tags(model.pair)
                await self._prepare(partial(translator.translate, ["1 2 3."], Decoding(source=source, to=to)))
        speeds = [await self._prepare(partial(_speed_of, model, self.limits)) for model in self.models]
        self._admission.pace.speed = min(speeds)
        self._started = True

    async def translate(
        self, texts: Sequence[str], ask: Ask, *, client: str, deadline: float, each: Each | None = None
    ) -> list[Answer]:
        """Return an answer for each text, in order. Cancel it to give up: its place becomes free.

        `client` is a key or an address, whose share of the queue is used. `deadline` is a time of
        `time.monotonic`. `each` is called with the number and the answer of each text as soon as it is there.

        Raises UnknownLanguage, TooLong, Overloaded, Late, NotReady (see `limits.py`), and ConfigError for
        options that the limits forbid, or for a model, an adapter or a list of terms that is not loaded.
        """
        characters = self.check(texts, ask)
        started = time.monotonic()
        async with self._place(len(texts), characters, client, deadline) as place:
            answers = await self._router.answers(texts, ask, place, each)
        if lacking := sum(one.lacking for one in answers):
            self._counting.count("lacking", lacking)
            log.warning("%d of %d translations lack most of the source", lacking, len(answers))
        for pair in {(one.route.source, one.route.target) for one in answers}:
            self._counting.took(pair, time.monotonic() - started)
        return answers

    def check(self, texts: Sequence[str], ask: Ask) -> int:
        """Return how many characters a request counts for. Raises what `translate` raises before its work."""
        self._check_ready()
        characters = check_ask(ask, texts, self.limits)
        self._router.check(ask)
        return characters

    async def next_words(
        self, text: str, ask: Ask, *, most: int, client: str, deadline: float
    ) -> list[NextWord]:
        """Return the likeliest words after `ask.prefix`; none for a pair with a pivot.

        `text` is one sentence, whose language `ask` names. Raises the errors of `translate`, and DataError
        for a prefix that the model cannot spell.
        """
        characters = self.check([text], ask)
        async with self._place(1, characters, client, deadline) as place:
            return await self._router.next_words(text, ask, most, place)

    @asynccontextmanager
    async def _place(
        self, texts: int, characters: int, client: str, deadline: float
    ) -> AsyncGenerator[QueuePlace, None]:
        """A place in the queue for the work of the block, which ends at the deadline."""
        try:
            place = self._admission.enter(client, characters, deadline)
        except Overloaded:
            self._counting.count("overloaded")
            raise
        self._counting.count("texts", texts)
        self._counting.count("characters", characters)
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                yield place
        except TimeoutError:
            raise self._late("the translation took too long", "send less text, or try again later") from None
        except asyncio.CancelledError:
            self._counting.count("left")
            raise
        except Exception:
            self._counting.count("failed")
            raise
        finally:
            place.leave()

    async def translate_document(
        self,
        data: bytes,
        format: Format,
        ask: Ask,
        *,
        client: str,
        deadline: float,
        use: Callable[[int], None] = lambda characters: None,
    ) -> TranslatedDocument:
        """Translate a file. `use` is called with its characters before the work, and may raise.

        Raises the errors of `translate`, and DataError if it cannot be read.
        """
        self._check_ready()
        self._router.check(ask)
        files = FileTranslator(self._router, self._admission.enter, self._threads, self._reading)
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                return await files.translate(data, format, ask, client=client, use=use)
        except TimeoutError:
            raise self._late("the file took too long", "divide it") from None

    def _late(self, what: str, hint: str) -> Late:
        self._counting.count("late")
        return Late(what, retry_after=self._admission.wait(), hint=hint)

    async def detect(self, text: str, ask: Ask | None = None) -> list[Guess]:
        """Return the served languages that a text may be in, the likeliest first.

        With `ask`, the only guess is the language that it would be translated from.
        """
        self._check_ready()
        if ask is not None:
            return [await self._prepare(partial(self._router.detect, text, ask))]
        among = self.pairs.languages
        return await self._prepare(partial(detect_language, text, among, self.pairs.sources[0]))

    async def matches(self, text: str, pair: tuple[str, str], limit: int = 5) -> list[FuzzyMatch]:
        """Return the pairs of the memory that are similar to a text, best first; nothing without a memory."""
        self._check_ready()
        route = self.pairs.find(*pair)
        return await self._prepare(lambda: self._memories.search((route.source, route.target), text, limit))

    async def correct(self, source: str, text: str, translation: str, pair: tuple[str, str]) -> bool:
        """Store a translation in the memory of the pair. Return whether it is new.

        `source` is the text that was translated, `text` the service's translation of it, `translation` a
        person's correction. When this returns, it is on the disk. Raises ConfigError if the pair has no
        memory, DataError for characters that no file can hold, TooLong for more text than a request may have.
        """
        self._check_ready()
        route = self.pairs.find(*pair)
        check_ask(Ask(source=pair[0], target=pair[1]), [source + translation], self.limits)
        origin = "confirmed" if text == translation else "corrected"
        ends = route.source, route.target
        return await self._prepare(lambda: self._memories.add(ends, source, translation, origin))

    async def drain(self, seconds: float) -> None:
        """Take no new work, and wait at most that long for accepted work.

        Unfinished work is then stopped, and its clients get NotReady. The service cannot be used again.
        """
        self._draining = True
        await self._wait_until_idle(seconds)
        self._router.stop()
        await self._wait_until_idle(_GRACE)
        await asyncio.to_thread(self._close)

    async def _wait_until_idle(self, seconds: float) -> None:
        """Wait until all places are free, at most that long."""
        end = time.monotonic() + seconds
        while self._admission.places and time.monotonic() < end:
            await asyncio.sleep(_LOOK)

    def _close(self) -> None:
        for pool in (self._threads, self._preparing, self._reading):
            pool.shutdown(cancel_futures=True)
        for model in self.models:
            model.close()
        self._memories.close()

    def _check_ready(self) -> None:
        if not self.ready:
            what = "the service is stopping" if self._draining else "the models are still loading"
            raise NotReady(what, hint="try again in a few seconds")

    async def _prepare(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._preparing, call)


def _speed_of(model: ServedModel, limits: Limits) -> float:
    """Characters a second, of a few sentences: until requests show it."""
    speed, ask = 0.0, Ask(source=None, target=model.pair[1])
    how = decoding_of(ask, model.tags(model.pair), limits, last=True)
    for count in (2, 32):  # a slow model shows it by the first two
        texts = [one for one, _ in toy.pairs(count=count, seed=7)]
        began = time.monotonic()
        model.translator.translate(texts, how)
        seconds = max(time.monotonic() - began, 1e-3)
        speed = max(speed, sum(map(len, texts)) / seconds)
        if seconds > _SLOW:
            break
    return speed


def check_ask(ask: Ask, texts: Sequence[str], limits: Limits) -> int:
    """Return how many characters a request counts for: its texts and its prefix, and one a text.

    Raises TooLong for more than the limits allow, ConfigError for options that they forbid.
    """
    if len(texts) > limits.texts:
        raise TooLong(f"{len(texts)} texts", hint=f"send at most {limits.texts} at once")
    characters = sum(map(len, texts)) + len(ask.prefix)
    if characters > limits.characters:
        raise TooLong(
            f"{characters} characters exceed the limit of {limits.characters}", hint="send less at once"
        )
    if ask.markup != "text" and ask.sentences != "split":
        raise ConfigError(f"sentences = {ask.sentences} for markup", hint="leave it out, or send text")
    _within("beam", ask.beam, 1, limits.beam)
    _within("n_best", ask.n_best, 1, limits.alternatives + 1)
    if ask.prefix and (len(texts) != 1 or ask.markup != "text"):
        raise ConfigError("a prefix for several texts, or for markup", hint="send one text")
    # A prefix is forced beyond any limit of a translation. It is counted in characters: tokens are not more.
    if len(ask.prefix) > 2 * sum(map(len, texts)) + limits.output_extra:
        raise TooLong("the prefix is too long for its text", hint="shorten it")
    return characters + len(texts)


def _within(what: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise ConfigError(f"{what} = {value}", hint=f"use {least} to {most}")
