"""One update: summed loss / tokens of all processes -> summed gradients -> clipping -> weights."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.anchor import Anchor
from dragoman.training.batches import Batch, collate
from dragoman.training.distributed import World
from dragoman.training.loss import Objective
from dragoman.training.optimizer import optimizers
from dragoman.training.options import TrainingConfig
from dragoman.training.precision import precision_for, working_copies

if TYPE_CHECKING:
    from dragoman.training.sharded import Shards


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
    """A model with its objective and its optimizers. A `penalty` holds its weights near the first ones.

    If several processes share the weights, `trained` has those of this process, and `model` is empty
    except within `whole` and after `gather`. Otherwise both are the same.
    """

    def __init__(self, model: AnySeq2Seq, config: TrainingConfig, world: World, penalty: float = 0.0) -> None:
        self.model, self.config, self.world = model.to(world.device), config, world
        self._objective = Objective(
            model,
            config.label_smoothing,
            config.consistency,
            aligning=config.aligning(model.config),
            alignment_weight=config.alignment_weight,
        )
        self.precision = precision_for(config.precision, world.device)
        self.trained, self._shards = self.model, None
        if config.parallel == "sharded" and world.size > 1:
            from dragoman.training.sharded import MuonOfShards, Shards  # its imports take a second

            self._shards = Shards(self._objective, world, self.precision)
            self.trained = self._shards.model
            self.optimizers = optimizers(self.trained, config, muon=MuonOfShards)
        else:
            self.optimizers = optimizers(self.trained, config)
        self._anchor = Anchor(self.trained.parameters(), penalty) if penalty else None

    @property
    def sharded(self) -> bool:
        """Whether the processes share the weights."""
        return self._shards is not None

    def whole(self) -> AbstractContextManager[None]:
        """Within the block, `model` has all current weights in every process."""
        return nullcontext() if self._shards is None else self._shards.whole()

    def together(self) -> AbstractContextManager[None]:
        """Name the process that is lost, if the block fails for that: the layers exchange weights."""
        return nullcontext() if self._shards is None else self.world.together()

    def gather(self) -> None:
        """Give `model` all current weights in every process."""
        if self._shards is not None:
            self._shards.fill()

    def objective(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Summed loss and negative log-likelihood of a batch under `model`, in the precision of the run."""
        sums: tuple[Tensor, Tensor]
        if self.precision == "fp32":
            sums = self._objective(batch)
        else:
            sums = functional_call(self._objective, working_copies(self._objective), (batch,))
        return sums

    def update(self, batches: list[Batch], step: int, *, seed: int, seconds: float = 0.0) -> Update:
        """Make update number `step`, counted from 1, on the batches of this process.

        All processes have the same number of batches. Batch i of process r is number r + i * (processes) of
        the update. Its dropout depends on this number, on `step` and on `seed`, and not on the processes.
        `seconds` is the time that training took so far. It must be the same in every process.
        """
        self.trained.train()
        device = self.world.device
        tokens = int(self.world.sum(torch.tensor(sum(b.tokens for b in batches), device=device)))
        slots = sum(b.source_BS.numel() + b.predict_BT.numel() for b in batches)
        real = sum(int(b.source_len_B.sum()) + b.tokens for b in batches)
        sums = torch.tensor([0, 0, slots, real], dtype=torch.float64, device=device)
        for number, batch in enumerate(batches):
            seed_masks(seed, step, self.world.rank + number * self.world.size)
            if self._shards is not None:
                loss, nll = self._together(self._shards, batch)
            elif batch.tokens:
                loss, nll = self.objective(batch)
            else:
                continue
            torch.autograd.backward(loss / tokens)
            sums[:2] += torch.stack((loss.detach(), nll.detach()))
        self.world.sum(sums)
        learned = [parameter for parameter in self.trained.parameters() if parameter.requires_grad]
        if self._shards is None:
            self.world.sum_gradients(learned)
        if self._anchor is not None:
            self._anchor.pull()  # after the sum, because every process has the same weights
        norm = self._clip(learned, self.config.clip or math.inf)
        if math.isfinite(norm):
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = self.config.rate(step, self.model.config.d_model, seconds)
                optimizer.step()
        self.trained.zero_grad()
        loss_, nll_, slots_, real_ = sums.tolist()
        return Update(tokens, loss_, nll_, int(slots_), int(real_), norm, math.isfinite(norm))

    def _together(self, shards: Shards, batch: Batch) -> tuple[Tensor, Tensor]:
        """The sums of a batch. A process without pairs takes part all the same: the others need its rows."""
        if batch.tokens:
            return shards(batch)
        model = self.model.config
        blank = collate([[]], [[]], pad_id=model.pad_id, start_id=model.start_id, end_id=model.end_id)
        loss, nll = shards(blank.to(self.world.device))
        return 0 * loss, 0 * nll

    def _clip(self, learned: list[nn.Parameter], most: float) -> float:
        if self._shards is not None:
            return self._shards.clip(learned, most)
        return float(nn.utils.clip_grad_norm_(learned, most))


def seed_masks(seed: int, step: int, number: int) -> None:
    """Determine the masks of batch `number` of an update, whichever process has it."""
    words = np.random.SeedSequence((seed, step, number)).generate_state(2)
    torch.manual_seed(int(words[0]) << 31 ^ int(words[1]))
