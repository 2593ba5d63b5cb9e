"""Fair measurements on a shared machine: turns, separate processes, and a mark if others were busy."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dragoman.base import machine
from dragoman.base.errors import TrainingError

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
        said = [line for line in done.stderr.strip().splitlines() if not line.startswith("hint: ")]
        last = (said or ["no output"])[-1]
        raise TrainingError(f"{name}: {last[:300]}", hint="run its command yourself: " + " ".join(command))
    return dict(json.loads(lines[-1]))


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
    """The time, the work of all cores so far, and that of this process and its children, in seconds."""
    all_work = machine.busy_seconds()
    return None if all_work is None else (time.time(), all_work, _our_work())


def _our_work() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)
