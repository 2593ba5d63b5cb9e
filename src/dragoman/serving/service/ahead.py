"""The next words of a translation that has begun, for the clients of a service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dragoman.serving.service.admission import QueuePlace
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.coalescing import Flights
from dragoman.serving.service.languages import Pairs
from dragoman.serving.service.models import ServedModel

if TYPE_CHECKING:
    from dragoman.translator import Translator
    from dragoman.translator.next_words import NextWord


class AheadKey(NamedTuple):
    """What the next words depend on."""

    model: str
    digest: str
    adapter: str | None
    terms: str | None
    to: str | None
    most: int
    prefix: str
    text: str


class Ahead:
    """Finds next words. Belongs to one event loop."""

    def __init__(
        self,
        pairs: Pairs,
        models: Iterable[ServedModel],
        flights: Flights[AheadKey, tuple[NextWord, ...]],
    ) -> None:
        self._pairs, self._models, self._flights = pairs, {one.name: one for one in models}, flights

    async def words(self, text: str, ask: Ask, most: int, place: QueuePlace) -> list[NextWord]:
        """Return the likeliest words after `ask.prefix`; none with a pivot, which no prefix passes."""
        route = self._pairs.find(ask.source or "", ask.target, model=ask.model)
        if len(route.models) != 1:
            return []
        model = self._models[route.models[0]]
        to = model.told(route.target)
        key = AheadKey(model.name, model.digest, ask.adapter, ask.terms, to, most, ask.prefix, text)
        translator = model.variant(ask.adapter, ask.terms)
        (found,), _ = await self._flights.get([key], partial(_found, translator), place)
        return list(found)

    def stop(self) -> None:
        """Stop all work, for good."""
        self._flights.stop()


def _found(translator: Translator, keys: Sequence[AheadKey]) -> Iterable[tuple[NextWord, ...]]:
    return (tuple(translator.next_words(one.text, one.prefix, most=one.most, to=one.to)) for one in keys)
