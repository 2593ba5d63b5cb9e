"""Label-smoothed cross-entropy over the vocabulary (section 5.4), without holding all the logits at once.

N target positions, E model width, V vocabulary, C copies of a position (2 for R-Drop), R rows of a block,
K tokens that teachers find likeliest at a position. B sentences, T target length, S source length, H heads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.models import loops as native
from dragoman.models.layers.embeddings import open_tokens
from dragoman.models.search.attention import recorded
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.data.batches import Batch
from dragoman.training.distillation.loss import TaughtRows
from dragoman.translation.search.options import AttentionOf


def smoothed_cross_entropy(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Summed label-smoothed loss (section 5.4) and summed negative log-likelihood, in nats.

    The target distribution has 1 - smoothing on the target plus smoothing / V on every entry (Szegedy et al.
    2016, section 7). This is the readable form of `LinearCrossEntropy`.
    """
    logp_NV = logits_NV.log_softmax(-1)
    nll = -logp_NV.gather(1, target_N[:, None]).sum()
    uniform = -logp_NV.mean(1).sum()
    return (1 - smoothing) * nll + smoothing * uniform, nll


def softmax_block(
    logits_CRV: Tensor, consistency: float, bias_V: Tensor | None = None, real: int = 0
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Replace logits in place by the gradient of the summed cross-entropy, without the targets' term.

    The bias is added to the logits before. This gradient is the probabilities, plus the gradient of
    `consistency` times the divergence of two copies. Let d be the difference of their logits. The normalisers
    cancel, so the divergence is sum((p - q) d) / 2. Its gradient with respect to the logits of the first copy
    is (p - q + p (d - sum(p d))) / 2.

    Return lse_CR, the logarithm of each row's sum of exponentials, the summed divergence of the block, and
    with a bias sum_V, the sums of the gradient over the first `real` rows of each copy.
    """
    if native.serves(logits_CRV) and (bias_V is None or native.serves(bias_V)):
        return native.softmax_block(logits_CRV, consistency, bias_V, real)
    sums = torch.promote_types(logits_CRV.dtype, torch.float32)
    fine_CRV = logits_CRV.to(sums)
    if bias_V is not None:
        fine_CRV = fine_CRV + bias_V
    lse_CR = fine_CRV.logsumexp(-1)
    p_CRV = (fine_CRV - lse_CR[..., None]).exp_()
    apart = lse_CR.new_zeros(())
    if consistency:
        d_RV, gap_RV = fine_CRV[0] - fine_CRV[1], p_CRV[0] - p_CRV[1]
        mean_CR1 = (p_CRV * d_RV).sum(-1, keepdim=True)
        sign_C11 = logits_CRV.new_tensor([1, -1])[:, None, None]
        p_CRV += consistency / 2 * sign_C11 * (gap_RV + p_CRV * (d_RV - mean_CR1))
        apart = (mean_CR1[0] - mean_CR1[1]).sum() / 2
    logits_CRV.copy_(p_CRV)
    return lse_CR, apart, None if bias_V is None else p_CRV[:, :real].sum((0, 1))


class LinearCrossEntropy(torch.autograd.Function):
    """`smoothed_cross_entropy` of states_NE @ weight_VE.T + bias_V, a block of rows at a time (section 5.4).

    With p the softmax and e the smoothing, the gradient with respect to the logits is
    p - (1 - e) onehot(target) - e / V. It follows from the logits of a block alone. So the forward pass
    accumulates both gradients and drops the block: memory is O(block * V), not O(N * V), and the logits
    stay in the cache. Only the first term needs a pass over the vocabulary. The second touches one row of
    the weights, and the third is the same for all rows.

    With `consistency` > 0, the second half of the rows repeats the positions of the first half under another
    dropout mask. Then `consistency` times their divergence (KL(p || q) + KL(q || p)) / 2 is added to the loss
    (R-Drop, Wu et al. 2021, eq. 2).

    With `taught`, a share of the loss is the cross-entropy with what teachers say (Kim and Rush 2016, section
    3.1): their probabilities on their K tokens, and the rest spread evenly over the vocabulary. The target
    distribution then has K + 1 tokens and a share for all of V. The K terms enter each block of logits.
    """

    BLOCK, LARGE = 2**24, 2**26  # logits held at once, on a CPU and on a GPU
    ROUND = 32  # rows of a block are a multiple of this: oneDNN prepares products anew for each number

    @staticmethod
    def forward(
        ctx: Any,
        states_NE: Tensor,
        weight_VE: Tensor,
        bias_V: Tensor | None,
        target_N: Tensor,
        smoothing: float,
        consistency: float = 0.0,
        taught: TaughtRows | None = None,
    ) -> tuple[Tensor, Tensor]:
        dtype = states_NE.dtype
        sums = torch.promote_types(dtype, torch.float32)  # sums have at least float32
        weight, vocab = weight_VE.to(dtype), len(weight_VE)
        bias = states_NE.new_zeros(vocab) if bias_V is None else bias_V.to(dtype)
        grad_weight_VE = torch.zeros_like(weight, dtype=sums)
        grad_bias_V = torch.zeros_like(bias, dtype=sums)
        apart = states_NE.new_zeros((), dtype=sums)  # summed divergence
        likely = states_NE.new_zeros((), dtype=sums)  # summed logits of the teachers' tokens, weighted
        copies = 2 if consistency else 1
        positions, width = len(states_NE) // copies, states_NE.shape[1]
        blank = -positions % LinearCrossEntropy.ROUND  # rows of zeros, which change neither sum nor gradient
        states_CNE = nn.functional.pad(states_NE.view(copies, -1, width), (0, 0, 0, blank))
        grad_states_CNE = torch.empty_like(states_CNE, dtype=sums)
        lse_CN = states_NE.new_empty(states_CNE.shape[:2], dtype=sums)  # log of the sum of exponentials
        ids_CNK, weight_CNK = (None, None)
        if taught is not None:
            ids_CNK, weight_CNK = (
                nn.functional.pad(x, (0, 0, 0, blank)) for x in taught.weighted(copies, sums)
            )
        block = LinearCrossEntropy.BLOCK if states_NE.is_cpu else LinearCrossEntropy.LARGE
        size = max(1, block // vocab // copies // LinearCrossEntropy.ROUND) * LinearCrossEntropy.ROUND
        for start in range(0, positions + blank, size):
            rows = slice(start, start + size)
            states_RE = states_CNE[:, rows].flatten(0, 1)  # one product for all copies
            logits_RV = states_RE @ weight.T
            if ids_CNK is not None and weight_CNK is not None:
                ids_RK, weight_RK = ids_CNK[:, rows].flatten(0, 1), weight_CNK[:, rows].flatten(0, 1)
                likely += ((logits_RV.gather(1, ids_RK) + bias[ids_RK]) * weight_RK).sum()
            lse_CN[:, rows], apart_in_block, sum_V = softmax_block(
                logits_RV.view(copies, -1, vocab),
                consistency,
                None if bias_V is None else bias,
                positions - start,
            )
            apart += apart_in_block
            if sum_V is not None:
                grad_bias_V += sum_V
            if ids_CNK is not None and weight_CNK is not None:
                # Not scatter_add_: it takes several times as long in bf16, and a row has each token once.
                logits_RV.scatter_(1, ids_RK, logits_RV.gather(1, ids_RK) - weight_RK.to(dtype))
                grad_bias_V.index_add_(0, ids_RK.flatten(), weight_RK.flatten(), alpha=-1)
            grad_states_CNE[:, rows] = (logits_RV @ weight).view(copies, -1, width)
            grad_weight_VE += logits_RV.T @ states_RE
        grad_states_NE, lse_N = (x[:, :positions].flatten(0, 1) for x in (grad_states_CNE, lse_CN))
        states, rows_of_targets_NE = states_NE.to(sums), weight_VE[target_N].to(dtype).to(sums)
        target_logits_N = (states * rows_of_targets_NE).sum(1) + bias[target_N]
        nll_N = lse_N - target_logits_N
        nll = nll_N.sum()
        # The target distribution has `hard` on the target, the teachers' weights on their tokens, and `even`
        # on every entry.
        hard = (1 - smoothing) * (1.0 if taught is None else 1 - taught.share)
        even: float | Tensor = smoothing / vocab
        sum_of_rows_E = weight.to(sums).sum(0)
        even_states_E, evenly = even * states.sum(0), even * len(states)
        if weight_CNK is not None:
            even = (1 - hard - weight_CNK[:, :positions].sum(-1)).view(-1, 1) / vocab
            even_states_E, evenly = (even * states).sum(0), even.sum()
        even_logits = even_states_E @ sum_of_rows_E + evenly * bias.sum(dtype=sums)
        loss = hard * nll + (1 - hard) * (nll_N + target_logits_N).sum() - likely - even_logits
        loss = loss + consistency * apart

        grad_states_NE -= hard * rows_of_targets_NE + even * sum_of_rows_E
        grad_weight_VE.index_add_(0, target_N, states, alpha=-hard)
        grad_weight_VE -= even_states_E
        count_V = torch.bincount(target_N, minlength=vocab).to(sums)
        grad_bias_V -= hard * count_V + evenly
        ctx.save_for_backward(
            grad_states_NE.to(dtype), grad_weight_VE, None if bias_V is None else grad_bias_V
        )
        ctx.mark_non_differentiable(nll)  # reported, not trained on
        ctx.dtypes = dtype, weight_VE.dtype, None if bias_V is None else bias_V.dtype
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        scale = upstream[0]
        gradients = (
            None if gradient is None else (gradient * scale).to(dtype)
            for gradient, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*gradients, None, None, None, None)


# PyTorch's `apply` has no types.
linear_cross_entropy: Callable[..., tuple[Tensor, Tensor]] = LinearCrossEntropy.apply


@dataclass(frozen=True)
class Output:
    """The output layer and its targets."""

    weight_VE: Tensor
    bias_V: Tensor | None
    target_N: Tensor
    taught: TaughtRows | None = None

    def without_closed(self) -> Output:
        """The same for the open tokens only, renumbered. All of it if a target is closed.

        The teachers' probability of closed tokens is spread evenly over the open ones.
        """
        if self.bias_V is None or (kept := open_tokens(self.bias_V)) is None:
            return self
        place_V = torch.full_like(self.bias_V, -1, dtype=torch.long)
        place_V[kept] = torch.arange(len(kept), device=kept.device)
        target_N, taught = place_V[self.target_N], self.taught
        if (target_N < 0).any() or (taught is not None and taught.ids_NK.shape[1] > len(kept)):
            return self
        taught = taught and taught.renumbered(place_V, len(kept))
        return Output(self.weight_VE.index_select(0, kept), self.bias_V[kept], target_N, taught)


def alignment_loss(weights_BHTS: Tensor, source_len_B: Tensor, target_len_B: Tensor) -> Tensor:
    """Summed cross-entropy in nats of the first head at the labels that the other heads give.

    The labels are from the mean of the layer's other heads, at the step that predicts a token (Garg et al.
    2019). The first head learns them one step later, when the decoder has read the token (Chen et al. 2020).
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


class Objective(nn.Module):
    """The training objective as a module, so that bf16 copies can replace its parameters."""

    def __init__(
        self,
        model: AnySeq2Seq,
        smoothing: float,
        consistency: float = 0.0,
        *,
        aligning: AttentionOf | None = None,
        alignment_weight: float = 0.0,
    ) -> None:
        """`aligning` is the head to train with `alignment_weight`, the first one of its layer."""
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.consistency = consistency
        self.aligning, self.alignment_weight = aligning, alignment_weight

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Summed loss and summed negative log-likelihood, in nats, over the targets without padding.

        With `consistency`, both are means of two passes under different dropout masks. Half of the weighted
        divergence between the passes is added: R-Drop, Wu et al. 2021, algorithm 1. With `aligning`,
        `alignment_weight` times the loss of that head is added: Garg et al. 2019, section 3.3. A batch that
        is taught has a share of its teachers' distribution in the loss: Kim and Rush 2016, section 3.1.

        Tokens that the output bias closes are left out of the loss in training, so their logits are not
        computed. Their probabilities are too small to make a difference.
        """
        # Without dropout, both passes are equal.
        consistency = self.consistency if self.model.training else 0.0
        copies = 2 if consistency else 1
        memory = self.model.encode(batch.source_BS.repeat(copies, 1), batch.source_len_B.repeat(copies))
        target_BT, predict_BT = batch.target_BT.repeat(copies, 1), batch.predict_BT.repeat(copies, 1)
        real_BT = predict_BT != self.model.config.pad_id
        with recorded(self.model, self.aligning) as weights:
            states_BTE = self.model.decode_states(target_BT, memory)
        head = self.model.logits
        output = Output(head.weight, head.bias, predict_BT[real_BT])
        if batch.taught is not None:
            output = replace(output, taught=batch.taught.rows(real_BT[: len(batch)]))
        if self.model.training:
            output = output.without_closed()
        loss, nll = linear_cross_entropy(
            states_BTE[real_BT],
            output.weight_VE,
            output.bias_V,
            output.target_N,
            self.smoothing,
            consistency,
            output.taught,
        )
        if weights:
            source_len_B, target_len_B = batch.source_len_B.repeat(copies), real_BT.sum(1)
            loss = loss + self.alignment_weight * alignment_loss(weights[0], source_len_B, target_len_B)
        return loss / copies, nll / copies
