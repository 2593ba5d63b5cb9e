"""Keep only the input of each layer, and compute the layer again in the backward pass.

Activation checkpointing: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", with a segment
for each layer. Gradients are the same, bit for bit, because the second pass draws the same dropout masks. An
update takes one more forward pass of the layers, up to a third more operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from dragoman.models.transformer import Transformer


def recompute_layers(model: Transformer) -> None:
    """Have the layers of encoder and decoder computed again in each backward pass. Changes their `forward`.

    The weights, their names and the results stay the same.
    """
    for layer in (*model.encoder, *model.decoder):
        setattr(layer, "forward", _Recomputed(layer))  # noqa: B010 - a method, for a type checker


class _Recomputed:
    """A layer's `forward` that keeps its arguments only, in training."""

    def __init__(self, layer: nn.Module) -> None:
        self._layer = layer
        self._forward: Callable[..., Any] = layer.forward
        self._again = False

    def __call__(self, *arguments: Any) -> Any:
        if self._again or self._watched() or not (self._layer.training and torch.is_grad_enabled()):
            return self._forward(*arguments)
        # In bf16 the weights are copies, which are in the module during the forward pass only.
        weights: Iterable[tuple[str, Tensor]] = self._layer.named_parameters()
        copies = {name: weight for name, weight in weights if not isinstance(weight, nn.Parameter)}
        return checkpoint(self._run, copies, *arguments, use_reentrant=False)

    def _watched(self) -> bool:
        """Whether a hook keeps results of a part, as for a head that learns to align: they would be lost.

        The hooks of linear layers add an adapter's part and keep nothing.
        """
        parts = (part for part in self._layer.modules() if part is not self._layer)
        return any(part._forward_hooks for part in parts if not isinstance(part, nn.Linear))

    def _run(self, copies: dict[str, Tensor], *arguments: Any) -> Any:
        if not copies:
            return self._forward(*arguments)
        self._again = True
        try:
            return functional_call(self._layer, copies, arguments)
        finally:
            self._again = False
