"""Answers shared: a cache of those that were used last, and work in flight, which equal requests share.

    work = Coalescer(threads, cache, counting)
    await work.get(["a", "b"], translate, place)

One call starts a job for each portion of the keys that are new. A job is stopped when no caller waits for
any of its answers any more; one of several may leave.
"""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

from dragoman.serving.service.admission import Counting, QueuePlace
from dragoman.serving.service.limits import NotReady
from dragoman.serving.service.turns import Turns
from dragoman.translation.search.watching import abandonable

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
T = TypeVar("T")
Work = Callable[[Sequence[Key]], Iterable[Value]]
"""Yields an answer for each key, in order. Runs in a thread."""


class Cache(Generic[Key, Value]):
    """The values that were used last, of at most `most` bytes with their keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.bytes = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, and mark it as used last."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and drop others for it. One that is larger than the cache is not kept."""
        if not self._most:  # to measure a value takes time
            return
        self._drop(key)
        size = size_of(key) + size_of(value)
        if size > self._most:
            return
        self._values[key] = value, size
        self.bytes += size
        while self.bytes > self._most:
            self._drop(next(iter(self._values)))

    def _drop(self, key: Key) -> None:
        if key in self._values:
            self.bytes -= self._values.pop(key)[1]


def size_of(value: Any) -> int:
    """The bytes of a value of strings, numbers, tuples and dataclasses. Shared values count each time."""
    size = sys.getsizeof(value)
    if isinstance(value, tuple | list | frozenset):
        return size + sum(map(size_of, value))
    if is_dataclass(value):
        return size + 100 + sum(size_of(getattr(value, one.name)) for one in fields(value))
    return size


def text_size(key: Any) -> int:
    """The characters of the text of a key."""
    return len(getattr(key, "text", key)) + 1


_PORTION = 4000  # characters, or one that is longer
_MOST = 32  # of a portion: as many sentences as a model translates together


def portions(items: Iterable[T], size: Callable[[T], int], most: float = math.inf) -> list[list[T]]:
    """Divide work, so that what is more urgent does not wait for all of it. `most`: items of a portion."""
    found: list[list[T]] = []
    room = 0
    for item in items:
        room -= size(item)
        if room < 0 or not found or len(found[-1]) == most:
            found.append([])
            room = _PORTION - size(item)
        found[-1].append(item)
    return found


class Stopped(BaseException):
    """Cancels abandoned work. A BaseException, so that `except Exception` does not catch it."""


class _Job(Generic[Key, Value]):
    """Some work in a thread, and the answers that are expected of it."""

    def __init__(self, keys: Sequence[Key], loop: asyncio.AbstractEventLoop, place: QueuePlace) -> None:
        self.answers: dict[Key, asyncio.Future[Value]] = {key: loop.create_future() for key in keys}
        self.missing, self.waiting = len(keys), 0
        self.size = sum(map(text_size, keys))
        self._place: QueuePlace | None = place
        place.hold()
        self.stopped = threading.Event()
        self.running: Future[None] | None = None

    def look(self) -> None:
        if self.stopped.is_set():
            raise Stopped

    def did(self, key: Key) -> None:
        """An answer is ready."""
        self.missing -= 1
        if self._place is not None:
            self._place.did(text_size(key))
        if not self.missing:
            self.leave()  # before its waiters continue

    def leave(self) -> None:
        """Let go of the place, once."""
        if self._place is not None:
            self._place.leave()
        self._place = None

    def end(self, error: BaseException | None) -> None:
        """No more answers come."""
        for answer in self.answers.values():
            if answer.done():
                continue
            if error is None or isinstance(error, Stopped):
                answer.cancel()
            else:
                answer.set_exception(error)
                answer.exception()  # mark it as retrieved: perhaps no caller does


class Coalescer(Generic[Key, Value]):
    """Belongs to one event loop. Work runs in `threads`; its answers are put into the cache."""

    def __init__(self, threads: Turns, cache: Cache[Key, Value], counting: Counting) -> None:
        self._threads, self._cache, self._counting = threads, cache, counting
        self._pending: dict[Key, _Job[Key, Value]] = {}
        self._jobs: set[_Job[Key, Value]] = set()
        self._stopped = False

    async def get(
        self, keys: Sequence[Key], work: Work[Key, Value], place: QueuePlace
    ) -> tuple[list[Value], bool]:
        """Return the value of each key, and whether the cache had all of them.

        Raises the error of the work. The place is held until work that this call started has ended.
        """
        if self._stopped:
            raise _stopping()
        found: dict[Key, Value] = {}
        for key in dict.fromkeys(keys):
            if (value := self._cache.get(key)) is not None:
                found[key] = value
        new = [key for key in dict.fromkeys(keys) if key not in found and key not in self._pending]
        self._counting.count("cache_hits", len(found))
        self._counting.count("cache_misses", len(new))
        for portion in portions(new, text_size, _MOST):
            self._start(portion, work, place)
        awaited = {key: self._pending[key] for key in dict.fromkeys(keys) if key not in found}
        self._counting.count("shared", len(awaited) - len(new))
        jobs = set(awaited.values())
        for job in jobs:
            job.waiting += 1
        answers = {key: job.answers[key] for key, job in awaited.items()}
        try:
            if answers:
                await asyncio.wait(answers.values(), return_when=asyncio.FIRST_EXCEPTION)
            found |= _results(answers)
        finally:
            for job in jobs:
                job.waiting -= 1
                if not job.waiting:
                    self._stop(job)
        return [found[key] for key in keys], not awaited

    def stop(self) -> None:
        """Stop all work, for good. Waiting callers get NotReady."""
        self._stopped = True
        for job in list(self._jobs):
            self._stop(job)
            job.end(None)

    def _start(self, keys: Sequence[Key], work: Work[Key, Value], place: QueuePlace) -> None:
        loop = asyncio.get_running_loop()
        job: _Job[Key, Value] = _Job(keys, loop, place)
        self._jobs.add(job)
        self._pending.update(dict.fromkeys(keys, job))

        def run() -> None:
            with abandonable(job.look):
                for key, value in zip(keys, work(keys), strict=True):
                    job.look()
                    loop.call_soon_threadsafe(self._answered, job, key, value)

        def ended(future: Future[None]) -> None:
            error: BaseException | None = Stopped() if future.cancelled() else future.exception()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._end, job, error)

        job.running = self._threads.submit(run, order=place.order, size=job.size)
        job.running.add_done_callback(ended)

    def _answered(self, job: _Job[Key, Value], key: Key, value: Value) -> None:
        self._cache.put(key, value)
        self._forget(job, key)
        if not job.answers[key].done():
            job.answers[key].set_result(value)
        job.did(key)

    def _end(self, job: _Job[Key, Value], error: BaseException | None) -> None:
        for key in job.answers:
            self._forget(job, key)
        job.end(error)
        self._jobs.discard(job)
        job.leave()

    def _stop(self, job: _Job[Key, Value]) -> None:
        """Abandon a job that no caller waits for. Later requests for its answers start another."""
        for key in job.answers:
            self._forget(job, key)
        job.stopped.set()
        if job.running is not None:
            job.running.cancel()

    def _forget(self, job: _Job[Key, Value], key: Key) -> None:
        if self._pending.get(key) is job:
            del self._pending[key]


def _results(answers: Mapping[Key, asyncio.Future[Value]]) -> dict[Key, Value]:
    """Return the results. Raises the first error; answers that come after it are not waited for."""
    for answer in answers.values():
        if answer.done() and not answer.cancelled() and (error := answer.exception()) is not None:
            raise error
    if any(answer.cancelled() for answer in answers.values()):
        raise _stopping()
    return {key: answer.result() for key, answer in answers.items()}


def _stopping() -> NotReady:
    return NotReady("the service is stopping", hint="ask another one, or try again later")
