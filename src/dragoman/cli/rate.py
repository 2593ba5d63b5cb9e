"""How fast lines are translated, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable

from dragoman.display.wording import clock_time, number

_EVERY = 0.25  # seconds between two texts


class Rate:
    """Lines since the object was made."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._shown = self._began

    def due(self) -> bool:
        """Whether the last True was a quarter of a second ago, or longer."""
        now = self._clock()
        if now - self._shown < _EVERY:
            return False
        self._shown = now
        return True

    def text(self, lines: int, share: float | None) -> str:
        """`1,200 lines, 300 lines/s, 40%, 0:06 left`. Without a share, only lines and rate."""
        seconds = max(self._clock() - self._began, 1e-9)
        parts = [f"{lines:,} lines", f"{number(lines / seconds)} lines/s"]
        if share:
            parts += [f"{share:.0%}", f"{clock_time(seconds * (1 / share - 1))} left"]
        return ", ".join(parts)
