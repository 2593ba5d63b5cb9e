"""Compute the teachers' distributions for a tokenised text, and write them.

B batch, S source length, T target length, N target positions, R rows of a block, E model width, V vocabulary,
K tokens that are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.base.machine import usable_cores
from dragoman.models.ensemble import Average, averaged_logits
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.batches import Batch, batch_of, plan
from dragoman.training.lessons import LessonsInProgress
from dragoman.training.loss import LinearCrossEntropy
from dragoman.training.tokenised import TokenisedCorpus

BATCH_TOKENS = 4096


def likely(
    models: Sequence[AnySeq2Seq], batch: Batch, *, most: int, temperature: float, average: Average
) -> tuple[Tensor, Tensor]:
    """ids_NK and p_NK: the likeliest tokens at each target position of the batch, best first.

    The models read the targets before it (teacher forcing). Of several, it is the distribution of their
    average, whose logits are then divided by `temperature`. Logits exist for a block of rows at a time.
    Raises ModelError if a model gives no probabilities.
    """
    real_BT = batch.predict_BT != models[0].config.pad_id
    states = []
    for model in models:
        memory = model.encode(batch.source_BS, batch.source_len_B)
        states.append(model.decode_states(batch.target_BT, memory)[real_BT])
    vocabulary = models[0].config.target_vocab
    block = LinearCrossEntropy.BLOCK if real_BT.is_cpu else LinearCrossEntropy.LARGE
    size = max(16, block // vocabulary // (len(models) + 3))  # the average and its softmax are as large
    ids, p = [], []
    for first in range(0, len(states[0]), size):
        rows = slice(first, first + size)
        each = [model.logits(own_NE[rows]) for model, own_NE in zip(models, states, strict=True)]
        logits_RV = averaged_logits(each, average)
        logits_RV -= logits_RV.amax(-1, keepdim=True)  # so that the quotient cannot be NaN
        divisor = max(temperature, torch.finfo(logits_RV.dtype).tiny)
        p_RK, ids_RK = (logits_RV / divisor).softmax(-1).topk(most)
        if not bool(p_RK.isfinite().all()):
            raise ModelError(
                "teacher.words: a teacher gives no probabilities (its logits are NaN or infinite)",
                hint="dragoman model verify says whether its weights are damaged",
            )
        ids.append(ids_RK)
        p.append(p_RK)
    return torch.cat(ids), torch.cat(p)


def teach(
    models: Sequence[AnySeq2Seq],
    corpus: TokenisedCorpus,
    lessons: LessonsInProgress,
    *,
    most: int,
    temperature: float,
    average: Average,
    device: torch.device,
    progress: Callable[[int], None] = lambda positions: None,
) -> None:
    """Write the lessons of a text that are not written yet. `progress` gets the target positions done."""
    config = models[0].config
    for model in models:
        model.to(device).eval()
    source, target = corpus.source, corpus.target
    with torch.inference_mode(), _threads_of_all():
        for part in lessons.parts():
            rows = np.arange(part.start, part.stop)
            done = int(target.offsets[part.start]) + part.start
            lengths = source.lengths_of(rows), target.lengths_of(rows)
            # In the order of their lengths, whatever the epoch.
            groups = plan(*lengths, batch_tokens=BATCH_TOKENS, seed=0, epoch=0)
            for group in groups:
                chosen = rows[group]
                progress(done)
                batch = batch_of(source, target, chosen, config).to(device)
                ids_NK, p_NK = likely(models, batch, most=most, temperature=temperature, average=average)
                ends = np.cumsum(lengths[1][group] + 1)
                done += int(ends[-1])
                for row, ids_TK, p_TK in zip(
                    chosen.tolist(),
                    np.split(ids_NK.cpu().numpy(), ends[:-1]),
                    np.split(p_NK.cpu().numpy(), ends[:-1]),
                    strict=True,
                ):
                    lessons.put(row, ids_TK, p_TK)
    progress(lessons.positions)


@contextmanager
def _threads_of_all() -> Iterator[None]:
    """Use the threads of all processes that torchrun started here: the others wait for this one."""
    before = torch.get_num_threads()
    together = before * int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(max(before, min(together, usable_cores())))
    try:
        yield
    finally:
        torch.set_num_threads(before)
