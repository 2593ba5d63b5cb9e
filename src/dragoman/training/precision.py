"""bf16 arithmetic where the processor has it, on copies of float32 weights.

The float32 weights stay the truth: each update reads bf16 copies of them, made once, and adds to
the originals. Embeddings are looked up in float32, since their gradients add up hundreds of terms.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.training.options import Precision


def precision_for(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """What "auto" means on this machine: bf16 if the processor multiplies it natively."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    capabilities = torch.cpu.get_capabilities()
    return "bf16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "fp32"


def send_to_onednn() -> bool:
    """Sends float32 products on the CPU to oneDNN where it computes them in float32; whether it does.

    PyTorch does so when allowed to round operands to bf16. On some processors oneDNN then keeps to float32
    all the same, up to twice as fast as the default path; on others it does round. So the products are
    looked at: rounded operands would show as errors hundreds of times greater.
    """
    matmul: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]  # no type knows of it
    before = matmul.fp32_precision
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    generator = torch.Generator().manual_seed(1)
    for m, k, n in ((64, 256, 256), (512, 256, 1024), (1024, 1024, 256), (16, 512, 512)):
        a, b = torch.randn(m, k, generator=generator), torch.randn(k, n, generator=generator)
        exact = a.double() @ b.double()
        matmul.fp32_precision = "bf16"
        error = float((a @ b - exact).abs().max())
        if error > 1e-5 * k**0.5:
            matmul.fp32_precision = before
            return False
    return True


def working_copies(module: nn.Module) -> dict[str, Tensor]:
    """bf16 copies of the parameters, by name, through which gradients flow to the originals."""
    embeddings = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    return {
        name: parameter if id(parameter) in embeddings else parameter.to(torch.bfloat16)
        for name, parameter in module.named_parameters()
    }
