"""One update: summed loss / tokens of all processes -> summed gradients -> clipping -> weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.anchor import Anchor
from dragoman.training.batches import Batch
from dragoman.training.distributed import World
from dragoman.training.loss import Objective
from dragoman.training.optimizer import optimizers
from dragoman.training.options import TrainingConfig
from dragoman.training.precision import precision_for, working_copies


@dataclass(frozen=True)
class Update:
    """The outcome of an update, with sums over the batches of all processes."""

    tokens: int  # targets without padding
    loss: float  # with label smoothing, in nats
    nll: float
    slots: int  # positions of both sides, with padding
    real: int  # the same without padding
    gradient_norm: float  # before clipping
    made: bool  # False if the gradient was not finite, so that the weights did not change


class Learner:
    """A model with its objective and its optimizers. An `anchor` holds its weights near some others."""

    def __init__(
        self, model: AnySeq2Seq, config: TrainingConfig, world: World, anchor: Anchor | None = None
    ) -> None:
        self.model, self.config, self.world = model.to(world.device), config, world
        self._anchor = anchor
        self._objective = Objective(
            model,
            config.label_smoothing,
            config.consistency,
            aligning=config.aligning(model.config),
            alignment_weight=config.alignment_weight,
        )
        self.precision = precision_for(config.precision, world.device)
        self.optimizers = optimizers(self.model, config)

    def objective(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Summed loss and negative log-likelihood of a batch, in the precision of the run."""
        sums: tuple[Tensor, Tensor]
        if self.precision == "fp32":
            sums = self._objective(batch)
        else:
            sums = functional_call(self._objective, working_copies(self._objective), (batch,))
        return sums

    def update(
        self,
        batches: list[Batch],
        step: int,
        *,
        seed: int,
        seconds: float = 0.0,
        between: Callable[[], None] = lambda: None,
    ) -> Update:
        """Make update number `step`, counted from 1, on the batches of this process.

        `seconds` is the time that training took so far. It must be the same in every process. `between` is
        called before each batch and may raise, which leaves the weights as they were.
        """
        # The seed of the run, the update and the rank determine every mask.
        words = np.random.SeedSequence((seed, step, self.world.rank)).generate_state(2)
        torch.manual_seed(int(words[0]) << 31 ^ int(words[1]))
        self.model.train()
        device = self.world.device
        tokens = int(self.world.sum(torch.tensor(sum(b.tokens for b in batches), device=device)))
        slots = sum(b.source_BS.numel() + b.predict_BT.numel() for b in batches)
        real = sum(int(b.source_len_B.sum()) + b.tokens for b in batches)
        sums = torch.tensor([0, 0, slots, real], dtype=torch.float64, device=device)
        for batch in batches:
            between()
            loss, nll = self.objective(batch)
            torch.autograd.backward(loss / tokens)
            sums[:2] += torch.stack((loss.detach(), nll.detach()))
        self.world.sum(sums)
        learned = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.world.sum_gradients(learned)
        if self._anchor is not None:
            self._anchor.pull()  # after the sum, because every process has the same weights
        norm = float(nn.utils.clip_grad_norm_(learned, self.config.clip or math.inf))
        if math.isfinite(norm):
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = self.config.rate(step, self.model.config.d_model, seconds)
                optimizer.step()
        self.model.zero_grad()
        loss_, nll_, slots_, real_ = sums.tolist()
        return Update(tokens, loss_, nll_, int(slots_), int(real_), norm, math.isfinite(norm))
