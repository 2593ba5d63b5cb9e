"""Label-smoothed cross-entropy over the vocabulary, without ever holding all the logits.

N target positions, E model width, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.batches import Batch


def smoothed_cross_entropy(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Summed label-smoothed loss and summed negative log-likelihood, in nats.

    The target distribution is (1 - smoothing) on the target plus smoothing / V on every entry
    (Szegedy et al. 2016, section 7). The readable form of what `LinearCrossEntropy` computes.
    """
    logp_NV = logits_NV.log_softmax(-1)
    nll = -logp_NV.gather(1, target_N[:, None]).sum()
    uniform = -logp_NV.mean(1).sum()
    return (1 - smoothing) * nll + smoothing * uniform, nll


class LinearCrossEntropy(torch.autograd.Function):
    """`smoothed_cross_entropy(states_NE @ weight_VE.T + bias_V, ...)`, a block of rows at a time.

    With p the softmax and e the smoothing, the gradient with respect to the logits is
    p - (1 - e) onehot(target) - e / V. It is at hand as soon as a block's logits are, so the
    forward pass accumulates both gradients and forgets the block: memory is O(block * V), not
    O(N * V), and the logits stay in the cache. Only the first term needs a pass over the
    vocabulary: the second touches one row of the weights, the third is the same for all rows.
    """

    BLOCK = 2**21  # logits held at once

    @staticmethod
    def forward(
        ctx: Any,
        states_NE: Tensor,
        weight_VE: Tensor,
        bias_V: Tensor | None,
        target_N: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        dtype = states_NE.dtype
        sums = torch.promote_types(dtype, torch.float32)  # what sums are kept in
        weight, vocab = weight_VE.to(dtype), len(weight_VE)
        bias = states_NE.new_zeros(vocab) if bias_V is None else bias_V.to(dtype)
        grad_states_NE = torch.empty_like(states_NE, dtype=sums)
        grad_weight_VE = torch.zeros_like(weight, dtype=sums)
        grad_bias_V = torch.zeros_like(bias, dtype=sums)
        target_p_N1 = states_NE.new_empty((len(states_NE), 1), dtype=sums)
        size = max(16, LinearCrossEntropy.BLOCK // vocab)
        for start in range(0, len(target_N), size):
            rows = slice(start, start + size)
            logits_RV = states_NE[rows] @ weight.T
            if bias_V is not None:
                logits_RV += bias
            p_RV = logits_RV.softmax(1)
            target_p_N1[rows] = p_RV.gather(1, target_N[rows, None]).to(sums)
            grad_states_NE[rows] = p_RV @ weight
            grad_weight_VE += p_RV.T @ states_NE[rows]
            if bias_V is not None:
                grad_bias_V += p_RV.sum(0)
        states, rows_of_targets_NE = states_NE.to(sums), weight_VE[target_N].to(dtype).to(sums)
        target_logits_N = (states * rows_of_targets_NE).sum(1) + bias[target_N]
        nll_N = -target_p_N1[:, 0].log()
        # Few, if any: targets so unlikely that their probability is no normal number.
        lost_M = (target_p_N1[:, 0] < torch.finfo(sums).tiny).nonzero()[:, 0]
        for rows_M in torch.split(lost_M, size):
            logits_MV = (states_NE[rows_M] @ weight.T + bias).to(sums)
            nll_N[rows_M] = -logits_MV.log_softmax(1).gather(1, target_N[rows_M, None])[:, 0]
        nll = nll_N.sum()
        sum_of_rows_E, sum_of_states_E = weight.sum(0, dtype=sums), states.sum(0)
        mean_logits = (sum_of_states_E @ sum_of_rows_E + len(states) * bias.sum(dtype=sums)) / vocab
        loss = (1 - smoothing) * nll + smoothing * ((nll_N + target_logits_N).sum() - mean_logits)

        grad_states_NE -= (1 - smoothing) * rows_of_targets_NE + smoothing / vocab * sum_of_rows_E
        grad_weight_VE.index_add_(0, target_N, states, alpha=smoothing - 1)
        grad_weight_VE -= smoothing / vocab * sum_of_states_E
        count_V = torch.bincount(target_N, minlength=vocab).to(sums)
        grad_bias_V -= (1 - smoothing) * count_V + smoothing / vocab * len(states)
        ctx.save_for_backward(
            grad_states_NE.to(dtype), grad_weight_VE, None if bias_V is None else grad_bias_V
        )
        ctx.mark_non_differentiable(nll)  # a figure to report, not to train on
        ctx.dtypes = dtype, weight_VE.dtype, None if bias_V is None else bias_V.dtype
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        scale = upstream[0]
        gradients = (
            None if gradient is None else (gradient * scale).to(dtype)
            for gradient, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*gradients, None, None)


class Objective(nn.Module):
    """The training objective as a module, so that its parameters can be swapped for copies in bf16."""

    def __init__(self, model: Seq2Seq, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Summed loss and summed negative log-likelihood in nats over the batch's real targets."""
        memory = self.model.encode(batch.source_BS, batch.source_len_B)
        states_BTE = self.model.decode_states(batch.target_BT, memory)
        real_BT = batch.predict_BT != self.model.config.pad_id
        head = self.model.logits
        loss, nll = LinearCrossEntropy.apply(
            states_BTE[real_BT], head.weight, head.bias, batch.predict_BT[real_BT], self.smoothing
        )  # type: ignore[no-untyped-call]
        return loss, nll
