"""Contenders take turns at training the same model, round after round; medians, spread and ratios."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dragoman.base import machine
from dragoman.base.errors import TrainingError
from dragoman.bench.contenders import PEERS, Conditions, Contender, Rate, variables_of

BUSY = 0.1  # cores' worth of others' work above which a turn is marked


@dataclass(kw_only=True)
class Result:
    """One contender's turns."""

    contender: Contender
    turns: list[Rate] = field(default_factory=list)
    busy: list[float | None] = field(default_factory=list)  # cores that others kept busy meanwhile
    failure: str = ""

    @property
    def tokens_per_second(self) -> float:
        """The median."""
        return statistics.median(turn.tokens_per_second for turn in self.turns)

    @property
    def operations_per_second(self) -> float:
        """The median."""
        return statistics.median(turn.operations_per_second for turn in self.turns)

    @property
    def disturbed(self) -> int:
        """Turns during which others worked."""
        return sum(busy is not None and busy > BUSY for busy in self.busy)


@dataclass(kw_only=True)
class Comparison:
    """A run of the benchmark."""

    conditions: Conditions
    results: list[Result]
    ceiling: dict[str, float]  # operations a second of a large product, by precision
    processor: str

    def to_table(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "workload": asdict(self.conditions.workload.about),
            "preset": self.conditions.preset,
            "threads": self.conditions.threads,
            "device": self.conditions.device,
            "steps": self.conditions.steps,
            "processor": self.processor,
            "ceiling": self.ceiling,
            "contenders": [
                {
                    "name": result.contender.name,
                    "about": result.contender.about,
                    "precision": result.contender.precision,
                    "tokens_per_second": result.tokens_per_second if result.turns else None,
                    "turns": [asdict(turn) for turn in result.turns],
                    "busy_cores": result.busy,
                    "failure": result.failure,
                }
                for result in self.results
            ],
        }


def compare(
    contenders: Sequence[Contender],
    conditions: Conditions,
    *,
    rounds: int,
    say: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Every contender once a round, in an order that turns. A contender that fails once is left out."""
    results = [Result(contender=contender) for contender in contenders]
    ceilings = [_ceiling(conditions)]
    for number in range(rounds):
        for result in results[number % len(results) :] + results[: number % len(results)]:
            if result.failure:
                continue
            before = _others()
            try:
                turn = result.contender.turn(conditions)
            except (TrainingError, OSError, ValueError, subprocess.SubprocessError) as error:
                result.failure = str(error)
                say(f"{result.contender.name}: {error}")
                continue
            result.turns.append(turn)
            result.busy.append(_between(before, _others()))
            say(f"round {number + 1}: {result.contender.name} {turn.tokens_per_second:,.0f} tokens/s")
        ceilings.append(_ceiling(conditions))
    ceiling = {name: statistics.median(one[name] for one in ceilings) for name in ceilings[0]}
    return Comparison(
        conditions=conditions, results=results, ceiling=ceiling, processor=_processor(conditions)
    )


def _ceiling(conditions: Conditions) -> dict[str, float]:
    command = [
        sys.executable,
        str(PEERS / "ceiling.py"),
        ".",
        "--shape",
        "{}",
        f"--threads={conditions.threads}",
        f"--device={conditions.device}",
    ]
    variables = variables_of(conditions)
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=600)
    return dict(json.loads(done.stdout))


def _processor(conditions: Conditions) -> str:
    """What the products are computed by."""
    if conditions.device == "cpu":
        return machine.processor()
    import torch

    return torch.cuda.get_device_name()


def _others() -> tuple[float, float, float] | None:
    """The time, all cores' seconds of work since the start, and those of this process and its children."""
    ticks = machine.busy_seconds()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return None if ticks is None else (time.time(), ticks, sum(u.ru_utime + u.ru_stime for u in used))


def _between(before: tuple[float, ...] | None, after: tuple[float, ...] | None) -> float | None:
    if before is None or after is None:
        return None
    seconds, all_work, our_work = (b - a for a, b in zip(before, after, strict=True))
    return max(0.0, (all_work - our_work) / seconds)
