"""Scoring: the probability that a model gives to a translation from elsewhere.

B sentences, S source length, T target length, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.models.search.attention import Rows, inputs, recorded, rows_of
from dragoman.models.search.rule_masks import never_generated
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import AttentionOf, Beam

# Positions whose log-probabilities are computed at a time. All at once would double the memory.
_POSITIONS = 64


def score(
    model: AnySeq2Seq,
    source_BS: Tensor,
    source_len_B: Tensor,
    targets: Sequence[Sequence[int]],
    how: Beam | None = None,
    *,
    attention: AttentionOf | None = None,
) -> list[Hypothesis]:
    """Score each target (tokens without start and end) in one teacher-forced pass.

    The end token is scored too, and the score is normalised as `how` says. So a search that finds the
    same tokens gives the same scores. `attention` is returned with each hypothesis. The model should be in
    evaluation mode. Raises ModelError if the model gives no probabilities, ConfigError if it has no such
    attention.
    """
    how = how or Beam()
    config = model.config
    target_BT = inputs(targets, model)
    longest = target_BT.shape[1]
    predict_BT = target_BT.roll(-1, 1)  # the token after each input; after the last, the end
    for predict_T, target in zip(predict_BT, targets, strict=True):
        predict_T[len(target) :] = config.end_id
    with torch.no_grad():
        memory = model.encode(source_BS, source_len_B)
        with recorded(model, attention) as weights:
            logits_BTV = model.decode(target_BT, memory)
        logps = []
        for first in range(0, longest, _POSITIONS):
            logits_BtV = logits_BTV[:, first : first + _POSITIONS]
            if how.renormalize:
                never = never_generated(config, how, logits_BtV.device)
                logits_BtV = logits_BtV.index_fill(2, never, -math.inf)
            logp_BtV = logits_BtV.to(torch.promote_types(logits_BtV.dtype, torch.float32)).log_softmax(-1)
            logps.append(logp_BtV.gather(2, predict_BT[:, first : first + _POSITIONS, None])[:, :, 0])
    rows_B: list[Rows] = [()] * len(targets)
    if attention is not None:
        rows_B = rows_of(weights[0], attention.head, memory.visible_BS, targets)
    hypotheses = []
    for target, logp_T, rows in zip(targets, torch.cat(logps, 1).tolist(), rows_B, strict=True):
        token_logp = tuple(logp_T[: len(target) + 1])
        logp = math.fsum(token_logp)
        if math.isnan(logp):
            raise ModelError(
                "score: the model gives no probabilities (its logits are NaN, infinite, or all -inf)",
                hint="are its weights damaged? Train again, or load another checkpoint",
            )
        hypotheses.append(
            Hypothesis(tuple(target), how.normalise(logp, len(token_logp)), logp, token_logp, False, rows)
        )
    return hypotheses
