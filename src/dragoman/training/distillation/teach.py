"""Compute the teachers' distributions for tokenised texts, and write them.

B batch, S source length, T target length, N target positions, R rows of a block, E model width, V vocabulary,
K tokens that are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.base.jobs import digest
from dragoman.base.machine import usable_cores
from dragoman.base.progress import Meter
from dragoman.models.ensemble import Average, averaged_logits
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.checkpoints.whole import check_space, size_text
from dragoman.training.data.batches import Batch, Ints, batch_of, plan
from dragoman.training.data.mixture import Mixture, Rows, Weighted
from dragoman.training.distillation.distributions import LessonsInProgress, entry_shape_of
from dragoman.training.distillation.options import TeacherConfig
from dragoman.training.step.loss import LinearCrossEntropy

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


def write_lessons(
    options: TeacherConfig,
    digests: Sequence[str],
    load: Callable[[], Sequence[AnySeq2Seq]],
    texts: Sequence[tuple[Weighted, Path]],
    *,
    device: torch.device,
    say: Callable[[str], None],
) -> None:
    """Write the lessons of each text into its folder, unless they are complete. Resumes after a kill.

    The teachers read the marks before the sources of a text.
    `load` loads the teachers, whose weights have these `digests`, when the first is needed. Raises
    TrainingError if the disk has no room for the lessons.
    """
    models: Sequence[AnySeq2Seq] = ()
    for part, folder in texts:
        name, text, mixture = part.name, part.corpus, Mixture([part])
        source, target = mixture.epoch(0, seed=0)
        entry, width = entry_shape_of(options, text.tokenizer)
        made_with = [mixture.fingerprint, *digests, options.average, width, options.temperature]
        lessons = LessonsInProgress(
            folder, text.target, entry, width=width, made_with=digest(repr(made_with))
        )
        if lessons.complete:
            continue
        what = "the teachers' distributions"
        if not lessons.done:
            folder.mkdir(parents=True, exist_ok=True)
            size = size_text(lessons.bytes)
            say(f"{what} for {name}: {width} tokens at {lessons.positions:,} places, {size}")
            check_space(folder, lessons.bytes, what=what)
        models = models or [model.to(device).eval() for model in load()]
        done = int(text.target.offsets[lessons.done]) + lessons.done
        meter = Meter(f"{what} for {name}", say, units="tokens", total=lessons.positions, done=done)
        with torch.inference_mode(), _threads_of_all():
            for some in lessons.parts():
                for rows in _batches(source, target, some):
                    batch = batch_of(source, target, rows, models[0].config).to(device)
                    ids_NK, p_NK = likely(
                        models, batch, most=width, temperature=options.temperature, average=options.average
                    )
                    ends = np.cumsum(target.lengths_of(rows) + 1)
                    for row, ids_TK, p_TK in zip(
                        rows.tolist(),
                        np.split(ids_NK.cpu().numpy(), ends[:-1]),
                        np.split(p_NK.cpu().numpy(), ends[:-1]),
                        strict=True,
                    ):
                        lessons.put(row, ids_TK, p_TK)
                    done += int(ends[-1])
                    meter(done)


def _batches(source: Rows, target: Rows, some: range) -> Iterator[Ints]:
    """Yield the rows for each batch, in the order of their lengths, whatever the epoch."""
    rows = np.arange(some.start, some.stop)
    lengths = source.lengths_of(rows), target.lengths_of(rows)
    for group in plan(*lengths, batch_tokens=BATCH_TOKENS, seed=0, epoch=0):
        yield rows[group]


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
