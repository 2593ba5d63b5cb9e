"""Attention of transformer.py against sums in plain Python and against torch.nn.MultiheadAttention."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor, nn

from dragoman.models.layers.masks import causal_bias, padding_bias
from dragoman.models.layers.window import FullView
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import CrossAttention, MultiHead, SelfAttention, attend, attention_weights

F64 = torch.float64


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def attend_in_python(q: list[list[float]], k: list[list[float]], v: list[list[float]]) -> list[list[float]]:
    """Eq. 1 for one head, a number at a time."""
    out = []
    for query in q:
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in k]
        total = sum(math.exp(score) for score in scores)
        weights = [math.exp(score) / total for score in scores]
        out.append([sum(w * row[d] for w, row in zip(weights, v, strict=True)) for d in range(len(v[0]))])
    return out


# Eq. 1


def test_attend_is_equation_1() -> None:
    q, k, v = randn(2, 3, 4, 5, seed=1), randn(2, 3, 6, 5, seed=2), randn(2, 3, 6, 5, seed=3)

    out = attend(q, k, v)

    for b in range(2):
        for h in range(3):
            wanted = attend_in_python(q[b, h].tolist(), k[b, h].tolist(), v[b, h].tolist())
            torch.testing.assert_close(out[b, h], torch.tensor(wanted, dtype=F64), rtol=1e-13, atol=1e-13)


def test_weights_are_a_distribution_over_the_visible_keys() -> None:
    visible_BS = torch.tensor([[True, True, False], [True, False, False]])

    weights = attention_weights(
        randn(2, 2, 4, 8, seed=1), randn(2, 2, 3, 8, seed=2), padding_bias(visible_BS, F64)
    )

    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 4, dtype=F64))
    assert bool((weights[0, :, :, 2] == 0).all())
    assert bool((weights[1, :, :, 1:] == 0).all())
    assert bool((weights[0, :, :, :2] > 0).all())


def test_masking_a_key_equals_leaving_it_out() -> None:
    q, k, v = randn(1, 2, 3, 4, seed=1), randn(1, 2, 5, 4, seed=2), randn(1, 2, 5, 4, seed=3)
    bias = padding_bias(torch.tensor([[True, True, True, False, False]]), F64)

    torch.testing.assert_close(
        attend(q, k, v, bias), attend(q, k[:, :, :3], v[:, :, :3]), rtol=1e-14, atol=1e-14
    )


def test_causal_bias_shows_each_position_itself_and_what_came_before() -> None:
    bias = causal_bias(4, F64, torch.device("cpu"))

    for t in range(4):
        for s in range(4):
            assert bias[t, s] == (0 if s <= t else -math.inf)


@pytest.mark.parametrize("size", [3.0, 1e3, 1e6])
def test_large_logits_do_not_overflow(size: float) -> None:
    weights = attention_weights(size * randn(1, 1, 2, 4, seed=1), size * randn(1, 1, 3, 4, seed=2))

    assert bool(weights.isfinite().all())
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 2, dtype=F64))


def test_dropout_on_the_weights_has_the_right_expectation() -> None:
    torch.manual_seed(0)
    q, k, v = randn(1, 1, 1, 4, seed=1), randn(1, 1, 6, 4, seed=2), randn(1, 1, 6, 1, seed=3)
    many = attend(q.expand(20_000, -1, -1, -1), k, v, drop=0.3)

    # The mean of 20,000 draws lies within 4 standard errors of the value without dropout.
    error = float(many.std()) / math.sqrt(20_000)
    assert abs(float(many.mean()) - float(attend(q, k, v))) < 4 * error
    assert error > 0


# Multi-head, section 3.2.2


def reference_of(own: MultiHead) -> nn.MultiheadAttention:
    bias = own.project.bias is not None
    reference = nn.MultiheadAttention(own.width, own.heads, bias=bias, batch_first=True, dtype=F64)
    with torch.no_grad():
        reference.in_proj_weight.copy_(own.project.weight)
        reference.out_proj.weight.copy_(own.output.weight)
        if bias:
            reference.in_proj_bias.copy_(own.project.bias)
            reference.out_proj.bias.copy_(own.output.bias)
    return reference


Kind = TypeVar("Kind", bound=MultiHead)


def attention(
    kind: type[Kind], width: int = 12, heads: int = 3, *, bias: bool = False, drop: float = 0.0
) -> Kind:
    torch.manual_seed(5)
    config = TransformerConfig(d_model=width, heads=heads, attention_bias=bias, attention_dropout=drop)
    own = kind(config).double()
    if bias:
        nn.init.normal_(own.project.bias)
        nn.init.normal_(own.output.bias)
    return own


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("heads", [1, 3, 4])
def test_self_attention_equals_pytorch(heads: int, bias: bool) -> None:
    own = attention(SelfAttention, heads=heads, bias=bias)
    x_BTE = randn(2, 5, 12, seed=6)
    hidden_BS = torch.tensor([[False] * 5, [False, False, False, True, True]])

    wanted, _ = reference_of(own)(x_BTE, x_BTE, x_BTE, key_padding_mask=hidden_BS)

    view = FullView(padding_bias(~hidden_BS, F64), 5)
    torch.testing.assert_close(own(x_BTE, view), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_causal_self_attention_equals_pytorch(bias: bool) -> None:
    own = attention(SelfAttention, bias=bias)
    x_BTE = randn(2, 5, 12, seed=6)
    causal_TT = causal_bias(5, F64, x_BTE.device)

    wanted, _ = reference_of(own)(x_BTE, x_BTE, x_BTE, attn_mask=causal_TT.isinf())

    torch.testing.assert_close(own(x_BTE, FullView(causal_TT, 5)), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_cross_attention_equals_pytorch(bias: bool) -> None:
    own = attention(CrossAttention, bias=bias)
    x_BTE, memory_BSE = randn(2, 4, 12, seed=6), randn(2, 7, 12, seed=7)

    wanted, _ = reference_of(own)(x_BTE, memory_BSE, memory_BSE)

    torch.testing.assert_close(own(x_BTE, *own.keys_values(memory_BSE)), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_queries_keys_and_values_are_the_same_taken_one_by_one(bias: bool) -> None:
    own = attention(CrossAttention, bias=bias)
    x_BTE = randn(2, 4, 12, seed=6)

    q, k, v = own.queries_keys_values(x_BTE)

    torch.testing.assert_close(own.queries(x_BTE), q, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(own.keys_values(x_BTE), (k, v), rtol=1e-13, atol=1e-13)


class Reads(nn.Module):
    """Cross-attention with its keys and values."""

    def __init__(self, attention: CrossAttention, bias: Tensor) -> None:
        super().__init__()
        self.attention, self.bias = attention, bias

    def forward(self, x_BTE: Tensor, memory_BSE: Tensor) -> Any:
        return self.attention(x_BTE, *self.attention.keys_values(memory_BSE), self.bias)


def test_gradients_are_right() -> None:
    own = attention(CrossAttention, width=4, heads=2, bias=True)
    x_BTE, memory_BSE = randn(2, 2, 4, seed=6), randn(2, 3, 4, seed=7)
    bias = padding_bias(torch.tensor([[True, True, False], [True, True, True]]), F64)
    whole = Reads(own, bias)
    parameters = tuple(whole.parameters())

    def run(x_BTE: Tensor, memory_BSE: Tensor, *weights: Tensor) -> Tensor:
        named = dict(zip((name for name, _ in whole.named_parameters()), weights, strict=True))
        return torch.func.functional_call(whole, named, (x_BTE, memory_BSE))  # type: ignore[no-any-return]

    inputs = (x_BTE.requires_grad_(), memory_BSE.requires_grad_(), *parameters)
    assert torch.autograd.gradcheck(run, inputs)


def test_each_projection_is_drawn_as_a_square_of_its_own() -> None:
    """Xavier's bound depends on the shape: of W^Q, W^K and W^V together it would be smaller."""
    torch.manual_seed(0)
    own = SelfAttention(TransformerConfig(d_model=64, heads=4))
    bound = math.sqrt(6 / (64 + 64))

    for block in (*own.project.weight.chunk(3), own.output.weight):
        assert 0.98 * bound < float(block.detach().abs().max()) <= bound


def test_dropout_only_while_training() -> None:
    own = attention(CrossAttention, drop=0.5)
    inputs = randn(1, 4, 12, seed=6), *own.keys_values(randn(1, 5, 12, seed=7))

    torch.manual_seed(1)
    first, second = own(*inputs), own(*inputs)
    own.eval()

    assert not torch.equal(first, second)
    assert torch.equal(own(*inputs), own(*inputs))
