"""Attention against sums written out in plain Python, and against torch.nn.MultiheadAttention."""

from __future__ import annotations

import math
from typing import TypeVar

import pytest
import torch
from torch import Tensor, nn

from dragoman.models.attention import (
    CrossAttention,
    KeyValueCache,
    MultiHead,
    SelfAttention,
    Sight,
    Window,
    attend,
    attend_fused,
    attention_weights,
    causal_bias,
    padding_bias,
)

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("hidden", ["nothing", "padding", "future"])
def test_the_fused_kernel_does_what_attend_does(hidden: str, dtype: torch.dtype) -> None:
    """The value and all gradients, on the CPU here: a GPU's is called in the same way."""
    q, k, v = (randn(2, 3, 5, 4, seed=seed).to(dtype).requires_grad_() for seed in (1, 2, 3))
    bias = {
        "nothing": None,
        "padding": padding_bias(torch.tensor([[True] * 5, [True] * 2 + [False] * 3]), F64),
        "future": causal_bias(5, F64, torch.device("cpu")),
    }[hidden]
    upstream = randn(2, 3, 5, 4, seed=4).to(dtype)
    fused = attend_fused(q, k, v, bias)
    plain = attend(q, k, v, None if bias is None else bias.to(dtype))

    torch.testing.assert_close(fused, plain)
    for one, other in zip(
        torch.autograd.grad(fused, (q, k, v), upstream),
        torch.autograd.grad(plain, (q, k, v), upstream),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


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
    own = kind(width, heads, bias=bias, drop=drop).double()
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

    sight = Sight(padding_bias(~hidden_BS, F64), 5)
    torch.testing.assert_close(own(x_BTE, sight), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_causal_self_attention_equals_pytorch(bias: bool) -> None:
    own = attention(SelfAttention, bias=bias)
    x_BTE = randn(2, 5, 12, seed=6)
    causal_TT = causal_bias(5, F64, x_BTE.device)

    wanted, _ = reference_of(own)(x_BTE, x_BTE, x_BTE, attn_mask=causal_TT.isinf())

    torch.testing.assert_close(own(x_BTE, Sight(causal_TT, 5)), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_cross_attention_equals_pytorch(bias: bool) -> None:
    own = attention(CrossAttention, bias=bias)
    x_BTE, memory_BSE = randn(2, 4, 12, seed=6), randn(2, 7, 12, seed=7)

    wanted, _ = reference_of(own)(x_BTE, memory_BSE, memory_BSE)

    torch.testing.assert_close(own(x_BTE, memory_BSE), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_queries_keys_and_values_are_the_same_taken_one_by_one(bias: bool) -> None:
    own = attention(CrossAttention, bias=bias)
    x_BTE = randn(2, 4, 12, seed=6)

    q, k, v = own.queries_keys_values(x_BTE)

    torch.testing.assert_close(own.queries(x_BTE), q, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(own.keys_values(x_BTE), (k, v), rtol=1e-13, atol=1e-13)


def test_gradients_are_right() -> None:
    own = attention(CrossAttention, width=4, heads=2, bias=True)
    x_BTE, memory_BSE = randn(2, 2, 4, seed=6), randn(2, 3, 4, seed=7)
    bias = padding_bias(torch.tensor([[True, True, False], [True, True, True]]), F64)
    parameters = tuple(own.parameters())

    def run(x_BTE: Tensor, memory_BSE: Tensor, *weights: Tensor) -> Tensor:
        named = dict(zip((name for name, _ in own.named_parameters()), weights, strict=True))
        return torch.func.functional_call(own, named, (x_BTE, memory_BSE, bias))  # type: ignore[no-any-return]

    inputs = (x_BTE.requires_grad_(), memory_BSE.requires_grad_(), *parameters)
    assert torch.autograd.gradcheck(run, inputs)


def test_each_projection_is_drawn_as_a_square_of_its_own() -> None:
    """Xavier's bound depends on the shape: of W^Q, W^K and W^V together it would be smaller."""
    torch.manual_seed(0)
    own = SelfAttention(64, 4)
    bound = math.sqrt(6 / (64 + 64))

    for block in (*own.project.weight.chunk(3), own.output.weight):
        assert 0.98 * bound < float(block.detach().abs().max()) <= bound


def test_dropout_only_while_training() -> None:
    own = attention(CrossAttention, drop=0.5)
    inputs = randn(1, 4, 12, seed=6), randn(1, 5, 12, seed=7)

    torch.manual_seed(1)
    first, second = own(*inputs), own(*inputs)
    own.eval()

    assert not torch.equal(first, second)
    assert torch.equal(own(*inputs), own(*inputs))


# Restricted self-attention, section 4


def sees(before: int, after: int, length: int) -> Tensor:
    """visible_TS, a cell at a time."""
    return torch.tensor([[-before <= s - t <= after for s in range(length)] for t in range(length)])


@pytest.mark.parametrize("r", [1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("length", [1, 5, 16, 17, 37])
@pytest.mark.parametrize("causal", [False, True])
def test_a_window_equals_full_attention_under_its_mask(r: int, length: int, causal: bool) -> None:
    own = attention(SelfAttention)
    x_BTE = randn(3, length, 12, seed=8)
    visible_BS = torch.arange(length) < torch.tensor([[length], [1], [max(length - 3, 1)]])
    before, after = (r - 1, 0) if causal else (r // 2, r - 1 - r // 2)
    shown_BTS = sees(before, after, length) & visible_BS[:, None, :]
    mask = torch.zeros(3, 1, length, length, dtype=F64).masked_fill_(~shown_BTS[:, None], -math.inf)

    wanted = own(x_BTE, Sight(mask, length))
    got = own(x_BTE, Window(visible_BS, F64, r, causal=causal))

    assert got.isfinite().all()  # also those of padding, which see themselves
    torch.testing.assert_close(got[visible_BS], wanted[visible_BS], rtol=1e-12, atol=1e-12)
    if r == 3 and length == 37 and not causal:  # three neighbours are its own and one on either side
        assert shown_BTS[0, 10].nonzero().flatten().tolist() == [9, 10, 11]


def test_a_window_holds_no_more_than_its_keys() -> None:
    """Twice the length takes twice the logits: no n x n matrix is made."""
    sizes = [
        Window(torch.ones(1, length, dtype=torch.bool), F64, 8, causal=False).bias.numel()
        for length in (1024, 2048)
    ]

    assert sizes[1] == 2 * sizes[0]
    assert sizes[0] == 1024 * (16 + 7)


# The key-value cache


def fill(cache: KeyValueCache, keys_NHTD: Tensor, values_NHTD: Tensor) -> tuple[Tensor, Tensor]:
    for t in range(keys_NHTD.shape[2]):
        seen = cache.append(keys_NHTD[:, :, t : t + 1], values_NHTD[:, :, t : t + 1])
    return seen


@pytest.mark.parametrize("length", [1, 15, 16, 17, 40])
def test_the_cache_gives_back_what_it_was_given(length: int) -> None:
    keys, values = randn(3, 2, length, 4, seed=1), randn(3, 2, length, 4, seed=2)

    k, v = fill(KeyValueCache(), keys, values)

    assert torch.equal(k, keys)
    assert torch.equal(v, values)


@pytest.mark.parametrize("length", [3, 16, 20])
@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0, 1], [1], [0, 0, 0, 2, 2, 1]])
def test_the_cache_selects_rows(rows: list[int], length: int) -> None:
    keys, values = randn(3, 2, length, 4, seed=1), randn(3, 2, length, 4, seed=2)
    more_k, more_v = randn(len(rows), 2, 1, 4, seed=3), randn(len(rows), 2, 1, 4, seed=4)
    cache = KeyValueCache()
    fill(cache, keys, values)

    k, v = cache.select(torch.tensor(rows)).append(more_k, more_v)

    assert torch.equal(k, torch.cat((keys[rows], more_k), 2))
    assert torch.equal(v, torch.cat((values[rows], more_v), 2))


def test_what_a_selection_says_next_does_not_reach_its_origin() -> None:
    keys, values = randn(2, 2, 3, 4, seed=1), randn(2, 2, 3, 4, seed=2)
    cache = KeyValueCache()
    fill(cache, keys, values)

    fill(cache.select(torch.tensor([0, 1])), randn(2, 2, 2, 4, seed=3), randn(2, 2, 2, 4, seed=4))
    k, v = fill(cache, keys[:, :, :1], values[:, :, :1])

    assert torch.equal(k, torch.cat((keys, keys[:, :, :1]), 2))
    assert torch.equal(v, torch.cat((values, values[:, :, :1]), 2))


def test_an_empty_cache_selects_any_number_of_rows() -> None:
    cache = KeyValueCache().select(torch.tensor([0, 0, 0]))

    k, _ = cache.append(randn(3, 1, 1, 2), randn(3, 1, 1, 2))

    assert k.shape == (3, 1, 1, 2)
