"""Whole files: their segments go through the models in portions, so that other requests get their turn.

A portion takes a place in the queue as a request does. While the queue is full, the file waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from dragoman.base.languages import closest, same
from dragoman.documents.context.around import contexts_of
from dragoman.documents.formats import Format, Languages, OtherLanguage
from dragoman.documents.segment import Document, Replacing, Result, Segment, prose_of, text_of
from dragoman.documents.translate import translate_segments
from dragoman.serving.service.admission import QueuePlace
from dragoman.serving.service.ask import Ask, Route, TranslatedDocument
from dragoman.serving.service.coalescing import Stopped, portions
from dragoman.serving.service.limits import Overloaded
from dragoman.serving.service.routing import Router
from dragoman.serving.service.turns import Turns
from dragoman.text.guidance import Context
from dragoman.translation.search.watching import abandonable

T = TypeVar("T")


class FileTranslator:
    """Translates files with the models of a router. Belongs to one event loop."""

    def __init__(
        self, router: Router, enter: Callable[[str, int], QueuePlace], threads: Turns, reading: Executor
    ) -> None:
        """`enter` gives a client a place for some characters, or raises Overloaded."""
        self._router, self._enter = router, enter
        self._threads, self._reading = threads, reading

    async def translate(
        self, data: bytes, format: Format, ask: Ask, *, client: str, use: Callable[[int], None]
    ) -> TranslatedDocument:
        """Translate a file. See `Service.translate_document` for `use`.

        Raises DataError if it cannot be read, and the errors of finding its route.
        """
        route, document = await self._read(lambda: self._opened(data, format, ask))
        characters = sum(map(_size, document.segments))
        use(characters)
        around = await self._read(partial(contexts_of, document.segments, labels=format.has_labels))
        results: list[Result | None] = []
        for portion in portions(document.segments, _size):
            place = await self._place(client, sum(map(_size, portion)))
            own = around[len(results) : len(results) + len(portion)]
            through = partial(self._through, portion, own, route, ask, format.has_labels)
            try:
                results += await self._stoppable(through, place)
            finally:
                place.leave()
        new = await self._read(partial(document.render, results))
        languages = Languages(route.source, route.target)
        await self._read(partial(format.parse, new, languages))  # it must be readable again
        return TranslatedDocument(new if route.models else data, characters)

    def _opened(self, data: bytes, format: Format, ask: Ask) -> tuple[Route, Document]:
        """Read a file and find its route. A language that it states counts more than one that is detected."""
        if not ask.detects:
            route = self._router.find(ask.source or "", ask)
            return route, format.parse(data, Languages(route.source, route.target))
        target = self._router.find(ask.target, ask).target
        sources = sorted(self._router.sources_for(ask), key=lambda one: same(one, target))  # itself at last
        source, document = _parsed(data, format, sources, target)
        guess = self._router.detect(prose_of(document.segments), ask).language
        source, document = _parsed(data, format, (guess, source), target)
        return self._router.find(source, ask), document

    async def _place(self, client: str, characters: int) -> QueuePlace:
        """Wait for a place. The deadline of the file ends the waiting."""
        while True:
            try:
                return self._enter(client, max(characters, 1))
            except Overloaded as error:
                await asyncio.sleep(error.retry_after)

    def _through(
        self,
        segments: Sequence[Segment],
        around: Sequence[Context | None],
        route: Route,
        ask: Ask,
        labels: bool,
    ) -> list[Result | None]:
        """Translate segments by each model of a route. Segments that a step leaves unchanged stay so.

        Only the first model reads the contexts `around` them, which are in its language.
        """
        results: list[Result | None] = [None] * len(segments)
        for translator, how in self._router.steps(route, ask):
            sources = [
                one if known is None else replace(one, source=known.content)
                for one, known in zip(segments, results, strict=True)
            ]
            new, _ = translate_segments(translator, sources, how, labels=labels, around=around)
            around = [None] * len(segments)
            results = [
                replace(one, doubts=(*known.doubts, *one.doubts)) if one and known else one or known
                for one, known in zip(new, results, strict=True)
            ]
        return results

    async def _read(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reading, call)

    async def _stoppable(self, work: Callable[[], T], place: QueuePlace) -> T:
        """Run work in a thread, which holds the place. If this is cancelled, the work ends soon, too."""
        loop, left = asyncio.get_running_loop(), threading.Event()

        def look() -> None:
            if left.is_set():
                raise Stopped

        def run() -> T:
            with abandonable(look):
                return work()

        def free() -> None:
            place.did(place.characters)
            place.leave()

        def ended(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(free)

        place.hold()
        running = self._threads.submit(run, order=place.order, size=place.characters)
        running.add_done_callback(ended)
        try:
            return await asyncio.wrap_future(running)
        finally:
            left.set()


def _parsed(data: bytes, format: Format, sources: Sequence[str], target: str) -> tuple[str, Document]:
    """Read a file in the first of these languages, or in one that it says it has."""
    try:
        return sources[0], format.parse(data, Languages(sources[0], target))
    except OtherLanguage as error:
        for source in sources[1:]:
            with suppress(OtherLanguage):
                if closest(source, error.found) is not None:
                    return source, format.parse(data, Languages(source, target))
        raise


def _size(segment: Segment) -> int:
    """The characters to translate: none if the file has a translation that stays."""
    return len(text_of(segment.source)) if Replacing().wants(segment) else 0
