"""A contest: contenders take turns at training the same model. Medians, spread, and the machine's ceiling."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dragoman.base import machine
from dragoman.base.errors import DragomanError
from dragoman.bench.contenders import Conditions, Contender, Turn, variables_of
from dragoman.bench.turns import OtherWork, answer_of, disturbed, orders


@dataclass(kw_only=True)
class Standing:
    """One contender's turns."""

    contender: Contender
    turns: list[Turn] = field(default_factory=list)
    busy: list[float | None] = field(default_factory=list)  # cores that others kept busy in each turn
    failure: str = ""

    @property
    def tokens_per_second(self) -> float:
        """The median over the turns."""
        return statistics.median(turn.tokens_per_second for turn in self.turns)

    @property
    def operations_per_second(self) -> float:
        """The median over the turns."""
        return statistics.median(turn.operations_per_second for turn in self.turns)

    @property
    def peak_memory(self) -> int | None:
        """The most bytes over the turns, if known."""
        return max((t.peak_memory for t in self.turns if t.peak_memory is not None), default=None)

    @property
    def disturbed(self) -> int:
        """Number of turns during which others kept the machine busy."""
        return sum(disturbed(cores) for cores in self.busy)


@dataclass(kw_only=True)
class Contest:
    """The outcome of a contest."""

    conditions: Conditions
    results: list[Standing]
    ceiling: dict[str, float]  # operations per second of large products, by precision
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
                    "processes": result.contender.processes,
                    "tokens_per_second": result.tokens_per_second if result.turns else None,
                    "peak_memory": result.peak_memory,
                    "turns": [asdict(turn) for turn in result.turns],
                    "busy_cores": result.busy,
                    "failure": result.failure,
                }
                for result in self.results
            ],
        }


def hold(
    contenders: Sequence[Contender],
    conditions: Conditions,
    *,
    rounds: int,
    say: Callable[[str], None] = lambda _: None,
) -> Contest:
    """Let every contender take one turn a round. One that fails is left out of the later rounds."""
    results = [Standing(contender=contender) for contender in contenders]
    ceilings = [ceiling(conditions)]
    for number, order in enumerate(orders(results, rounds), 1):
        for result in order:
            if not result.failure:
                say(f"round {number}: {_take_turn(result, conditions)}")
        ceilings.append(ceiling(conditions))
    return Contest(
        conditions=conditions,
        results=results,
        ceiling={name: statistics.median(one[name] for one in ceilings) for name in ceilings[0]},
        processor=_processor(conditions),
    )


def _take_turn(result: Standing, conditions: Conditions) -> str:
    """Add a turn, or the reason for its failure, to the result. Return a line about it."""
    name = result.contender.name
    try:
        with OtherWork() as others:
            turn = result.contender.turn(conditions)
    except (DragomanError, OSError, ValueError) as error:
        result.failure = str(error)
        return f"{name} is left out: {error}"
    result.turns.append(turn)
    result.busy.append(others.cores)
    return f"{name} {turn.tokens_per_second:,.0f} tokens/s"


def ceiling(conditions: Conditions) -> dict[str, float]:
    """Operations per second of large products, by precision, measured in a separate process."""
    command = [
        *(sys.executable, "-m", "dragoman.bench.ceiling"),
        *(f"--threads={conditions.threads}", f"--device={conditions.device}"),
    ]
    return answer_of(command, variables_of(conditions), name="ceiling", timeout=600)


def _processor(conditions: Conditions) -> str:
    """The name of the processor or GPU."""
    if conditions.device == "cpu":
        return machine.processor()
    import torch

    return torch.cuda.get_device_name()
