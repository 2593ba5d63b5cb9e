"""Evaluation mode for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """No dropout meanwhile: a model may be tried in the middle of its training. Each of its modules is left
    in the mode it was in."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    training = [module.training for module in modules]
    if isinstance(model, nn.Module):
        model.eval()
    try:
        yield
    finally:
        for module, mode in zip(modules, training, strict=True):
            module.training = mode
