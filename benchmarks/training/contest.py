"""A contest: contenders take turns at training the same model. Medians, spread, and the machine's ceiling."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from measuring.turns import MARK, NOTE, Standing, ceiling_of, megabytes, orders, spread
from training.contenders import OURS, Conditions, Contender, Turn, variables_of

from dragoman.base import machine
from dragoman.base.tables import aligned, count


@dataclass(kw_only=True)
class TrainingStanding(Standing[Contender, Turn]):
    """One contender's turns."""

    @property
    def tokens_per_second(self) -> float:
        """The median over the turns."""
        return statistics.median(turn.tokens_per_second for turn in self.turns)

    @property
    def operations_per_second(self) -> float:
        """The median over the turns."""
        return statistics.median(turn.operations_per_second for turn in self.turns)


@dataclass(kw_only=True)
class Contest:
    """The outcome of a contest."""

    conditions: Conditions
    results: list[TrainingStanding]
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
                    **result.to_table(),
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
    results = [TrainingStanding(contender=contender) for contender in contenders]
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


def _take_turn(result: TrainingStanding, conditions: Conditions) -> str:
    """Add a turn, or the reason for its failure, to the result. Return a line about it."""
    name = result.contender.name
    result.attempt(lambda: result.take(lambda: result.contender.turn(conditions)))
    if result.failure:
        return f"{name} is left out: {result.failure}"
    return f"{name} {result.turns[-1].tokens_per_second:,.0f} tokens/s"


def ceiling(conditions: Conditions) -> dict[str, float]:
    """Operations per second of large products, by precision."""
    flags = f"--threads={conditions.threads}", f"--device={conditions.device}"
    return ceiling_of(*flags, variables=variables_of(conditions))


def _processor(conditions: Conditions) -> str:
    """The name of the processor or GPU."""
    if conditions.device == "cpu":
        return machine.processor()
    import torch

    return torch.cuda.get_device_name()


_HEAD = (
    "contender", "precision", "tokens/s", "spread", "x untuned", "x tuned", "GFLOP/s", "of ceiling", "peak MB"
)  # fmt: skip


def to_text(contest: Contest) -> str:
    """A table, fastest first, with the conditions above it and notes below."""
    conditions, about = contest.conditions, contest.conditions.workload.about
    results = sorted((r for r in contest.results if r.turns), key=lambda r: -r.tokens_per_second)
    stock = [r for r in results if r.contender.stock]
    tuned = [r for r in results if not r.contender.name.startswith(OURS) and not r.contender.stock]
    rows = [list(_HEAD)]
    for result in results:
        share = result.operations_per_second / contest.ceiling[result.contender.precision]
        rows.append(
            [
                result.contender.name + (f" {MARK}" if result.disturbed else ""),
                result.contender.precision,
                f"{result.tokens_per_second:,.0f}",
                spread([turn.tokens_per_second for turn in result.turns]),
                _ratio(result, stock),
                _ratio(result, tuned),
                f"{result.operations_per_second / 1e9:,.0f}",
                f"{share:.0%}",
                megabytes(result.peak_memory),
            ]
        )
    place = contest.processor
    if conditions.device == "cpu":
        place = f"{count(conditions.threads, 'thread')}, {place}"
    rounds = max((len(r.turns) for r in contest.results), default=0)
    ceilings = ", ".join(f"{name} {rate / 1e9:,.0f}" for name, rate in contest.ceiling.items())
    lines = [
        f"{conditions.preset}: {about.title}, {about.pairs:,} pairs, {about.vocab:,} subwords, batches of"
        f" {about.batch_tokens:,} tokens, {place}",
        *aligned(rows, right=range(2, len(_HEAD))),
        "",
        *aligned([[r.contender.name, r.contender.about, r.turns[-1].version] for r in results] or [[""]]),
        "",
        f"median of {count(rounds, 'turn')} of {count(conditions.steps, 'step')}; target tokens"
        " are counted without padding",
        "x untuned: ratio to the fastest untuned toolkit; x tuned: to the fastest tuned one",
        f"ceiling: large products, {ceilings} GFLOP/s",
        "peak MB: resident memory of the largest process, times the processes",
    ]
    if any(result.disturbed for result in results):
        lines.append(NOTE)
    lines += [f"left out: {r.failure}" for r in contest.results if r.failure]
    return "\n".join(lines)


def _ratio(result: TrainingStanding, others: list[TrainingStanding]) -> str:
    """Speed as a multiple of the fastest of the others; they are sorted, fastest first."""
    return f"{result.tokens_per_second / others[0].tokens_per_second:.2f}" if others else "-"
