"""Give up a search from outside: a check that an engine calls while it waits.

    def look():
        if left.is_set():
            raise Gone

    with abandonable(look):
        translator.translate(lines)  # raises Gone soon after `left` is set

The engines that serve several callers look: the native one, and `serving/shared_engine.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_WATCH: ContextVar[Callable[[], None] | None] = ContextVar("watch", default=None)


@contextmanager
def abandonable(look: Callable[[], None]) -> Iterator[None]:
    """Have searches of this thread call `look` at least ten times a second. Its error ends the search."""
    token = _WATCH.set(look)
    try:
        yield
    finally:
        _WATCH.reset(token)


def look_up() -> None:
    """Call what `abandonable` named, if anything."""
    if (look := _WATCH.get()) is not None:
        look()
