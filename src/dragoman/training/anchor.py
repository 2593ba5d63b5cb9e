"""A penalty on the distance of the weights from those that training began with."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class Anchor:
    """L2-SP: half of `weight` times the squared distance from the first weights (Li et al. 2018, eq. 2).

    It remembers the weights that the parameters have now, so build it before a checkpoint is restored.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], weight: float) -> None:
        self._weight = weight
        self._first = [(p, p.detach().clone()) for p in parameters if p.requires_grad]

    @torch.no_grad()
    def pull(self) -> None:
        """Add the gradient of the penalty, weight * (w - first w), to that of each parameter that has one."""
        for parameter, first in self._first:
            if parameter.grad is not None:
                parameter.grad.add_(parameter - first, alpha=self._weight)
