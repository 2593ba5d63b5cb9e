"""Handlers of signals for a while, and Ctrl-C while the program starts or ends.

Then it gives a message instead of a traceback of half-done imports.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def handling(numbers: Iterable[int], handler: Handler | signal.Handlers) -> Iterator[None]:
    """Handle signals during the block, but only in the main thread: no other may, or receives any."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in (numbers if main else ())}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def heeded(*names: str) -> list[int]:
    """The numbers of signals, except those that are ignored, as under nohup. Windows has no SIGHUP."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [one for one in numbers if signal.getsignal(one) not in (signal.SIG_IGN, None)]


def end_at_once() -> None:
    """From now on Ctrl-C ends the program with 130, without saving or removing anything."""
    _replace(signal.default_int_handler, _end)


def raise_interrupts() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    _replace(_end, signal.default_int_handler)


def _replace(old: object, new: signal.Handlers | object) -> None:
    """Change the handler, unless others set it: what ignores Ctrl-C, as under nohup, still ignores it."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is old:
        signal.signal(signal.SIGINT, new)  # type: ignore[arg-type]


def _end(number: int, frame: FrameType | None) -> NoReturn:
    try:
        os.write(2, b"error: interrupted\n")
    finally:
        os._exit(128 + number)
