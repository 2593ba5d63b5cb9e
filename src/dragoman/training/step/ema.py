"""An exponential moving average of the weights, to validate and to keep in place of the last weights.

The mean of the weights over many updates is close to where they end up with a smaller learning rate (Polyak
and Juditsky 1992). Here recent updates weigh more, so that it can be computed during training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from dragoman.models.folder.weights import HasWeights, outlines
from dragoman.translation.folder.fit import check_fit


def decay_of(step: int, decay: float) -> float:
    """The decay at update `step`, counted from 1: at first smaller, so that the first weights are forgotten.

    min(decay, (1 + step) / (10 + step)), as TensorFlow's ExponentialMovingAverage with `num_updates`.
    """
    return min(decay, (1 + step) / (10 + step))


class MovingAverage:
    """The moving average of the weights of a model that are trained, in their own dtype: float32.

    After each update, average = d average + (1 - d) weight, where d is `decay_of` this update. It begins with
    the weights that the model has now. Of weights that several processes share, each averages its rows:
    `own` returns these.
    """

    def __init__(
        self, model: HasWeights, decay: float, own: Callable[[Tensor], Tensor] = lambda w: w
    ) -> None:
        self._decay, self._own = decay, own
        self._learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
        # The averages by name, divided among processes as the weights are.
        self.weights = {name: p.detach().clone() for name, p in self._learned.items()}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take in the weights after update `step`."""
        averages = [self._own(average) for average in self.weights.values()]
        weights = [self._own(parameter.detach()) for parameter in self._learned.values()]
        torch._foreach_lerp_(averages, weights, 1 - decay_of(step, self._decay))

    def put(self, values: Mapping[str, Tensor], where: Path | str) -> None:
        """Restore averages of weights that are not divided.

        Raises ModelError, and changes nothing, if names or shapes differ.
        """
        check_fit(outlines(values), outlines(self.weights), where)
        for name, average in self.weights.items():
            average.copy_(values[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block, the model has the averages in place of its weights. Nothing is copied."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        for name, parameter in self._learned.items():
            parameter.data, self.weights[name] = self.weights[name], parameter.data
