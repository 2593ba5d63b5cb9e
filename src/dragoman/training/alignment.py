"""Train one head of the decoder to align words (Garg et al. 2019, "Jointly Learning to Align and Translate").

The labels come from the model itself: from the mean of the layer's other heads, at the step that predicts
a token. The head learns them one step later, when the decoder has read the token and knows it (Chen et al.
2020).

B sentences, T target length, S source length, H heads.
"""

from __future__ import annotations

import torch
from torch import Tensor


def alignment_loss(weights_BHTS: Tensor, source_len_B: Tensor, target_len_B: Tensor) -> Tensor:
    """Summed cross-entropy in nats of the first head at the labels that the other heads give.

    A source and a target token are a label if each has the largest mean weight of the other. Lengths count
    the ends, which are never labels.
    """
    length, steps = weights_BHTS.shape[3], weights_BHTS.shape[2]
    if length == 1 or steps == 1:  # the ends alone
        return weights_BHTS.sum() * 0
    device = weights_BHTS.device
    source_BS = torch.arange(length, device=device) < source_len_B[:, None] - 1
    target_BT = torch.arange(steps - 1, device=device) < target_len_B[:, None] - 1
    real_BTS = target_BT[:, :, None] & source_BS[:, None]
    mean_BTS = weights_BHTS[:, 1:, :-1].detach().mean(1).masked_fill(~real_BTS, -1)
    best_BTS = (mean_BTS == mean_BTS.amax(2, keepdim=True)) & (mean_BTS == mean_BTS.amax(1, keepdim=True))
    reading_BTS = weights_BHTS[:, 0, 1:]
    least = torch.finfo(reading_BTS.dtype).tiny  # log(0) has no gradient
    return -reading_BTS[best_BTS & real_BTS].clamp_min(least).log().sum()
