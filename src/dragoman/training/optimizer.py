"""Adam as in the paper (section 5.3), or Muon for the matrices inside the layers.

Muon (Jordan et al. 2024) makes each matrix's averaged gradient orthogonal before it is added, so that
directions which gradients rarely point to are learned as fast as the others. Its updates are scaled to
the size of Adam's (Liu et al. 2025, eq. 4), so both follow one learning rate.
"""

from __future__ import annotations

import torch
from torch import nn

from dragoman.training.options import TrainingConfig


def optimizers(module: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """What updates the module's parameters, between them each once; their learning rates are still 0.

    Embeddings, the layer before the softmax, biases and norms are Adam's in any case. Matrices that a
    layer holds as one, such as W^Q, W^K and W^V, are one to Muon.
    """
    adams = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    adams |= {id(p) for name, p in module.named_parameters() if name.startswith("logits.")}
    learned = [parameter for parameter in module.parameters() if parameter.requires_grad]
    matrices = [p for p in learned if p.dim() == 2 and min(p.shape) > 1 and id(p) not in adams]
    if config.optimizer == "adam":
        matrices = []
    chosen = {id(p) for p in matrices}
    adam = torch.optim.AdamW(
        [p for p in learned if id(p) not in chosen],
        lr=0.0,
        betas=(config.betas[0], config.betas[1]),
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )
    if not matrices:
        return [adam]
    muon = torch.optim.Muon(
        matrices, lr=0.0, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    return [muon, adam]
