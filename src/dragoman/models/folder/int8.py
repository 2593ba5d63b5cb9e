"""Weights rounded as the 8-bit models of Marian and Firefox hold them, for intgemm: one scale a matrix.

A matrix W becomes the integers nearest to q W, half to even, from -127 to 127, with q = 127 / max |W| in
float32; the program computes with integer / q. Biases, norms and tables of positions stay as they are. The
rule is that of browsermt/marian-dev (`expression_graph_packable.h`) and of intgemm.

A quantised model folder is more exact: it has one scale a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from dragoman.models.layers.linear import Blocks
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.folder.quantised import GREATEST, is_quantised


def round_to_int8(weight_RC: Tensor, parts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return int8 numbers, and q of each part: matrices one below the other, of so many rows each.

    A matrix of zeros has q = 1.
    """
    weight_RC = weight_RC.detach().float()
    greatest = torch.stack([part.abs().amax() for part in weight_RC.split_with_sizes(list(parts))])
    # Not 127 / tensor: PyTorch multiplies by the reciprocal, which rounds twice.
    q_P = torch.where(greatest > 0, torch.full_like(greatest, GREATEST) / greatest, 1.0)
    numbers_RC = (weight_RC * _by_row(q_P, parts)).round_().clamp_(-GREATEST, GREATEST)
    return numbers_RC.to(torch.int8), q_P


def int8_parts(model: AnySeq2Seq) -> dict[str, tuple[int, ...]]:
    """The weights that are rounded, tied ones once, and the rows of each matrix in them: W^Q, W^K and W^V
    are stored as one weight."""
    modules = dict(model.named_modules())
    parts = {}
    for name, weight in model.named_parameters():
        if is_quantised(name):
            module = modules[name.rpartition(".")[0]]
            parts[name] = module.sizes if isinstance(module, Blocks) else (len(weight),)
    return parts


@contextmanager
def rounded_to_int8(model: AnySeq2Seq) -> Iterator[None]:
    """Within the block, the model has rounded weights, in its own dtype; then its own again.

    A gradient computed in the block is that of the rounded weights. For the weights before rounding it is
    the straight-through estimate (Bengio et al. 2013).
    """
    weights, rows = dict(model.named_parameters()), int8_parts(model)
    own = {name: weights[name].data for name in rows}
    try:
        for name, parts in rows.items():
            numbers_RC, q_P = round_to_int8(own[name], parts)
            weights[name].data = (numbers_RC / _by_row(q_P, parts)).to(own[name].dtype)
        yield
    finally:
        for name, weight in own.items():
            weights[name].data = weight


def _by_row(q_P: Tensor, parts: Sequence[int]) -> Tensor:
    return q_P.repeat_interleave(torch.tensor(parts, device=q_P.device), output_size=sum(parts))[:, None]
