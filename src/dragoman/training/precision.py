"""bf16 arithmetic where the processor has it, on copies of float32 weights.

The float32 weights stay the truth: each update reads bf16 copies of them, made once, and adds to
the originals. Embeddings are looked up in float32, since their gradients add up hundreds of terms.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Precision = Literal["auto", "fp32", "bf16"]


def resolve(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """What "auto" means on this machine: bf16 if the processor multiplies it natively."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    capabilities = torch.cpu.get_capabilities()
    return "bf16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "fp32"


def working_copies(module: nn.Module) -> dict[str, Tensor]:
    """bf16 copies of the parameters, by name, through which gradients flow to the originals."""
    embeddings = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    return {
        name: parameter if id(parameter) in embeddings else parameter.to(torch.bfloat16)
        for name, parameter in module.named_parameters()
    }
