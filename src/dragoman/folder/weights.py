"""Read, write and average weights as safetensors files, and copy them into a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dragoman.base.errors import DragomanError, ModelError
from dragoman.base.files import replacing


class HasWeights(Protocol):
    """A `torch.nn.Module`, or a `Seq2Seq`."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


def weights_of(model: HasWeights) -> dict[str, Tensor]:
    """Return the model's weights by name, tied ones once. They share the model's memory."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def put_weights(model: HasWeights, weights: Mapping[str, Tensor], where: Path | str) -> None:
    """Copy `weights` into the model. Raises ModelError if names or shapes differ."""
    own = weights_of(model)
    _check_fit(weights, own, where)
    for name, weight in own.items():
        weight.copy_(weights[name])


def write_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write weights, whole or not at all. Raises DragomanError if that fails."""
    with replacing(path) as part:
        mode = part.stat().st_mode & 0o777
        try:
            save_file({name: weight.detach().cpu().contiguous() for name, weight in weights.items()}, part)
            part.chmod(mode)  # safetensors replaces the file by one that only its owner may read
        except SafetensorError as error:  # also raised for a full disk
            raise DragomanError(
                f"{path}: cannot be written ({error})", hint="is the disk full, or the folder gone?"
            ) from error


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return weights by name. Raises ModelError if the file is missing or damaged."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path}: cannot be read as weights ({error})",
            hint="was it copied whole? restore it or train again",
        ) from error


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean of the weights in several files, summed in float64 (section 6.1 averages the last 5).

    Raises ModelError if their names or shapes differ.
    """
    first = read_weights(paths[0])
    total = {name: weight.double() for name, weight in first.items()}
    for path in paths[1:]:
        weights = read_weights(path)
        _check_fit(weights, first, path)
        for name, weight in weights.items():
            total[name] += weight
    return {name: (weight / len(paths)).to(first[name].dtype) for name, weight in total.items()}


def _check_fit(weights: Mapping[str, Tensor], own: Mapping[str, Tensor], where: Path | str) -> None:
    """Raise ModelError unless `weights` have the names and shapes of `own`."""
    hint = "these weights belong to a model of another shape"
    if own.keys() != weights.keys():
        missing, extra = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
        raise ModelError(
            f"{where}: weights do not fit: missing {missing[:3]}, unknown {extra[:3]}", hint=hint
        )
    for name, weight in own.items():
        shape, needed = tuple(weights[name].shape), tuple(weight.shape)
        if shape != needed:
            raise ModelError(f"{where}: {name} has shape {shape}, the model needs {needed}", hint=hint)
