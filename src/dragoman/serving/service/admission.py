"""Admission of requests: as much as is done in time, in a queue of bounded size, and a share for each client.

All count characters: see `Limits`.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from dragoman.base.machine import usable_cores
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


_LONGEST_WAIT = 60.0  # seconds
_PLACES = 2000  # each step looks at all
_MARGIN = 0.7  # of the time to a deadline that work is planned for
_PATIENCE = 8.0  # times its own work that a request waits before it counts as urgent as shorter ones
FULL = 2000 * max(2, usable_cores())  # characters that keep the models busy
_WINDOW = 1.0  # seconds over which the speed of busy models is measured
_RISE, _FALL = 0.5, 0.7  # how far the speed follows a window up or down: late work costs more than refused
_DOUBT = 0.8  # of the speed, with each window in which work was late


class QueuePlace:
    """A request's place in the queue. It is free when all holders have released it."""

    def __init__(
        self, characters: int, order: float, due: float, deadline: float, admission: Admission
    ) -> None:
        """`order`: work with less goes first. `due`: it is planned to be done then, before the deadline."""
        self.characters, self.left = characters, float(characters)
        self.order, self.due, self.deadline = order, due, deadline
        self._admission, self._holders = admission, 1

    def hold(self) -> None:
        """Keep the place for work that may outlast its request."""
        self._holders += 1

    def leave(self) -> None:
        """Let go of the place."""
        self._holders -= 1
        if not self._holders:
            self._admission.free(self)

    def did(self, characters: float) -> None:
        """Part of its work is done, by a model."""
        self._admission.progress(self, characters)


class Pace:
    """The speed of the models, in characters a second, measured at work.

    Only busy models show their speed. Of others, what they did is a lower bound: they also waited.
    """

    def __init__(self, clock: Callable[[], float], full: int) -> None:
        """`full`: with so many characters that wait, the models are busy."""
        self._clock, self._least = clock, full
        self.speed = 0.0  # 0: not known
        self.start()

    def start(self) -> None:
        """A request comes to idle models."""
        self._began, self._total = self._clock(), 0.0
        self._begin(math.inf)

    def _begin(self, waiting: float) -> None:
        self._since, self._done = self._clock(), 0.0
        self._full, self._late = waiting >= self._least, False

    def did(self, characters: float, waiting: float, *, late: bool = False) -> None:
        """Some work is done, and this much still waits. `late`: it should have been done before."""
        self._done, self._total = self._done + characters, self._total + characters
        self._full, self._late = self._full and waiting >= self._least, self._late or late
        seconds = self._clock() - self._since
        if seconds < _WINDOW and waiting:
            return
        known = self.speed * (_DOUBT if self._late else 1.0)
        if self._full and self.speed:
            speed = self._done / max(seconds, 1e-3)
            self.speed += (_RISE if speed > self.speed else _FALL) * (speed - self.speed)
        else:
            self.speed = max(known, self._total / max(self._clock() - self._began, 1e-3))
        self._begin(waiting)


class Admission:
    """Takes requests in, or refuses them. Belongs to the thread of the event loop.

    Work goes in order of urgency: a short request goes before longer ones, until these have waited for a few
    times their own work. A request is taken in if, at the measured speed, it can be done before its deadline
    and makes none late that was taken in before (earliest deadline first: Liu and Layland 1973, section 7).
    """

    def __init__(self, limits: Limits, counting: Counting, clock: Callable[[], float]) -> None:
        self._limits, self._counting, self._clock = limits, counting, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when
        self.characters = 0  # that wait or are being translated
        self.pace = Pace(clock, FULL)
        self._places: list[QueuePlace] = []  # by order

    @property
    def places(self) -> int:
        """How many requests wait or are being translated."""
        return len(self._places)

    def enter(self, client: str, characters: int, deadline: float | None = None) -> QueuePlace:
        """Return a place for a request. `deadline` is a time of the clock, by default after `limits.seconds`.

        Raises Overloaded if the queue is full, the deadline would pass, or the client's share is used.
        A single request always finds room in an empty queue. Characters above its burst are a debt of the
        client: its next request has to wait until that is paid.
        """
        now, speed = self._clock(), self.pace.speed
        most = now + self._limits.seconds
        deadline = most if deadline is None else min(most, deadline)
        due = now + _MARGIN * (deadline - now)
        order = min(due, now + _PATIENCE * characters / speed) if speed else due
        place = QueuePlace(characters, order, due, deadline, self)
        excess = characters + self.characters - self._limits.queue_characters
        if self._places and (excess > 0 or len(self._places) >= _PLACES):
            raise self._refusal("the queue is full", excess / (speed or math.inf))
        if self._places and speed and (late := self._late(place, now)) > 0:
            raise self._refusal("the server is busy: this would not be done in time", late)
        self._pay(client, characters)
        if not self._places:
            self.pace.start()
        insort(self._places, place, key=lambda one: one.order)
        self.characters += characters
        self._counting.queued(self.characters)
        return place

    def wait(self) -> float:
        """Seconds until the work that was taken in is done, at the measured speed; for Retry-After."""
        left = sum(one.left for one in self._places)
        return min(max(left / self.pace.speed, 1.0), _LONGEST_WAIT) if self.pace.speed else 1.0

    def _late(self, new: QueuePlace, now: float) -> float:
        """By how many seconds at most the new request, or another because of it, would miss its time."""
        speed, ahead, late = self.pace.speed, 0.0, 0.0
        for one in self._places:
            ahead += one.left
            if one.order > new.order:
                done = now + ahead / speed
                if done <= one.deadline:  # else it will be late anyway
                    late = max(late, done + new.characters / speed - one.due)
            else:
                mine = now + (ahead + new.characters) / speed - new.due
                late = max(late, mine)
        return max(late, now + new.characters / speed - new.due)

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

    def progress(self, place: QueuePlace, characters: float) -> None:
        """See `QueuePlace.did`."""
        place.left = max(0.0, place.left - characters)
        self.pace.did(characters, sum(one.left for one in self._places), late=self._clock() > place.due)

    def free(self, place: QueuePlace) -> None:
        """See `QueuePlace.leave`."""
        self._places.remove(place)
        self.characters -= place.characters
        if not self._places:
            self.pace.did(0, 0.0, late=self._clock() > place.due)
        self._counting.queued(self.characters)
