"""Progress of a job: share done, rate, and time left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Meter:
    """Gives a line about the progress to `say`, at most once in `every` seconds.

    `translating: 1,200 of 4,800 lines, 20.0 lines/s, 25%, 3:00 left`. The work is `total` in `units`; if that
    is not known, `share` returns the share of it that is done with a count, or None. `done` was done before:
    it counts as done, but not in the rate.
    """

    def __init__(
        self,
        doing: str,
        say: Callable[[str], None],
        *,
        units: str = "lines",
        total: int | None = None,
        share: Callable[[int], float | None] = lambda count: None,
        done: int = 0,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._doing, self._say, self._units, self._total, self._share = doing, say, units, total, share
        self._done, self._every, self._clock = done, every, clock
        self._first_share = self._share_of(done) if total or not done else None
        self._began = self._shown = clock()

    def __call__(self, count: int) -> None:
        """Report that `count` is done in all, if a line is due. The end of a known total always gets one."""
        now, share = self._clock(), self._share_of(count)
        if self._first_share is None:
            self._first_share = share
        if now - self._shown < self._every and (self._total is None or count < self._total):
            return
        self._shown = now
        rate = (count - self._done) / max(now - self._began, 1e-9)
        of = "" if self._total is None else f" of {self._total:,}"
        parts = [f"{count:,}{of} {self._units}", f"{number(rate)} {self._units}/s"]
        if share is not None:
            added = share - (self._first_share or 0.0)
            left = (now - self._began) * (1 - share) / added if added > 0 else None
            parts += [f"{share:.0%}", f"{clock_time(left)} left"]
        self._say(f"{self._doing}: {', '.join(parts)}")

    def _share_of(self, count: int) -> float | None:
        return self._share(count) if self._total is None else count / max(self._total, 1)


def clock_time(seconds: float | None) -> str:
    """`3:07` or `1:02:09`; `-` if unknown."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def number(value: float) -> str:
    """Return two decimals below 10, one below 100, then none: `4.13`, `52.1`, `6,120`, `1.2e+09`."""
    if not math.isfinite(value) or abs(value) >= 1e7:
        return f"{value:.2g}"
    return f"{value:,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"
