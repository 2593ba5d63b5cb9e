"""Threads that take the most urgent work first, and no more at one time than keeps the models busy.

The models work on what they have in the order in which it came. So work waits here, where other work can
overtake it.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from dragoman.serving.service.admission import FULL

T = TypeVar("T")


class Turns:
    """Threads for work whose order and size are known."""

    def __init__(self, threads: int, name: str, *, most: int = FULL) -> None:
        """`most`: characters at one time. Work that is larger runs alone."""
        self._pool = ThreadPoolExecutor(threads, name)
        self._threads, self._most = threads, most
        self._lock = threading.Lock()
        self._waiting: list[tuple[float, int, int, Future[Any], Callable[[], Any]]] = []
        self._numbers = itertools.count()
        self._running = self._size = 0

    def submit(self, call: Callable[[], T], *, order: float, size: int) -> Future[T]:
        """Run a call in a thread. Those of the lowest order go first, then those that came first."""
        future: Future[T] = Future()
        with self._lock:
            heapq.heappush(self._waiting, (order, next(self._numbers), size, future, call))
        self._start()
        return future

    def shutdown(self, *, cancel_futures: bool = False) -> None:
        """End the threads. `cancel_futures`: without the work that waits."""
        with self._lock:
            left, self._waiting = self._waiting, [] if cancel_futures else self._waiting
        for _, _, _, future, _ in left if cancel_futures else ():
            future.cancel()
        self._pool.shutdown()

    def _start(self) -> None:
        with self._lock:
            while self._waiting and self._running < self._threads:
                size = self._waiting[0][2]
                if self._running and self._size + size > self._most:
                    return
                _, _, _, future, call = heapq.heappop(self._waiting)
                if future.set_running_or_notify_cancel():
                    self._running, self._size = self._running + 1, self._size + size
                    self._pool.submit(self._run, future, call, size)

    def _run(self, future: Future[T], call: Callable[[], T], size: int) -> None:
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        finally:
            with self._lock:
                self._running, self._size = self._running - 1, self._size - size
            self._start()
