"""Masks: a bias on the attention logits, 0 for a key that may be seen and -inf for a hidden one.

B batch, S keys or source length, T queries.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def visible(source_BS: Tensor, source_len_B: Tensor) -> Tensor:
    """visible_BS: True for a source token, False for padding."""
    return torch.arange(source_BS.shape[1], device=source_BS.device) < source_len_B[:, None]


def padding_bias(visible_BS: Tensor, dtype: torch.dtype) -> Tensor:
    """bias_B11S: -inf on padding keys."""
    bias_BS = torch.zeros(visible_BS.shape, dtype=dtype, device=visible_BS.device)
    return bias_BS.masked_fill_(~visible_BS, -math.inf)[:, None, None, :]


def causal_bias(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """bias_TT: -inf above the diagonal, so that position t sees positions up to t (section 3.2.3).

    Padding follows the tokens, so no token sees it and the targets need no other mask.
    """
    return torch.full((length, length), -math.inf, dtype=dtype, device=device).triu_(1)
