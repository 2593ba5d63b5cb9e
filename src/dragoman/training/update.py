"""One update: batches -> summed loss / tokens of all processes -> gradients, summed -> clipped -> weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.batches import Batch
from dragoman.training.distributed import World
from dragoman.training.loss import Objective
from dragoman.training.optimizer import optimizers
from dragoman.training.options import TrainingConfig
from dragoman.training.precision import precision_for, working_copies


@dataclass(frozen=True)
class Update:
    """What an update was: sums over the batches of all processes."""

    tokens: int  # targets
    loss: float  # with label smoothing, in nats
    nll: float
    slots: int  # positions of both sides, padding included
    real: int  # of them, those that hold a token
    gradient_norm: float  # before it was clipped
    made: bool  # False where the gradient was not finite, and the weights were left as they were


class Learner:
    """A model and what updates it."""

    def __init__(self, model: Seq2Seq, config: TrainingConfig, world: World) -> None:
        self.model, self.config, self.world = model, config, world
        self.module = cast(nn.Module, model).to(world.device)
        self._objective = Objective(model, config.label_smoothing, config.consistency)
        self.precision = precision_for(config.precision, world.device)
        self.optimizers = optimizers(self.module, config)

    def objective(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Summed loss and negative log-likelihood of a batch, in the run's precision."""
        if self.precision == "fp32":
            return cast(tuple[Tensor, Tensor], self._objective(batch))
        copies = working_copies(self._objective)
        return cast(tuple[Tensor, Tensor], functional_call(self._objective, copies, (batch,)))

    def update(self, batches: list[Batch], step: int, *, seed: int) -> Update:
        """The update numbered `step`, from 1, on this process's batches."""
        # Every mask of this update follows from the run's seed, the update and the rank.
        words = np.random.SeedSequence((seed, step, self.world.rank)).generate_state(2)
        torch.manual_seed(int(words[0]) << 31 ^ int(words[1]))
        self.module.train()
        device = self.world.device
        tokens = int(self.world.sum(torch.tensor(sum(b.tokens for b in batches), device=device)))
        slots = sum(b.source_BS.numel() + b.predict_BT.numel() for b in batches)
        real = sum(int(b.source_len_B.sum()) + b.tokens for b in batches)
        sums = torch.tensor([0, 0, slots, real], dtype=torch.float64, device=device)
        for batch in batches:
            loss, nll = self.objective(batch)
            torch.autograd.backward(loss / tokens)
            sums[:2] += torch.stack((loss.detach(), nll.detach()))
        self.world.sum(sums)
        learned = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        self.world.sum_gradients(learned)
        norm = float(nn.utils.clip_grad_norm_(learned, self.config.clip or math.inf))
        if math.isfinite(norm):
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = self.config.rate(step, self.model.config.d_model)
                optimizer.step()
        self.module.zero_grad()
        loss_, nll_, slots_, real_ = sums.tolist()
        return Update(tokens, loss_, nll_, int(slots_), int(real_), norm, math.isfinite(norm))
