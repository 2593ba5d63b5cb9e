"""Lines that may arrive slowly, as from a pipe: a thread reads ahead, and a reader learns when to wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

_MOMENT = 0.001  # seconds; a line that comes later than this has not arrived yet


class _End:
    """The end of the lines, and the error that caused it."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def arriving(lines: Iterable[T], *, ahead: int = 4096) -> Iterator[T | None]:
    """Yield each of `lines`, and None once where the next has not arrived yet. Then wait for it.

    A thread reads at most `ahead` lines ahead. An error of `lines` is raised after the lines before it.
    """
    ready: Queue[T | _End] = Queue(maxsize=ahead)
    stopped = Event()

    def read() -> None:
        error = None
        try:
            for line in lines:
                ready.put(line)
                if stopped.is_set():
                    return
        except BaseException as caught:
            error = caught
        ready.put(_End(error))

    # A daemon, because nothing can interrupt a thread that waits for a pipe.
    Thread(target=read, name="reading", daemon=True).start()
    try:
        while True:
            try:
                line = ready.get(timeout=_MOMENT)
            except Empty:
                yield None
                line = ready.get()
            if isinstance(line, _End):
                if line.error is not None:
                    raise line.error
                return
            yield line
    finally:
        stopped.set()
        while not ready.empty():  # the thread may wait for a free place
            ready.get()
