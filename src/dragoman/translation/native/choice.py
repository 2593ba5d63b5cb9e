"""Which engine translates: the native one if it can, otherwise PyTorch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from dragoman.base.errors import ConfigError
from dragoman.base.machine import has_pytorch
from dragoman.models.shapes import Architecture
from dragoman.translation.native.build import unavailable
from dragoman.translation.native.native import unsupported
from dragoman.translation.search.options import DType as DType

EngineName = Literal["auto", "native", "pytorch"]

_GPU = Path("/dev/nvidiactl")  # with an NVIDIA driver


def against_native(
    engine: EngineName | None, config: Architecture, *, device: str | None = None, dtype: DType | None = None
) -> str | None:
    """Return why PyTorch translates, in a few words, or None if the native engine does.

    `engine` is by default the environment variable DRAGOMAN_ENGINE, then `auto`. `device` is None for any.
    May compile the native engine. Raises ConfigError for an unknown name, for `native` if it cannot
    translate, and for int8 without it.
    """
    wanted = wanted_engine(engine)
    _check("dtype", dtype or "auto", get_args(DType))
    reason = "engine = pytorch" if wanted == "pytorch" else unsupported(config)
    if reason is None and device not in (None, "cpu"):
        reason = f"it does not run on {device}"
    if wanted == "auto" and dtype != "int8" and reason is None and device is None and _gpu():
        reason = "a GPU is faster"
    if reason is None:
        # Last, because it may take seconds.
        reason = unavailable()
    if reason is not None and wanted == "native":
        raise ConfigError(f"engine = native: {reason}", hint="leave the engine out, or use pytorch")
    if reason is not None and dtype == "int8":
        raise ConfigError(
            f"dtype = int8 needs the native engine: {reason}",
            hint="dragoman doctor says more; float32 and bfloat16 work without it",
        )
    return reason


def wanted_engine(engine: str | None = None) -> str:
    """The engine, by default that of DRAGOMAN_ENGINE, then `auto`. Raises ConfigError for an unknown name."""
    wanted = engine or os.environ.get("DRAGOMAN_ENGINE") or "auto"
    _check("engine", wanted, get_args(EngineName))
    return wanted


def _gpu() -> bool:
    """Whether PyTorch has a GPU. Without a driver, PyTorch is not imported: that takes seconds."""
    if not _GPU.exists() or not has_pytorch():
        return False
    import torch

    return torch.cuda.is_available()


def _check(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{option} = {value!r} cannot be used", hint=f"choose one of {', '.join(choices)}")
