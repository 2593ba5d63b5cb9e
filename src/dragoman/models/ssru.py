"""The Simpler Simple Recurrent Unit of Kim et al. 2019, "From Research to Production and Back: Ludicrously
Fast Neural Machine Translation", section 3.1.

It replaces self-attention in the decoder of a Transformer. Its state has a fixed size, so a step
costs the same at every position. Marian has it as `transformer-decoder-autoreg: rnn` with
`dec-cell: ssru` (src/rnn/cells.h, class SSRU).

B batch, T target length, N decoding rows, E model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models.layers.cache import RecurrentCache
from dragoman.models.layers.window import AttentionView


class SSRU(nn.Module):
    """c_t = f_t c_{t-1} + (1 - f_t) W x_t with f_t = sigmoid(W_f x_t + b_f); the output is max(0, c_t).

    All matrix products are outside the recurrence. States are at least float32, because they accumulate.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.candidate = nn.Linear(width, width, bias=False)  # W
        self.forget = nn.Linear(width, width)  # W_f, b_f
        for linear in (self.candidate, self.forget):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.forget.bias)

    def forward(self, x_BTE: Tensor, view: AttentionView) -> Tensor:
        """out_BTE. Reads from left to right, so it does not need the mask in `view`."""
        return self._read(x_BTE, RecurrentCache())

    def step(self, x_N1E: Tensor, cache: RecurrentCache) -> Tensor:
        """out_N1E of one more token in each row, after those that the cache has read."""
        return self._read(x_N1E, cache)

    def new_cache(self) -> RecurrentCache:
        """The cache before the first token."""
        return RecurrentCache()

    def _read(self, x_NTE: Tensor, cache: RecurrentCache) -> Tensor:
        dtype = torch.promote_types(x_NTE.dtype, torch.float32)
        candidate_NTE = self.candidate(x_NTE).to(dtype)
        forget_NTE = self.forget(x_NTE).to(dtype).sigmoid()
        c_NE = torch.zeros_like(candidate_NTE[:, 0]) if cache.state_NE is None else cache.state_NE
        states = []
        for candidate_NE, forget_NE in zip(candidate_NTE.unbind(1), forget_NTE.unbind(1), strict=True):
            c_NE = torch.lerp(candidate_NE, c_NE, forget_NE)
            states.append(c_NE)
        cache.state_NE = c_NE
        return torch.stack(states, 1).relu().to(x_NTE.dtype)
