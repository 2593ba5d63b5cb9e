"""Weights on disk, as safetensors, and in and out of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.files import replacing


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The model's weights by name, tied ones once."""
    seen: set[int] = set()
    weights: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters(remove_duplicate=True):
        if id(parameter) not in seen:
            seen.add(id(parameter))
            weights[name] = parameter.detach()
    return weights


def put_weights(model: nn.Module, weights: dict[str, Tensor], where: Path | str) -> None:
    """Copies `weights` into the model. Raises ModelError where names or shapes differ."""
    own = weights_of(model)
    if own.keys() != weights.keys():
        missing, extra = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
        raise ModelError(f"{where}: weights do not fit: missing {missing[:3]}, unknown {extra[:3]}")
    with torch.no_grad():
        for name, parameter in own.items():
            if parameter.shape != weights[name].shape:
                raise ModelError(
                    f"{where}: {name} has shape {tuple(weights[name].shape)}, "
                    f"the model needs {tuple(parameter.shape)}"
                )
            parameter.copy_(weights[name])


def write_weights(path: Path, weights: dict[str, Tensor]) -> None:
    """Writes weights whole or not at all."""
    with replacing(path) as part:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}, part)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Weights by name. Raises ModelError where the file is missing or damaged."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path}: cannot be read as weights ({error})",
            hint="was it copied whole? restore it or train again",
        ) from error


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in several files, summed in float64 (section 6.1 averages the last 5)."""
    total = {name: tensor.double() for name, tensor in read_weights(paths[0]).items()}
    for path in paths[1:]:
        for name, tensor in read_weights(path).items():
            total[name] += tensor
    return {name: (tensor / len(paths)).float() for name, tensor in total.items()}
