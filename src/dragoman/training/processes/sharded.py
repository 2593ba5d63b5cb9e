"""Training with weights, gradients and moments divided among the processes: PyTorch's FSDP2.

`training.parallel = "sharded"`. Each process keeps some rows of every matrix. A layer of a Transformer has
its weights whole only while it computes; the embeddings, and all weights of other architectures, during the
whole forward and backward pass. Gradients are summed over the processes and divided again.

FSDP2 is described in the documentation of `torch.distributed.fsdp.fully_shard`; the idea is ZeRO, stage 3
(Rajbhandari et al. 2020).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard
from torch.func import functional_call

from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.transformer import Transformer
from dragoman.training.data.batches import Batch
from dragoman.training.processes.distributed import World
from dragoman.training.step.loss import Objective
from dragoman.training.step.optimizer import averaged_gradient, muon_rate, orthogonal
from dragoman.training.step.precision import working_copies

Precision = Literal["fp32", "bf16"]


class Shards:
    """An objective whose weights are divided among the processes.

    The model of the original objective is emptied. `whole` fills it for a while.
    """

    def __init__(self, objective: Objective, world: World, precision: Precision) -> None:
        self._whole, self._world = objective.model, world
        mesh = init_device_mesh(world.device.type, (world.size,))
        twin = copy.deepcopy(objective)
        units = list(_units(twin))
        if precision == "bf16" and units and isinstance(twin.model, Transformer):
            # The embeddings return it. FSDP gives it to the layers only while they compute.
            twin.model.computes_in = torch.bfloat16
        bf16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        policy = bf16 if precision == "bf16" else MixedPrecisionPolicy()
        for unit in units:
            # The loss of a head that learns to align reads its weights when the layer has computed.
            fully_shard(unit, mesh=mesh, mp_policy=policy, reshard_after_forward=unit is not _aligned(twin))
        self._step = _Forward(twin, copies=precision == "bf16" and not units)
        fully_shard(self._step, mesh=mesh)
        for part in self._step.modules():
            if isinstance(part, FSDPModule):  # sums, because the loss is divided by all tokens
                part.set_gradient_divide_factor(1.0)
                part.set_force_sum_reduction_for_comms(True)
        self.model: AnySeq2Seq = twin.model
        self._empty()

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The objective of a batch. Each process must call it equally often, and the backward pass, too."""
        sums: tuple[Tensor, Tensor] = self._step(batch)
        return sums

    @contextmanager
    def whole(self, others: Mapping[str, Tensor] | None = None) -> Iterator[None]:
        """Fill the model of the original objective within the block, in every process."""
        self.fill(others)
        try:
            yield
        finally:
            self._empty()

    def fill(self, others: Mapping[str, Tensor] | None = None) -> None:
        """Give the model of the original objective the current weights, in every process.

        `others`, divided alike, take the place of those with their names.
        """
        sharded = {**dict(self.model.named_parameters()), **(others or {})}
        with self._world.together():
            for name, parameter in self._whole.named_parameters():
                parameter.data = whole_of(sharded[name].detach())

    def _empty(self) -> None:
        for _, parameter in self._whole.named_parameters():
            parameter.data = parameter.data.new_empty(0)

    def clip(self, parameters: Iterable[nn.Parameter], most: float) -> float:
        """Scale the gradients down to the norm `most`, as `clip_grad_norm_` does. Return the norm before."""
        own = [local_part(p.grad) for p in parameters if p.grad is not None]
        squares = torch.zeros((), dtype=torch.float64, device=self._world.device)
        for gradient in own:
            squares += gradient.double().square().sum()
        norm = float(self._world.sum(squares).sqrt())
        scale = most / (norm + 1e-6)
        if scale < 1:
            for gradient in own:
                gradient.mul_(scale)
        return norm


class _Forward(nn.Module):
    """The objective, with bf16 copies of all weights if `copies`."""

    def __init__(self, objective: Objective, *, copies: bool) -> None:
        super().__init__()
        self.objective, self.copies = objective, copies

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        sums: tuple[Tensor, Tensor]
        if self.copies:
            sums = functional_call(self.objective, working_copies(self.objective), (batch,))
        else:
            sums = self.objective(batch)
        return sums


def _units(objective: Objective) -> Iterator[nn.Module]:
    """The modules whose weights are whole only while they compute."""
    model = objective.model
    if not isinstance(model, Transformer) or model.config.positions == "t5":  # its layers share weights
        return
    yield from (*model.encoder, *model.decoder)
    for norm in (model.encoder_norm, model.decoder_norm):
        if not isinstance(norm, nn.Identity):
            yield norm


def _aligned(objective: Objective) -> nn.Module | None:
    """The layer with a head that learns to align, if there is one."""
    if objective.aligning is None or not isinstance(objective.model, Transformer):
        return None
    return objective.model.decoder[objective.aligning.layer - 1]


def whole_of(value: Tensor) -> Tensor:
    """A tensor that is divided among the processes as a whole, in each. Others are returned as they are."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def local_part(value: Tensor) -> Tensor:
    """The rows that this process has. They share the tensor's memory."""
    return value.to_local() if isinstance(value, DTensor) else value


def own_rows(value: DTensor) -> range:
    """The numbers of the rows that this process has: as many in each as in `torch.chunk`, the first ones."""
    mesh: DeviceMesh = value.device_mesh
    each = -(-len(value) // mesh.size())
    first = min(mesh.get_local_rank() * each, len(value))
    return range(first, first + len(value.to_local()))


def like(value: DTensor, rows: Tensor) -> DTensor:
    """A tensor divided as `value`, of which this process has these rows."""
    return DTensor.from_local(
        rows, value.device_mesh, [Shard(0)], run_check=False, shape=value.shape, stride=value.stride()
    )


class MuonOfShards(torch.optim.Muon):
    """Muon for matrices that are divided among the processes.

    The momentum is divided, too. The averaged gradient of one matrix at a time is whole in every process,
    each of which makes it orthogonal and takes its rows.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # PyTorch's is overloaded
        """One update of every matrix that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                averaged = averaged_gradient(self.state[parameter], parameter.grad, group["momentum"])
                averaged = whole_of(averaged)
                (change_RC,) = orthogonal(averaged[None], group)
                own = local_part(parameter)
                own.mul_(1 - group["lr"] * group["weight_decay"])
                rows = own_rows(parameter) if isinstance(parameter, DTensor) else range(len(own))
                own.add_(change_RC[rows.start : rows.stop], alpha=-muon_rate(averaged.shape, group))
