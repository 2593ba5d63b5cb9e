"""Fair measurements on a shared machine: turns, separate processes, and a mark if others were busy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from dragoman.base import machine
from dragoman.base.errors import DragomanError, TrainingError

T = TypeVar("T")
BUSY = 0.1  # cores that others keep busy, above which a measurement is marked
MARK = "*"
NOTE = (
    f"{MARK} others kept more than {BUSY:g} cores busy during a turn: measure again when the machine is idle"
)


def orders(items: Sequence[T], rounds: int) -> Iterator[list[T]]:
    """Yield the order of each round: every item once, and each round begins with the next item.

    So a machine that gets slower or faster favours no item.
    """
    for number in range(rounds):
        first = number % len(items)
        yield [*items[first:], *items[:first]]


def answer_of(
    command: Sequence[str], variables: Mapping[str, str] | None = None, *, name: str, timeout: float = 1800
) -> dict[str, Any]:
    """Run a command in a separate process and return its answer: the last line of output that is JSON.

    Raises TrainingError, with the last line of its errors, if the process fails or gives no answer.
    """
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise TrainingError(f"{name}: no answer within {timeout:g} seconds") from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        errors = [line for line in done.stderr.strip().splitlines() if not line.startswith("hint: ")]
        last = (errors or ["no output"])[-1]
        raise TrainingError(f"{name}: {last[:300]}", hint="run its command yourself: " + " ".join(command))
    return dict(json.loads(lines[-1]))


def ceiling_of(*flags: str, variables: Mapping[str, str] | None = None) -> dict[str, float]:
    """Operations per second of large products, by type, measured in a separate process."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("ceiling.py")), *flags]
    return answer_of(command, variables, name="ceiling", timeout=600)


class OtherWork:
    """A context that measures how many cores other processes keep busy inside it.

    The work of this process and of its children that have ended is not counted. `cores` is None if the
    system does not report it.
    """

    cores: float | None = None

    def __enter__(self) -> OtherWork:
        self._before = _work()
        return self

    def __exit__(self, *_: object) -> None:
        after = _work()
        if self._before is not None and after is not None:
            seconds, all_work, our_work = (b - a for a, b in zip(self._before, after, strict=True))
            self.cores = max(0.0, (all_work - our_work) / seconds)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one turn measured, of any contest."""

    peak_memory: int | None = None  # bytes
    version: str = ""


Contender = TypeVar("Contender")
Turn = TypeVar("Turn", bound=Measured)


@dataclass(kw_only=True)
class Standing(Generic[Contender, Turn]):
    """One contender's turns, and why it takes no more of them."""

    contender: Contender
    turns: list[Turn] = field(default_factory=list)
    busy: list[float | None] = field(default_factory=list)  # cores that others kept busy in each turn
    failure: str = ""

    def attempt(self, work: Callable[[], object]) -> None:
        """Do some work. If it fails, note the reason."""
        try:
            work()
        except (DragomanError, OSError, ValueError) as error:
            self.failure = str(error)

    def take(self, turn: Callable[[], Turn]) -> None:
        """Add a turn."""
        with OtherWork() as others:
            taken = turn()
        self.turns.append(taken)
        self.busy.append(others.cores)

    @property
    def peak_memory(self) -> int | None:
        """The most bytes over the turns, if known."""
        return max((t.peak_memory for t in self.turns if t.peak_memory is not None), default=None)

    @property
    def disturbed(self) -> int:
        """Number of turns during which others kept the machine busy."""
        return sum(disturbed(cores) for cores in self.busy)

    def to_table(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "peak_memory": self.peak_memory,
            "turns": [asdict(turn) for turn in self.turns],
            "busy_cores": self.busy,
            "failure": self.failure,
        }


def disturbed(cores: float | None) -> bool:
    """Whether others kept enough cores busy that the measurement must be marked."""
    return cores is not None and cores > BUSY


def spread(values: Sequence[float], form: str = ",.0f") -> str:
    """Return minimum and maximum, such as `100-300`."""
    return f"{min(values):{form}}-{max(values):{form}}"


def megabytes(size: float | None) -> str:
    """Bytes as a cell of a table."""
    return "-" if size is None else f"{size / 1e6:,.0f}"


def _work() -> tuple[float, float, float] | None:
    """The time, and the work of all cores and of this process with its children so far, in seconds."""
    all_work = busy_seconds()
    return None if all_work is None else (time.time(), all_work, _our_work())


def busy_seconds() -> float | None:
    """Seconds of work of all cores together since the machine started."""
    ticks = machine.ticks()
    return None if ticks is None else (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK")


def _our_work() -> float:
    return sum(os.times()[:4])
