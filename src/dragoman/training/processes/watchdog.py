"""Notices when a process of a run dies or stalls, and says which.

Each process writes a sign of life into the store that PyTorch starts for the processes, and reads the signs
of the others. It times them by its own clock, so the clocks of machines need not agree.

A dead process breaks a connection, which ends the wait of the others with an error; `lost` then says which it
was. A stalled one breaks none. After `limit` seconds the watchdog ends this process, because nothing else can
interrupt its wait.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Protocol

from dragoman.base.errors import ConfigError

VARIABLE = "DRAGOMAN_STALL_SECONDS"
_LIMIT = 600.0  # seconds
_MISSED = 5  # signs of life; then a process is silent
_KEEPER = "process 0, or the torchrun that started it, has ended or cannot be reached"  # of the store
RESUME = "repeat the command to resume from the last checkpoint"


class Store(Protocol):
    """The part of a `torch.distributed.Store` that the watchdog uses. Errors are RuntimeErrors."""

    def set(self, key: str, value: str, /) -> Any: ...
    def check(self, keys: list[str], /) -> bool: ...
    def multi_get(self, keys: list[str], /) -> list[bytes]: ...


def limit_from_environment() -> float:
    """The seconds without a sign of life after which a run ends. Raises ConfigError for a wrong variable."""
    text = os.environ.get(VARIABLE, "")
    try:
        limit = float(text) if text else _LIMIT
        if not limit > 0:
            raise ValueError
    except ValueError as error:
        raise ConfigError(
            f"{VARIABLE}={text} cannot be used", hint="use a number of seconds above 0"
        ) from error
    return limit


@dataclass
class _Other:
    """The last signs of life of another process."""

    sign: str = ""  # the last one
    seen: float = 0.0  # when it was new
    arrived: int = 0  # exchanges between the processes that it has begun
    busy: bool = False  # whether it works while the others wait, as the leader does when it tokenises


def _die(text: str) -> None:
    os.write(2, f"error: {text}\nhint: {RESUME}\n".encode())  # the main thread may hold sys.stderr
    os._exit(1)


class Watchdog:
    """The watchdog of one process. `start` runs it in a thread; without that, call `look`."""

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        *,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = time.sleep,
        end: Callable[[str], object] = _die,
        host: str | None = None,
    ) -> None:
        self._store, self._rank, self._size, self._limit = store, rank, size, limit
        self._clock, self._wait, self._end = clock, wait, end
        self.every = min(max(1.0, size / 64), limit / 10)  # seconds between signs: every process reads all
        self._count = self._arrived = 0
        self._busy = self._training = False
        self._waiting: float | None = None  # since when this process waits for the others
        self._others = {other: _Other(seen=clock()) for other in range(size) if other != rank}
        self._reached = clock()  # when the store last answered
        self._closed = Event()
        self._thread: Thread | None = None
        store.set(f"host/{rank}", host or socket.gethostname())
        self._sign()

    def start(self) -> None:
        """Look from now on, in a thread."""
        self._thread = Thread(target=self._run, name="watchdog", daemon=True)
        self._thread.start()

    def training(self) -> None:
        """From now on a process that stalls ends the run. Before, the leader may tokenise for hours."""
        self._training = True

    def arrive(self) -> None:
        """This process begins an exchange with the others."""
        self._arrived += 1
        self._waiting = self._clock()

    def leave_exchange(self) -> None:
        """It has ended."""
        self._waiting = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """In the block this process works while the others wait."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    def close(self, reason: str = "") -> None:
        """This process leaves the run: `reason` is its own error, or empty."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(10)
        try:
            self._store.set(f"left/{self._rank}", reason)
        except RuntimeError:
            return  # the others are gone, too

    def _run(self) -> None:
        while not self._closed.wait(self.every):
            self.look()

    def look(self) -> None:
        """Give a sign of life, read the others' signs, and end this process if one has stalled."""
        now = self._clock()
        try:
            self._sign()
            self._read(now)
        except RuntimeError:
            pass  # judged by the time since it last answered
        else:
            self._reached = now
        if self._training and (text := self._stalled(now)):
            self._end(f"process {self._rank} of this run ends: {text}")

    def _sign(self) -> None:
        self._count += 1
        self._store.set(f"sign/{self._rank}", f"{self._count} {self._arrived} {int(self._busy)}")

    def _read(self, now: float) -> None:
        known = [other for other in self._others if self._store.check([f"sign/{other}"])]
        for other, value in zip(known, self._store.multi_get([f"sign/{o}" for o in known]), strict=True):
            about, sign = self._others[other], value.decode()
            if sign != about.sign:
                about.sign, about.seen = sign, now
                _, arrived, busy = sign.split()
                about.arrived, about.busy = int(arrived), busy == "1"

    def _stalled(self, now: float) -> str:
        """Which process has stalled, as text, or nothing."""
        if now - self._reached >= self._limit:
            return _KEEPER
        for other, about in self._others.items():
            if now - about.seen >= self._limit and not self._left(other):
                return f"{self._name(other)} has not answered for {self._limit:g} s"
        if self._waiting is None or now - self._waiting < self._limit:
            return ""
        late = [other for other, about in self._others.items() if about.arrived < self._arrived]
        late = [other for other in late if not self._others[other].busy and not self._left(other)]
        if not late:
            return ""
        latest = min(late, key=lambda other: self._others[other].arrived)
        return f"{self._name(latest)} has kept the others waiting for {self._limit:g} s"

    def lost(self) -> str:
        """After an exchange has failed: which process ended, as text, or nothing if that stays unknown.

        Waits until one has missed several signs of life.
        """
        failed, silence = self._clock(), _MISSED * self.every
        while (now := self._clock()) < failed + 3 * silence:
            if now - self._reached >= silence:
                return _KEEPER
            for other in self._others:
                if reason := self._text(f"left/{other}"):
                    return f"{self._name(other)} ended: {reason}"
            silent = [other for other, about in self._others.items() if now - about.seen >= silence]
            silent = [other for other in silent if not self._left(other)]
            if silent and now >= failed + silence + 2 * self.every:
                # The one whose last sign is nearest to the failure. Another may be busy in a long call.
                nearest = min(silent, key=lambda other: abs(self._others[other].seen - failed))
                return f"{self._name(nearest)} ended"
            self._wait(self.every / 2)
        return ""

    def _left(self, other: int) -> bool:
        try:
            return self._store.check([f"left/{other}"])
        except RuntimeError:
            return False

    def _text(self, key: str) -> str:
        """What a process put into the store; empty if it did not, or the store cannot be reached."""
        try:
            return self._store.multi_get([key])[0].decode() if self._store.check([key]) else ""
        except RuntimeError:
            return ""

    def _name(self, other: int) -> str:
        host = self._text(f"host/{other}")
        return f"process {other} on {host}" if host else f"process {other}"


def watchdog_of(store: Any, rank: int, size: int) -> Watchdog:
    """A watchdog that runs, on a connection of its own to the store of the processes."""
    from torch.distributed import PrefixStore  # type: ignore[attr-defined]  # public

    watchdog = Watchdog(PrefixStore("watchdog", store.clone()), rank, size, limit=limit_from_environment())
    watchdog.start()
    return watchdog


def guilty(error: BaseException, innocent: Sequence[type[BaseException]]) -> str:
    """Return the error that a process reports to the others as it leaves; empty if it is another's."""
    return "" if isinstance(error, tuple(innocent)) else str(error) or type(error).__name__
