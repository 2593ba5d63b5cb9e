"""bf16 arithmetic on processors that support it, with copies of float32 weights.

Weights are kept in float32. Each batch reads bf16 copies of them; the update changes the originals.
Embeddings are looked up in float32, because their gradients add up hundreds of terms.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.training.options import Precision


def precision_for(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """Resolve "auto": bf16 if the device multiplies it natively, otherwise fp32."""
    if precision != "auto":
        return precision
    return "bf16" if multiplies_bf16(device) else "fp32"


def multiplies_bf16(device: torch.device) -> bool:
    """Whether the device multiplies bf16 natively. Others may take a hundred times as long as in float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def send_to_onednn() -> bool:
    """Send float32 products on the CPU to oneDNN if it computes them in float32. Return whether it does.

    PyTorch only uses oneDNN here if it is allowed to round operands to bf16. On some processors oneDNN keeps
    float32 all the same, and is up to twice as fast as the default path. On others it rounds. So check a few
    products: rounding makes errors hundreds of times greater.
    """
    mkldnn: Any = torch.backends.mkldnn  # PyTorch declares no types for it
    matmul = mkldnn.matmul
    before = matmul.fp32_precision
    if not mkldnn.is_available():
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
    """Return bf16 copies of the parameters, by name. Gradients flow through them to the originals."""
    embeddings = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    return {
        name: parameter if id(parameter) in embeddings else parameter.to(torch.bfloat16)
        for name, parameter in module.named_parameters()
    }
