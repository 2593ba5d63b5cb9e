"""Admission of requests: a queue of bounded size, and a share for each client.

Both count characters: see `Limits`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from dragoman.serving.service.limits import Limits, Overloaded

Count = Literal[
    "texts",  # accepted
    "characters",  # accepted
    "sentences",  # that a model was asked for
    "cache_hits",
    "cache_misses",
    "shared",  # texts that equal one in flight
    "remembered",  # texts that the memory had
    "lacking",  # texts whose translation seems to lack most of them
    "overloaded",  # requests, as are all below
    "late",
    "left",  # cancelled by their clients
    "failed",
]


class Counting:
    """Keeps no counts; a subclass may. Methods are called in the event loop's thread and must not wait."""

    def count(self, what: Count, amount: int = 1) -> None:
        """Something happened."""

    def took(self, pair: tuple[str, str], seconds: float) -> None:
        """A request for a pair was answered in this time."""

    def queued(self, characters: int) -> None:
        """Set the number of characters that wait or are being translated."""


_LEAST_RATE = 100.0  # characters a second, so that no client has to wait for hours
_LONGEST_WAIT = 60.0  # seconds
_FADE = 0.9  # of the rate of work, with each request that is done


class QueuePlace:
    """A request's place in the queue. It is free when all holders have released it."""

    def __init__(self, characters: int, free: Callable[[QueuePlace], None]) -> None:
        self.characters, self._free, self._holders = characters, free, 1

    def hold(self) -> None:
        """Keep the place for work that may outlast its request."""
        self._holders += 1

    def leave(self) -> None:
        """Let go of the place."""
        self._holders -= 1
        if not self._holders:
            self._free(self)


class Admission:
    """Takes requests in, or refuses them. Belongs to the thread of the event loop."""

    def __init__(self, limits: Limits, counting: Counting, clock: Callable[[], float]) -> None:
        self._limits, self._counting, self._clock = limits, counting, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when
        self.characters = 0  # that wait or are being translated
        self.places = 0
        self._rate = 0.0  # characters a second of late, of one request
        self._entered: dict[QueuePlace, float] = {}

    def enter(self, client: str, characters: int) -> QueuePlace:
        """Return a place for a request. Raises Overloaded if the queue is full or the client's share is used.

        A single request always finds room in an empty queue. Characters above its burst are a debt of the
        client: its next request has to wait until that is paid.
        """
        room = self._limits.queue_characters - self.characters
        if self.places and characters > room:
            raise self._refusal("the queue is full", (characters - room) / max(self._rate, _LEAST_RATE))
        self._pay(client, characters)
        place = QueuePlace(characters, self._leave)
        self._entered[place] = self._clock()
        self.characters += characters
        self.places += 1
        self._counting.queued(self.characters)
        return place

    def _pay(self, client: str, characters: int) -> None:
        rate, burst = self._limits.client_rate, float(self._limits.client_burst)
        if not rate:
            return
        now = self._clock()
        left, then = self._buckets.get(client, (burst, now))
        left = min(burst, left + (now - then) * rate)
        if left < min(characters, burst):
            raise self._refusal("too much text of one client", (min(characters, burst) - left) / rate)
        self._buckets[client] = left - characters, now
        self._buckets.move_to_end(client)
        while len(self._buckets) > self._limits.clients:
            self._buckets.popitem(last=False)

    def _refusal(self, what: str, seconds: float) -> Overloaded:
        return Overloaded(what, retry_after=min(max(seconds, 1.0), _LONGEST_WAIT))

    def _leave(self, place: QueuePlace) -> None:
        seconds = max(self._clock() - self._entered.pop(place), 1e-3)
        rate = place.characters / seconds
        self._rate = _FADE * self._rate + (1 - _FADE) * rate if self._rate else rate
        self.characters -= place.characters
        self.places -= 1
        self._counting.queued(self.characters)
