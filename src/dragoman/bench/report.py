"""A comparison as text."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from dragoman.bench.contenders import OURS
from dragoman.bench.training import Comparison, Result


def to_text(comparison: Comparison, *, width: int = 110) -> str:
    """A table, fastest first, with what it rests on below."""
    conditions, about = comparison.conditions, comparison.conditions.workload.about
    results = sorted((r for r in comparison.results if r.turns), key=lambda r: -r.tokens_per_second)
    stock = max((r.tokens_per_second for r in results if r.contender.stock), default=None)
    tuned = [r for r in results if not r.contender.name.startswith(OURS) and r.contender.precision == "bf16"]
    best = max((r.tokens_per_second for r in tuned), default=None)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("contender")
    table.add_column("", overflow="fold")
    for head in ("tokens/s", "spread", "x stock", "x tuned", "GFLOP/s", "of ceiling"):
        table.add_column(head, justify="right")
    for result in results:
        rates = sorted(turn.tokens_per_second for turn in result.turns)
        share = result.operations_per_second / comparison.ceiling[result.contender.precision]
        table.add_row(
            result.contender.name + (" *" if result.disturbed else ""),
            f"{result.contender.precision}, {result.contender.about}",
            f"{result.tokens_per_second:,.0f}",
            f"{rates[0]:,.0f}-{rates[-1]:,.0f}",
            _ratio(result, stock),
            _ratio(result, best),
            f"{result.operations_per_second / 1e9:,.0f}",
            f"{share:.0%}",
        )
    screen = io.StringIO()
    Console(file=screen, width=width, color_system=None).print(table)
    rounds = max((len(r.turns) for r in comparison.results), default=0)
    ceilings = ", ".join(f"{name} {rate / 1e9:,.0f}" for name, rate in comparison.ceiling.items())
    lines = [
        f"{conditions.preset}: {about.title}, {about.pairs:,} pairs, {about.vocab:,} subwords, batches of"
        f" {about.batch_tokens:,} tokens, {_where(comparison)}",
        *(line.rstrip() for line in screen.getvalue().splitlines()),
        f"median of {rounds} turns of {conditions.steps} steps; ceiling, large products: {ceilings} GFLOP/s",
    ]
    if any(result.disturbed for result in results):
        lines.append(
            "* others kept more than a tenth of a core busy during a turn; measure again when it is quiet"
        )
    lines += [f"left out: {r.failure}" for r in comparison.results if r.failure]
    return "\n".join(lines)


def _where(comparison: Comparison) -> str:
    if comparison.conditions.device == "cuda":
        return comparison.processor
    return f"{comparison.conditions.threads} threads, {comparison.processor}"


def _ratio(result: Result, to: float | None) -> str:
    return f"{result.tokens_per_second / to:.2f}" if to else "-"
