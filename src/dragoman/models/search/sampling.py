"""Draw one token for each row from the model's distribution, with temperature, top k and top p.

N rows, V vocabulary, C candidates in descending order of probability.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_AT_ONCE = 32  # steps whose random numbers are drawn together


class Uniforms:
    """Random numbers in [0, 1), float64: one for each row at each step, drawn when they are needed.

    The numbers of row n are a function of `seed` and `keys[n]` alone, independent of the other rows.
    """

    def __init__(self, seed: int, keys: Sequence[tuple[int, ...]]) -> None:
        self._generators = [np.random.default_rng((seed, *key)) for key in keys]
        self._step = 0
        self._next_NT = torch.empty(len(keys), 0, dtype=torch.float64)

    def next(self) -> Tensor:
        """Return uniform_N of the next step, on the CPU."""
        place = self._step % _AT_ONCE
        if not place:
            rows = [generator.random(_AT_ONCE) for generator in self._generators]
            self._next_NT = torch.from_numpy(np.stack(rows))
        self._step += 1
        return self._next_NT[:, place]

    def select(self, rows_N: Tensor) -> None:
        """Continue with these rows only."""
        self._generators = [self._generators[row] for row in rows_N.tolist()]
        self._next_NT = self._next_NT[rows_N.cpu()]


def draw(
    logp_NV: Tensor, uniform_N: Tensor, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> Tensor:
    """Draw token_N from softmax(logp / temperature), by inverting its cumulative distribution.

    `top_k` > 0 keeps the k likeliest tokens (Fan et al. 2018); `top_p` < 1 then keeps the smallest set
    of likeliest tokens whose probabilities sum to at least that (Holtzman et al. 2020).
    """
    # Subtract the greatest first, so that even a tiny temperature does not divide it to -inf.
    scaled_NV = (logp_NV.double() - logp_NV.amax(-1, keepdim=True)) / temperature
    p_NV = scaled_NV.softmax(-1)
    if not top_k and top_p >= 1:
        return _invert(p_NV, uniform_N)
    p_NC, token_NC = _likeliest(p_NV, top_k, top_p)
    if top_p < 1:
        before_NC = p_NC.cumsum(-1) - p_NC
        p_NC = p_NC.masked_fill(before_NC >= top_p, 0.0)
    return token_NC.gather(1, _invert(p_NC, uniform_N)[:, None])[:, 0]


def _likeliest(p_NV: Tensor, top_k: int, top_p: float) -> tuple[Tensor, Tensor]:
    """Return (p_NC, token_NC), descending: the top k renormalised, or enough of the likeliest for top_p."""
    vocab = p_NV.shape[1]
    if top_k:
        p_NC, token_NC = p_NV.topk(min(top_k, vocab))
        return p_NC / p_NC.sum(-1, keepdim=True), token_NC
    p_NC, token_NC = p_NV.topk(min(256, vocab))
    if bool((p_NC.sum(-1) < top_p).any()):  # sorting a whole vocabulary is slow and rarely needed
        p_NC, token_NC = p_NV.sort(descending=True)
    return p_NC, token_NC


def _invert(p_NC: Tensor, uniform_N: Tensor) -> Tensor:
    """Return the first index whose cumulative probability exceeds `uniform_N` of the total."""
    cumulative_NC = p_NC.cumsum(-1)
    total_N = cumulative_NC[:, -1]
    # Keep the threshold below the total despite rounding: no cumulative probability exceeds the total.
    threshold_N = torch.minimum(uniform_N * total_N, torch.nextafter(total_N, torch.zeros_like(total_N)))
    index_N1 = torch.searchsorted(cumulative_NC, threshold_N[:, None], right=True)
    return index_N1[:, 0].clamp_(max=p_NC.shape[1] - 1)
