"""The fast paths of attention against equation 1. tests/native has those of the C kernel."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dragoman.models.layers.kernels import fast_attention, fused_attention
from dragoman.models.layers.masks import causal_bias, padding_bias
from dragoman.models.transformer import attend

F64 = torch.float64


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("hidden", ["nothing", "padding", "future"])
def test_the_fused_kernel_computes_equation_1(hidden: str, dtype: torch.dtype) -> None:
    """The value and all gradients, on the CPU here: a GPU's is called in the same way."""
    q, k, v = (randn(2, 3, 5, 4, seed=seed).to(dtype).requires_grad_() for seed in (1, 2, 3))
    bias = {
        "nothing": None,
        "padding": padding_bias(torch.tensor([[True] * 5, [True] * 2 + [False] * 3]), F64),
        "future": causal_bias(5, F64, torch.device("cpu")),
    }[hidden]
    upstream = randn(2, 3, 5, 4, seed=4).to(dtype)
    fused = fused_attention(q, k, v, bias)
    plain = attend(q, k, v, None if bias is None else bias.to(dtype))

    torch.testing.assert_close(fused, plain)
    for one, other in zip(
        torch.autograd.grad(fused, (q, k, v), upstream),
        torch.autograd.grad(plain, (q, k, v), upstream),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_the_fused_kernel_shares_heads_of_keys_and_values() -> None:
    """As a copy of each for every head that shares it: also the gradients, which add up."""
    q = randn(2, 6, 5, 4, seed=1).requires_grad_()
    k, v = (randn(2, 2, 7, 4, seed=seed).requires_grad_() for seed in (2, 3))
    bias = padding_bias(torch.tensor([[True] * 7, [True] * 2 + [False] * 5]), F64)
    upstream = randn(2, 6, 5, 4, seed=4)
    copied = fused_attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1), bias)
    wanted = torch.autograd.grad(copied, (q, k, v), upstream)

    for got in (fused_attention(q, k, v, bias), attend(q, k, v, bias)):
        torch.testing.assert_close(got, copied)
        torch.testing.assert_close(torch.autograd.grad(got, (q, k, v), upstream), wanted)


def test_equation_1_is_computed_as_written_where_no_kernel_serves() -> None:
    q, k, v = (randn(1, 1, 2, 4, seed=seed) for seed in (1, 2, 3))

    assert fast_attention(q, k, v, None, 0.0) is None  # float64 on a CPU
