"""Loops in C for the parts of a training step in which PyTorch's operators are far from the limit of a CPU.

Attention over short sentences, the softmax of the loss, layer normalisation and dropout: each has a file of C
next to this one, and is here an operation with gradients. They are optional. The C compiler of the machine
compiles them when a training run first needs them, which takes seconds, and the result is kept in the user's
cache. Without a compiler, or with DRAGOMAN_NATIVE=0, PyTorch's operators do the same work. `enabled()` says
whether the loops are in use.

B batch, H heads, T queries, S keys, D head width, C copies, R rows, V vocabulary.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.base.compiler import CompilerError, Sources, find_compiler, loaded

log = logging.getLogger(__name__)

# No -ffast-math: hidden keys are -inf, and NaN must propagate.
_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fopenmp")
_WIDE = "-mprefer-vector-width=512"
_TYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}

_on = False


def enable() -> bool:
    """Use the loops from now on. Compile them first if necessary. Return whether that worked."""
    global _on
    _on = os.environ.get("DRAGOMAN_NATIVE", "1") != "0" and _library() is not None
    return _on


def disable() -> None:
    """Use PyTorch's operators from now on."""
    global _on
    _on = False


def enabled() -> bool:
    """Whether the loops are in use."""
    return _on


def serves(*tensors: Tensor) -> bool:
    """Whether the loops are in use and support these tensors: on a CPU, all float32 or all bfloat16."""
    kind = tensors[0].dtype
    return (
        _on
        and kind in _TYPES
        and all(x.device.type == "cpu" and x.dtype == kind and x.numel() for x in tensors)
    )


def softmax_block(
    logits_CRV: Tensor, consistency: float, bias_V: Tensor | None, real: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Compute `training.loss.softmax_block`, in place."""
    copies, rows, vocab = logits_CRV.shape
    lse_CR, apart_R = torch.empty(copies, rows), torch.zeros(rows)
    chunks = torch.get_num_threads()
    sums = None if bias_V is None else torch.empty(chunks, _whole(vocab))
    _call(
        "softmax_block",
        logits_CRV.dtype,
        logits_CRV,
        *map(ctypes.c_int64, (copies, rows, vocab)),
        ctypes.c_float(consistency),
        bias_V,
        *map(ctypes.c_int64, (real, chunks)),
        lse_CR,
        apart_R,
        sums,
    )
    return lse_CR, apart_R.sum(), None if sums is None else sums.sum(0)[:vocab]


def _whole(numbers: int) -> int:
    """Rounded up to whole vectors."""
    lanes = ctypes.c_int64.in_dll(cast("ctypes.CDLL", _library()), "lanes").value
    return -(-numbers // lanes) * lanes


class _Strides(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("b", "h", "t")]


class _Shape(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in "BHTSD"),
        *((name, _Strides) for name in ("q", "k", "v", "bias", "out")),
    ]


def _shape(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, out: Tensor) -> Any:
    b, h, t, d = q.shape
    strides = (_Strides(*x.stride()[:3]) for x in (q, k, v, q if bias is None else bias, out))
    return ctypes.byref(_Shape(b, h, t, k.shape[2], d, *strides))


class _Attention(torch.autograd.Function):
    """softmax(QK^T / sqrt(D) + bias) V, as `models.transformer.attend`, without a gradient of `bias`.

    Memory grows with T and S, not with their product, because the backward pass recomputes the weights.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
        b, h, t, _ = q.shape
        if bias is not None:
            bias = bias.float().expand(b, h, t, k.shape[2])
            if bias.stride(-1) != 1:
                bias = bias.contiguous()
        out = torch.empty(b, t, h, q.shape[3], dtype=q.dtype).transpose(1, 2)
        norms = torch.empty(2, b, h, t)
        _call("attention_forward", q.dtype, _shape(q, k, v, bias, out), q, k, v, bias, out, norms)
        ctx.save_for_backward(q, k, v, bias, norms)
        return out

    @staticmethod
    @once_differentiable  # a second derivative raises an error instead of being wrong
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, bias, norms = ctx.saved_tensors
        grad = upstream[0] if upstream[0].stride(-1) == 1 else upstream[0].contiguous()
        gradients = [
            torch.empty_like(x.transpose(1, 2), memory_format=torch.contiguous_format) for x in (q, k, v)
        ]
        shape = _shape(q, k, v, bias, grad)
        _call("attention_backward", q.dtype, shape, q, k, v, bias, norms, grad, *gradients)
        dq, dk, dv = (x.transpose(1, 2) for x in gradients)
        return dq, dk, dv, None


class _Dropout(torch.autograd.Function):
    """Zero each element of `x` with probability `p`, scale the others by 1 / (1 - p), and add `base`.

    The mask is a function of the position and of 64 bits from torch's generator, so it is not stored.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, base: Tensor | None = None) -> Tensor:
        low, high = torch.randint(2**32, (2,)).tolist()
        ctx.drawn, ctx.added = (p, low, high), base is not None
        return _drop(x, base, p, low, high)

    @staticmethod
    @once_differentiable  # a second derivative raises an error instead of being wrong
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return _drop(upstream[0], None, *ctx.drawn), None, upstream[0] if ctx.added else None


class _LayerNorm(torch.autograd.Function):
    """`nn.functional.layer_norm` over the last dimension (Ba et al. 2016), or `rms_norm` without a shift."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, shift: Tensor | None, epsilon: float) -> Tensor:
        x, gain, shift = x.contiguous(), gain.contiguous(), None if shift is None else shift.contiguous()
        out, width = torch.empty_like(x), x.shape[-1]
        stats = torch.empty(x.numel() // width, 2)
        sizes = ctypes.c_int64(len(stats)), ctypes.c_int64(width)
        _call("layer_norm_forward", x.dtype, x, gain, shift, out, stats, *sizes, ctypes.c_float(epsilon))
        ctx.save_for_backward(x, gain, stats)
        ctx.centred = shift is not None
        return out

    @staticmethod
    @once_differentiable  # a second derivative raises an error instead of being wrong
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, stats = ctx.saved_tensors
        grad, dx, width = upstream[0].contiguous(), torch.empty_like(x), len(gain)
        sums = torch.empty(torch.get_num_threads(), 2, _whole(width))
        sizes = map(ctypes.c_int64, (len(stats), width, len(sums), ctx.centred))
        _call("layer_norm_backward", x.dtype, x, gain, stats, grad, dx, sums, *sizes)
        dgain, dshift = sums.sum(0)[:, :width].to(gain.dtype)
        return dx, dgain, dshift if ctx.centred else None, None


# `apply` of PyTorch has no types.
attention: Callable[..., Tensor] = _Attention.apply
dropout: Callable[..., Tensor] = _Dropout.apply
layer_norm: Callable[..., Tensor] = _LayerNorm.apply


def _drop(x: Tensor, base: Tensor | None, p: float, low: int, high: int) -> Tensor:
    x, base = x.contiguous(), None if base is None else base.contiguous()
    out = torch.empty_like(x)
    dropped = min(round(p * 2**32), 2**32 - 1)
    scale = 2**32 / (2**32 - dropped)
    numbers = ctypes.c_int64(x.numel()), ctypes.c_uint32(dropped), ctypes.c_float(scale)
    _call("dropout", x.dtype, x, base, out, *numbers, ctypes.c_uint32(low), ctypes.c_uint32(high))
    return out


def _call(name: str, kind: torch.dtype, *arguments: Any) -> None:
    """Call the loop for this dtype. Tensors are passed as addresses, None as a null pointer."""
    function = getattr(_library(), f"{name}_{_TYPES[kind]}")
    function(*(ctypes.c_void_p(x.data_ptr()) if isinstance(x, Tensor) else x for x in arguments))


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Return the loops, from the cache if it has them for this source, compiler and processor."""
    wide = (_WIDE,) if platform.machine() in ("x86_64", "AMD64") else ()
    folder = Path(__file__).parent
    program = Sources(
        name="kernels",
        sources=tuple(sorted(folder.glob("*.c"))),
        headers=tuple(sorted(folder.glob("*.h"))),
        flags=(*_FLAGS, *wide),
        libraries=("-lm",),
    )
    try:
        return loaded(find_compiler("CC", ("cc", "gcc")), program, facts=_processor())
    except (CompilerError, OSError, RuntimeError) as error:  # RuntimeError: the user has no home
        log.info("training uses PyTorch's operators, which are slower than the loops in C: %s", error)
        return None


def _processor() -> bytes:
    """The description of the processor, on which -march=native depends."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
        return b"".join(
            line for line in lines[:40] if line.startswith((b"model name", b"flags", b"Features"))
        )
    except OSError:
        return platform.processor().encode()
