"""Which checkpoints to average, chosen by validation loss.

Greedy soup (Wortsman et al. 2022, "Model soups", recipe 1): begin with the best checkpoint and go through the
others, best first. One stays in the average if it lowers the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

Weights = Mapping[str, Tensor]


def greedy_soup(
    steps: Sequence[int],
    *,
    read: Callable[[int], Weights],
    loss_of: Callable[[list[int], Callable[[], Weights]], float],
) -> list[int]:
    """Return those of `steps`, best first, whose mean has a low loss; the first one if no loss is a number.

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
