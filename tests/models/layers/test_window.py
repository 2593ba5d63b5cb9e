"""Restricted self-attention, section 4, against full attention under the mask of the window."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from dragoman.models.layers.window import AttentionSpan, FullView, WindowView
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import SelfAttention

F64 = torch.float64


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def sees(before: int, after: int, length: int) -> Tensor:
    """visible_TS, a cell at a time."""
    return torch.tensor([[-before <= s - t <= after for s in range(length)] for t in range(length)])


@pytest.mark.parametrize("r", [1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("length", [1, 5, 16, 17, 37])
@pytest.mark.parametrize("causal", [False, True])
def test_a_window_equals_full_attention_under_its_mask(r: int, length: int, causal: bool) -> None:
    torch.manual_seed(5)
    own = SelfAttention(TransformerConfig(d_model=12, heads=3)).double()
    x_BTE = randn(3, length, 12, seed=8)
    visible_BS = torch.arange(length) < torch.tensor([[length], [1], [max(length - 3, 1)]])
    before, after = (r - 1, 0) if causal else (r // 2, r - 1 - r // 2)
    shown_BTS = sees(before, after, length) & visible_BS[:, None, :]
    mask = torch.zeros(3, 1, length, length, dtype=F64).masked_fill_(~shown_BTS[:, None], -math.inf)

    wanted = own(x_BTE, FullView(mask, length))
    got = own(x_BTE, WindowView(visible_BS, F64, r, causal=causal))

    assert got.isfinite().all()  # also those of padding, which see themselves
    torch.testing.assert_close(got[visible_BS], wanted[visible_BS], rtol=1e-12, atol=1e-12)
    if r == 3 and length == 37 and not causal:  # three neighbours are its own and one on either side
        assert shown_BTS[0, 10].nonzero().flatten().tolist() == [9, 10, 11]


def test_a_window_holds_no_more_than_its_keys() -> None:
    """Twice the length takes twice the logits: no n x n matrix is made."""
    sizes = [
        WindowView(torch.ones(1, length, dtype=torch.bool), F64, 8, causal=False).bias.numel()
        for length in (1024, 2048)
    ]

    assert sizes[1] == 2 * sizes[0]
    assert sizes[0] == 1024 * (16 + 7)


@pytest.mark.parametrize("r", [1, 4, 30])
def test_the_newest_query_sees_the_keys_of_the_last_row_of_the_causal_view(r: int) -> None:
    x_NHTD = randn(2, 1, 9, 3)
    view = AttentionSpan(r).causal(x_NHTD[:, 0])

    seen = view.matrix((view.bias == 0).double().expand(-1, 1, -1, -1))[0, 0, -1].bool()

    assert torch.equal(AttentionSpan(r).newest(x_NHTD), x_NHTD[:, :, seen])
    assert torch.equal(AttentionSpan(None).newest(x_NHTD), x_NHTD)


def test_a_model_has_one_span() -> None:
    x_BTE = torch.zeros(1, 2, 4)
    assert isinstance(AttentionSpan(None).causal(x_BTE), FullView)
    assert isinstance(AttentionSpan(3).causal(x_BTE), WindowView)
