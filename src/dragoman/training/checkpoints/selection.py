"""Which checkpoints to keep, which to average, and when to stop early.

The candidates of a run come in the order of their updates. Section 6.1 of the paper averages the last 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.training.checkpoints.progress import Candidate
from dragoman.training.options import StopOn, TrainingConfig

if TYPE_CHECKING:
    from torch import Tensor

    Weights = Mapping[str, Tensor]


def validation_score(one: Candidate, by: StopOn) -> float:
    """The score that ranks candidates; higher is better. NaN becomes -inf, so it is never the best."""
    if one.loss is None:
        return float(one.step)  # without validation text the last is the best
    measured = None if by == "loss" else one.measure(by)
    value = -one.loss if measured is None else measured
    return -math.inf if math.isnan(value) else float(value)


def regular(history: Sequence[Candidate], config: TrainingConfig) -> list[Candidate]:
    """The candidates of every `validate_every` updates, without the extra one at the end of a run."""
    return [candidate for candidate in history if candidate.step % config.validate_every == 0]


def best_candidate(history: Sequence[Candidate]) -> Candidate:
    """The candidate with the highest score, the first of equal ones."""
    return max(history, key=lambda candidate: candidate.score)


def rank(candidate: Candidate, config: TrainingConfig) -> float:
    """The score that compares candidates at the end; higher is better."""
    if config.chosen_by == config.stop_on:
        return candidate.score
    return validation_score(candidate, config.chosen_by)


def best_single(history: Sequence[Candidate], config: TrainingConfig) -> Candidate:
    """The candidate to compare the average with, the first of equal ones."""
    return max(history, key=lambda candidate: rank(candidate, config))


def averaged(history: Sequence[Candidate], config: TrainingConfig) -> list[int]:
    """The updates whose weights the final average takes; for a soup, its candidates, lowest loss first."""
    if config.average_of == "soup":
        by_loss = [validation_score(one, "loss") for one in history]
        order = sorted(range(len(history)), key=lambda number: -by_loss[number])
        return [history[number].step for number in order[: config.average]]
    if config.average_of == "best":
        history = sorted(history, key=lambda candidate: candidate.score)
    return [candidate.step for candidate in history[-config.average :]]


def kept(history: Sequence[Candidate], config: TrainingConfig) -> set[int]:
    """The updates whose weights the average of this run, or of a longer one, may still need."""
    steps: set[int] = set()
    for candidates in (history, regular(history, config)):
        if candidates:
            steps |= {*averaged(candidates, config), best_candidate(candidates).step}
            steps.add(best_single(candidates, config).step)
    return steps


def out_of_patience(history: Sequence[Candidate], config: TrainingConfig) -> bool:
    """Whether `patience` regular validations in a row were no better than the best before them."""
    candidates = regular(history, config)
    if not config.patience or not candidates:
        return False
    return len(candidates) - 1 - candidates.index(best_candidate(candidates)) >= config.patience


def greedy_soup(
    steps: Sequence[int],
    *,
    read: Callable[[int], Weights],
    loss_of: Callable[[list[int], Callable[[], Weights]], float],
) -> list[int]:
    """Return those of `steps`, best first, whose mean has a low loss; the first one if no loss is a number.

    Greedy soup (Wortsman et al. 2022, "Model soups", recipe 1): a checkpoint stays in the average if it
    lowers the loss.

    `read` returns the weights of an update. `loss_of` gets the updates of an average, and a function that
    returns their mean. Of several processes, only the leader calls that function. Holds one sum in float64,
    and the weights of one update at a time.
    """
    chosen: list[int] = []
    least = math.inf
    total: dict[str, Tensor] = {}
    last: Weights = {}

    def mean_with(step: int) -> Weights:
        nonlocal last
        last = read(step)
        return {
            name: ((total[name] + weight if chosen else weight.double()) / (len(chosen) + 1)).to(weight.dtype)
            for name, weight in last.items()
        }

    for step in steps:
        tried = [*chosen, step]
        loss = loss_of(tried, lambda step=step: mean_with(step))  # type: ignore[misc]  # a default
        if loss < least:
            for name, weight in last.items():
                total[name] = total[name] + weight if chosen else weight.double()
            chosen, least = tried, loss
    return chosen or list(steps[:1])
