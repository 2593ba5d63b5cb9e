"""One update: summed loss / tokens of all processes -> summed gradients -> clipping -> weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from dragoman.base.errors import out_of_memory
from dragoman.models.folder.int8 import rounded_to_int8
from dragoman.models.folder.weights import weights_of
from dragoman.models.layers.embeddings import CLOSED, close
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.transformer import Transformer
from dragoman.training.data.batches import Batch, collate
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.step.ema import MovingAverage
from dragoman.training.step.halving import LargestBatch, fitting
from dragoman.training.step.loss import Objective
from dragoman.training.step.malloc import release_freed_memory
from dragoman.training.step.optimizer import optimizers
from dragoman.training.step.precision import precision_for, working_copies

if TYPE_CHECKING:
    from dragoman.training.processes.sharded import Shards


@dataclass(frozen=True)
class Update:
    """The outcome of an update, with sums over the batches of all processes."""

    tokens: int  # targets without padding
    loss: float  # with label smoothing, in nats
    nll: float
    slots: int  # positions of both sides, with padding
    real: int  # the same without padding
    gradient_norm: float  # before clipping
    fault: Literal["", "loss", "gradient"] = ""  # which was not finite, in any process
    blamed: tuple[int, ...] = ()  # numbers of the batches of this process in which it was not, from 0
    notes: int = 0  # processes that have a note
    note: str = ""  # for the user: memory ran out in this process

    @property
    def made(self) -> bool:
        """Whether the weights changed. They do not if the loss or the gradient is not finite."""
        return not self.fault


class Learner:
    """A model with its objective and its optimizers.

    If several processes share the weights, `trained` has the rows of this process, and `model` is empty
    except within `whole` and after `gather`. Otherwise both are the same.
    """

    def __init__(self, model: AnySeq2Seq, config: TrainingConfig, world: World) -> None:
        self.model, self.config, self.world = model.to(world.device), config, world
        if config.recomputing(model.config) and isinstance(model, Transformer):
            recompute_layers(model)
        self._objective = Objective(
            model,
            config.label_smoothing,
            config.consistency,
            aligning=config.aligning(model.config),
            alignment_weight=config.alignment_weight,
        )
        self.precision = precision_for(config.precision, world.device)
        self.trained, self._shards = self.model, None
        self._own: Callable[[Tensor], Tensor] = lambda weight: weight  # the rows that this process has
        if config.parallel == "sharded" and world.size > 1:
            from dragoman.training.processes.sharded import MuonOfShards, Shards, local_part

            self._own = local_part
            self._shards = Shards(self._objective, world, self.precision)
            self.trained = self._shards.model
            self.optimizers = optimizers(self.trained, config, muon=MuonOfShards)
        else:
            self.optimizers = optimizers(self.trained, config, world=world)
        self.ema = MovingAverage(self.trained, config.ema, own=self._own) if config.ema else None
        bias_V = self.trained.logits.bias  # of this process, if the weights are divided
        self._closed_V = bias_V.detach() < CLOSED / 2 if config.close_unseen else None
        # Where an adapter learns new tokens, the rows of old ones stay as they are.
        self._old = [
            (weight, weight.detach()[:rows].clone())
            for weight in self.trained.parameters()
            if (rows := getattr(weight, "old_rows", 0))
        ]
        # An embedding of zeros, from which Marian's decoders start, stays as it is.
        self._zeros = (self._targets() == 0).all(1).nonzero()[:, 0]
        self.largest = LargestBatch()

    @property
    def sharded(self) -> bool:
        """Whether the processes share the weights."""
        return self._shards is not None

    def whole(self) -> AbstractContextManager[None]:
        """Within the block, `model` has all weights in every process: those of the run's moving average, if
        it has one, or else the current ones."""
        if self._shards is not None:
            return self._shards.whole({} if self.ema is None else self.ema.weights)
        return nullcontext() if self.ema is None else self.ema.in_place()

    def together(self) -> AbstractContextManager[None]:
        """Name the process that is lost, if the block fails for that: the layers exchange weights."""
        return nullcontext() if self._shards is None else self.world.together()

    def rounded(self) -> AbstractContextManager[None]:
        """Within the block, `model` has the weights that `training.quantise` says, which are translated with.

        Enter it outside of `torch.inference_mode`.
        """
        return rounded_to_int8(self.model) if self.config.quantise else nullcontext()

    def gather(self) -> None:
        """Give `model` all current weights in every process."""
        if self._shards is not None:
            self._shards.fill()

    def own_weights(self) -> dict[str, Tensor]:
        """The weights that this process has, or its rows of them, by name. They share the model's memory.

        Their moving average is named ema/NAME.
        """
        weights = weights_of(self.trained)
        if self.ema is not None:
            weights |= {f"ema/{name}": average for name, average in self.ema.weights.items()}
        return {name: self._own(weight) for name, weight in weights.items()}

    def _targets(self) -> Tensor:
        """The rows of the target embedding that this process has. They share the model's memory."""
        return self._own(self.trained.target_embedding.weight.detach())

    def objective(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Summed loss and negative log-likelihood of a batch under `model`, in the precision of the run."""
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

        All processes have the same number of batches. Batch i of process r is number r + i * (processes) of
        the update. Its dropout depends on this number, on `step` and on `seed`, and not on the processes.
        `seconds` is the time that training took so far. It must be the same in every process. `between` is
        called before each batch and may raise, which leaves the weights as they were.
        """
        self.trained.train()
        device = self.world.device
        tokens = int(self.world.sum(torch.tensor(sum(b.tokens for b in batches), device=device)))
        sums, losses, note = self._gradients(batches, tokens, step, seed, between)
        real = sum(int(b.source_len_B.sum()) + b.tokens for b in batches)
        counts = torch.tensor([sum(b.slots for b in batches), real, bool(note)], device=device)
        sums = self.world.sum(torch.cat((sums, counts)))
        learned = [parameter for parameter in self.trained.parameters() if parameter.requires_grad]
        if self._shards is None:
            self.world.sum_gradients(learned)
        for weight, old in self._old:
            if weight.grad is not None:
                weight.grad[: len(old)] = 0.0
        norm = self._clip(learned, self.config.clip or math.inf)
        loss_, nll_, slots_, real_, notes = sums.tolist()
        fault, blamed = self._fault(loss_, norm), list[int]()
        if not fault:
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = self.config.rate(step, self.model.config.d_model, seconds)
                optimizer.step()
            if self._closed_V is not None:  # weight decay would open them in time
                close(self.trained.logits, self._closed_V)
            for weight, old in self._old:  # weight decay would change them
                weight.detach()[: len(old)] = old
            if len(self._zeros):
                self._targets()[self._zeros] = 0.0
            if self.ema is not None:
                self.ema.follow(step)
        else:
            bad = [number for number, loss in enumerate(losses) if not math.isfinite(loss)]
            blamed = [number for number in bad if batches[number].tokens]  # others had no pairs of their own
        if fault == "gradient":
            blamed = self._blamed(batches, tokens, step, seed)
        self.trained.zero_grad()
        return Update(
            tokens=tokens,
            loss=loss_,
            nll=nll_,
            slots=int(slots_),
            real=int(real_),
            gradient_norm=norm,
            fault=fault,
            blamed=tuple(blamed),
            notes=int(notes),
            note=note,
        )

    def _gradients(
        self, batches: list[Batch], tokens: int, step: int, seed: int, between: Callable[[], None]
    ) -> tuple[Tensor, list[Tensor], str]:
        """Compute the gradients of this process, in parts if memory is too small for a whole batch.

        Return summed loss and negative log-likelihood, the summed loss of each batch, and a note for the user
        if memory ran out.
        """
        note = ""
        while True:
            self.trained.zero_grad()  # an attempt that ran out of memory has left some gradients
            sums = torch.zeros(2, dtype=torch.float64, device=self.world.device)
            losses: list[Tensor] = []
            part = None
            try:
                for number, batch in enumerate(batches):
                    between()
                    seed_masks(seed, step, self.world.rank + number * self.world.size)
                    own = torch.zeros_like(sums)
                    for part in fitting(batch, self.largest.most, self.model.config.pad_id):
                        own += self._backward(part, tokens)
                    sums += own
                    losses.append(own[0])
                return sums, losses, note
            except (RuntimeError, MemoryError) as error:
                if part is None or not out_of_memory(error):
                    raise
            # Not in the block above: there, the error holds the tensors of its frames.
            note = self.largest.shrink(part, step, alone=self._shards is None) or note
            if self.world.device.type == "cuda":
                torch.cuda.empty_cache()
            else:
                release_freed_memory()

    def _backward(self, batch: Batch, tokens: int) -> Tensor:
        """Add the gradients of a batch; return its summed loss and negative log-likelihood."""
        with self.rounded():
            if self._shards is not None:
                loss, nll = self._together(self._shards, batch)
            elif batch.tokens:
                loss, nll = self.objective(batch)
            else:
                return torch.zeros(2, device=self.world.device)
            torch.autograd.backward(loss / tokens)
        return torch.stack((loss.detach(), nll.detach()))

    def _fault(self, loss: float, norm: float) -> Literal["", "loss", "gradient"]:
        """Which of them is not finite, the same in every process."""
        fault = 2 if not math.isfinite(loss) else 1 if not math.isfinite(norm) else 0
        names: tuple[Literal["", "gradient", "loss"], ...] = ("", "gradient", "loss")
        return names[self.world.greatest(fault)[0]]

    def _blamed(self, batches: list[Batch], tokens: int, step: int, seed: int) -> list[int]:
        """The batches whose own gradient is not finite. Computes the update again, batch by batch.

        Of processes that share the weights, each also has the gradients of the others' batches.
        """
        blamed = []
        for number, batch in enumerate(batches):
            self.trained.zero_grad()
            seed_masks(seed, step, self.world.rank + number * self.world.size)
            for part in fitting(batch, self.largest.most, self.model.config.pad_id):
                self._backward(part, tokens)
            if not math.isfinite(self._clip(list(self.trained.parameters()), math.inf)):
                blamed.append(number)
        return blamed

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


def recompute_layers(model: Transformer) -> None:
    """Have the layers of encoder and decoder computed again in each backward pass. Changes their `forward`.

    The weights, their names and the results stay the same, bit for bit, because the second pass draws the
    same dropout masks. An update takes one more forward pass of the layers, up to a third more operations.
    Activation checkpointing: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", with a
    segment for each layer.
    """
    for layer in (*model.encoder, *model.decoder):
        setattr(layer, "forward", _Recomputed(layer))  # noqa: B010 - a method, for a type checker


class _Recomputed:
    """A layer's `forward` that keeps its arguments only, in training."""

    def __init__(self, layer: nn.Module) -> None:
        self._layer = layer
        self._forward: Callable[..., Any] = layer.forward
        self._again = False

    def __call__(self, *arguments: Any) -> Any:
        if self._again or self._watched() or not (self._layer.training and torch.is_grad_enabled()):
            return self._forward(*arguments)
        # In bf16 the weights are copies, which are in the module during the forward pass only.
        weights: Iterable[tuple[str, Tensor]] = self._layer.named_parameters()
        copies = {name: weight for name, weight in weights if not isinstance(weight, nn.Parameter)}
        return checkpoint(self._run, copies, *arguments, use_reentrant=False)

    def _watched(self) -> bool:
        """Whether a hook keeps results of a part, as for a head that learns to align: they would be lost.

        The hooks of linear layers add an adapter's part and keep nothing.
        """
        parts = (part for part in self._layer.modules() if part is not self._layer)
        return any(part._forward_hooks for part in parts if not isinstance(part, nn.Linear))

    def _run(self, copies: dict[str, Tensor], *arguments: Any) -> Any:
        if not copies:
            return self._forward(*arguments)
        self._again = True
        try:
            return functional_call(self._layer, copies, arguments)
        finally:
            self._again = False
