"""How far a long preparation of a run is, how fast it goes, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from dragoman.display.wording import clock_time, number


class Pace:
    """Reports progress every few seconds. `total` counts what is done in all, in `units`."""

    SECONDS = 10.0  # between two messages

    def __init__(
        self,
        what: str,
        total: int,
        units: str,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._total, self._units, self._say, self._clock = what, total, units, say, clock
        self._began: tuple[float, int] | None = None  # when, and how much was done then
        self._shown = 0.0

    def done(self, count: int) -> None:
        """Say that this much is done, if it is time to: all of it is always worth a message."""
        now = self._clock()
        if self._began is None:
            self._began, self._shown = (now, count), now
            return
        if now - self._shown < self.SECONDS and count < self._total:
            return
        self._shown = now
        rate = (count - self._began[1]) / max(now - self._began[0], 1e-9)
        left = clock_time((self._total - count) / rate) if rate > 0 else "-"
        self._say(
            f"{self._what}: {count:,} of {self._total:,} {self._units}, "
            f"{number(rate)} {self._units}/s, {left} left"
        )
