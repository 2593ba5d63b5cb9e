"""A contest as text."""

from __future__ import annotations

from dragoman.base.tables import aligned, count
from dragoman.bench.contenders import OURS
from dragoman.bench.contest import Contest, Standing
from dragoman.bench.turns import MARK, NOTE, megabytes, spread

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


def _ratio(result: Standing, others: list[Standing]) -> str:
    """Speed as a multiple of the fastest of the others; they are sorted, fastest first."""
    return f"{result.tokens_per_second / others[0].tokens_per_second:.2f}" if others else "-"
