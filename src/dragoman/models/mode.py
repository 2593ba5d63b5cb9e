"""Evaluation mode for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.models.seq2seq import AnySeq2Seq


@contextmanager
def evaluating(model: AnySeq2Seq) -> Iterator[None]:
    """Switch dropout off within the block, then restore the mode of each module."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
