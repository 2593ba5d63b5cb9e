"""Adam as in the paper (section 5.3), or Muon for the matrices inside the layers.

Muon (Jordan et al. 2024) makes the averaged gradient of each matrix orthogonal before adding it, so that
the model learns rare gradient directions as fast as common ones. Its updates are scaled to the
size of Adam's (Liu et al. 2025, eq. 4), so that both use the same learning rate.

N matrices of one shape, R rows, C columns, r the smaller of R and C.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.step.precision import multiplies_bf16


def optimizers(
    model: AnySeq2Seq,
    config: TrainingConfig,
    *,
    world: World | None = None,
    muon: type[torch.optim.Muon] | None = None,
) -> list[torch.optim.Optimizer]:
    """Return the optimizers; each parameter is in exactly one. Updates set the learning rate, 0 until then.

    The processes of `world` have the same weights and gradients, and divide the work of Muon.

    Adam (section 5.3) always updates embeddings, the layer before the softmax, biases and norms. Muon treats
    matrices that a layer stores as one, such as W^Q, W^K and W^V, as one matrix.
    """
    adams = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    adams |= {id(p) for name, p in model.named_parameters() if name.startswith("logits.")}
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [p for p in learned if p.dim() == 2 and min(p.shape) > 1 and id(p) not in adams]
    if config.optimizer == "adam":
        matrices = []
    chosen = {id(p) for p in matrices}
    others = [p for p in learned if id(p) not in chosen]
    adam: list[torch.optim.Optimizer] = []
    options: dict[str, Any]
    if others:  # an adapter may be of matrices alone
        options = {"betas": (config.betas[0], config.betas[1]), "eps": config.epsilon, "fused": True}
        adam = [torch.optim.AdamW(others, lr=0.0, weight_decay=config.weight_decay, **options)]
    if not matrices:
        return adam
    options = {"weight_decay": config.weight_decay, "adjust_lr_fn": "match_rms_adamw"}
    if muon is not None:
        return [muon(matrices, lr=0.0, **options), *adam]
    return [StackedMuon(matrices, lr=0.0, world=world, **options), *adam]


class StackedMuon(torch.optim.Muon):
    """PyTorch's Muon, with one batched product for all matrices of a shape.

    Small products one by one spend most of their time in calls. Each process of `world` makes some of the
    matrices orthogonal for all.
    """

    def __init__(self, matrices: list[nn.Parameter], *, world: World | None = None, **options: Any) -> None:
        super().__init__(matrices, **options)
        self._world = world

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # PyTorch's is overloaded
        """One update of every matrix that has a gradient."""
        for group in self.param_groups:
            alike = defaultdict[torch.Size, dict[nn.Parameter, Tensor]](dict)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike[parameter.shape][parameter] = parameter.grad
            for number, (shape, gradients) in enumerate(alike.items()):
                averaged = [
                    averaged_gradient(self.state[p], g, group["momentum"]) for p, g in gradients.items()
                ]
                changes_NRC = self._changes(torch.stack(averaged), number, group)
                for parameter, change_RC in zip(gradients, changes_NRC, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(change_RC, alpha=-muon_rate(shape, group))

    def _changes(self, averaged_NRC: Tensor, number: int, group: dict[str, Any]) -> Tensor:
        """The `orthogonal` matrices of a shape, which has this number."""
        if self._world is None or self._world.size == 1:
            return orthogonal(averaged_NRC, group)
        own = slice((self._world.rank + number) % self._world.size, None, self._world.size)
        changes_NRC = torch.zeros_like(averaged_NRC)
        if len(averaged_NRC[own]):
            changes_NRC[own] = orthogonal(averaged_NRC[own], group).to(changes_NRC.dtype)
        return self._world.sum(changes_NRC)  # the others' are zeros


def averaged_gradient(state: dict[str, Any], gradient: Tensor, decay: float) -> Tensor:
    """The gradient with Nesterov's momentum, which is in the state of its parameter."""
    if "momentum_buffer" not in state:
        state["momentum_buffer"] = torch.zeros_like(gradient)
    momentum: Tensor = state["momentum_buffer"].lerp_(gradient, 1 - decay)
    return gradient.lerp(momentum, decay)


def muon_rate(shape: torch.Size, group: dict[str, Any]) -> float:
    """The learning rate of a matrix of this shape: its updates get the size of Adam's."""
    rate: float = 0.2 * max(shape) ** 0.5 * group["lr"]
    return rate


def orthogonal(matrices_NRC: Tensor, group: dict[str, Any]) -> Tensor:
    """Matrices with the singular vectors of these and singular values near 1.

    Each step of the Newton-Schulz iteration turns a singular value s into a s + b s^3 + c s^5. It needs no
    more than bf16, so it computes in that where the device multiplies it natively, and else in float32.
    """
    a, b, c = group["ns_coefficients"]
    x = matrices_NRC.to(torch.bfloat16 if multiplies_bf16(matrices_NRC.device) else torch.float32)
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT.contiguous()
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        square_Nrr = x @ x.mT
        polynomial_Nrr = torch.baddbmm(square_Nrr, square_Nrr, square_Nrr, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial_Nrr, x, beta=a)
    return x.mT if tall else x
