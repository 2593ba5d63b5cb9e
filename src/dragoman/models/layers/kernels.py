"""Fast paths of attention: eq. 1 in one pass, without holding the T x S weights.

B batch, H heads, T queries, S keys, D head width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models import loops as native


def fast_attention(
    q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None, drop: float
) -> Tensor | None:
    """Compute `transformer.attend` on a fast path, or return None if no fast path applies.

    The C kernel serves training on a CPU without dropout on the weights. It computes no gradient of
    `bias`. A GPU always takes PyTorch's fused attention.
    """
    learns = torch.is_grad_enabled() and not (bias is not None and bias.requires_grad)
    if learns and not drop and native.serves(q_BHTD, k_BHSD, v_BHSD):
        if (shared := q_BHTD.shape[1] // k_BHSD.shape[1]) > 1:  # the kernel takes one head of keys for each
            k_BHSD, v_BHSD = (x.repeat_interleave(shared, 1) for x in (k_BHSD, v_BHSD))
        return native.attention(q_BHTD, k_BHSD, v_BHSD, bias)
    if q_BHTD.device.type != "cpu":
        return fused_attention(q_BHTD, k_BHSD, v_BHSD, bias, drop)
    return None


def fused_attention(
    q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None, drop: float = 0.0
) -> Tensor:
    """Compute `transformer.attend` in one GPU kernel (FlashAttention, Dao et al. 2022).

    On a CPU its backward pass is slower than plain products if sentences are short.
    """
    bias = None if bias is None else bias.to(q_BHTD.dtype)
    return nn.functional.scaled_dot_product_attention(
        q_BHTD, k_BHSD, v_BHSD, bias, drop, enable_gqa=q_BHTD.shape[1] != k_BHSD.shape[1]
    )
