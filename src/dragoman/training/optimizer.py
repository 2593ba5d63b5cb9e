"""Adam as in the paper (section 5.3), or Muon for the matrices inside the layers.

Muon (Jordan et al. 2024) makes the averaged gradient of each matrix orthogonal before adding it, so that
the model learns rare gradient directions as fast as common ones. Its updates are scaled to the
size of Adam's (Liu et al. 2025, eq. 4), so that both use the same learning rate.
"""

from __future__ import annotations

import torch
from torch import nn

from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training.options import TrainingConfig


def optimizers(
    model: AnySeq2Seq, config: TrainingConfig, *, muon: type[torch.optim.Muon] = torch.optim.Muon
) -> list[torch.optim.Optimizer]:
    """Return the optimizers; each parameter is in exactly one. Updates set the learning rate, 0 until then.

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
    rule = "match_rms_adamw"
    return [muon(matrices, lr=0.0, weight_decay=config.weight_decay, adjust_lr_fn=rule), adam]
