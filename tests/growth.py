"""Whether a call takes time in proportion to the length of its text."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def is_linear(call: Callable[[int], object], length: int, *, tries: int = 5) -> bool:
    """Whether eight times `length` takes less than 24 times the time: 8 times if linear, 64 if quadratic.

    The ratio is the same on a slow machine. Other programs may disturb one try, but not all.
    """
    gc.disable()  # collecting the heap of all tests before this one would count as time of the call
    try:
        return any(_seconds(call, 8 * length) < 24 * _seconds(call, length) for _ in range(tries))
    finally:
        gc.enable()


def _seconds(call: Callable[[int], object], length: int) -> float:
    start = time.process_time()
    call(length)
    return time.process_time() - start
