"""The k best of a whole vocabulary: `torch.topk`, but faster on a CPU when k is small.

N rows, V vocabulary, C columns, K winners.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

COLUMNS = 256


def best(score_NV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return (score_NK, index_NK), best first, as `score_NV.topk(k)` up to the order of equal scores.

    Read a row as a matrix of C columns: its k best are in the k columns with the greatest maxima, which
    are quick to find. Only those columns are searched. Three times as fast as topk for 4 of 8,000 on one
    CPU core.
    """
    vocab = score_NV.shape[1]
    if vocab < 4 * COLUMNS or k > COLUMNS // 4 or score_NV.device.type != "cpu":
        return score_NV.topk(k)
    whole = vocab - vocab % COLUMNS
    maximum_NC = score_NV[:, :whole].view(len(score_NV), -1, COLUMNS).amax(1)
    rest = vocab - whole
    maximum_NC[:, :rest] = torch.maximum(maximum_NC[:, :rest], score_NV[:, whole:])
    column_NK = maximum_NC.topk(k).indices
    index_NI = (column_NK[:, :, None] + torch.arange(0, vocab, COLUMNS)).flatten(1)
    inside_NI = index_NI < vocab
    score_NI = score_NV.gather(1, index_NI.clamp_(max=vocab - 1)).masked_fill_(~inside_NI, -math.inf)
    score_NK, place_NK = score_NI.topk(k)
    return score_NK, index_NI.gather(1, place_NK)
