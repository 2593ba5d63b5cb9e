"""Read, write and average weights as safetensors files, and copy them into a model.

Weights that a quantised folder stores as int8 are read as float32, so every program reads such folders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dragoman.base.errors import DragomanError, ModelError
from dragoman.base.files import replacing
from dragoman.base.tables import listing
from dragoman.translation.folder.fit import check_fit
from dragoman.translation.folder.header import Outline
from dragoman.translation.folder.quantised import GREATEST, SCALE, dequantised, holds_int8, is_quantised

_VERIFY = "dragoman model verify says which model has such weights"
_DIGEST = "digest"  # in the header of a file: of its numbers
_RESTORE = "was it copied whole? restore it, or repeat the command that trained it"


class HasWeights(Protocol):
    """A `torch.nn.Module`, or a `Seq2Seq`."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


def weights_of(model: HasWeights) -> dict[str, Tensor]:
    """Return the model's weights by name, tied ones once. They share the model's memory."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def put_weights(model: HasWeights, weights: Mapping[str, Tensor], where: Path | str) -> None:
    """Copy `weights` into the model, in its dtype.

    Raises ModelError, and changes nothing, if names or shapes differ or a weight is not floating-point.
    """
    own = weights_of(model)
    check_fit(outlines(weights), outlines(own), where)
    for name, weight in own.items():
        weight.copy_(weights[name])


def outlines(weights: Mapping[str, Tensor]) -> dict[str, Outline]:
    """Return shape and dtype of each weight."""
    return {
        name: Outline(shape=tuple(weight.shape), dtype=str(weight.dtype).removeprefix("torch."))
        for name, weight in weights.items()
    }


@contextmanager
def writing_weights(
    path: Path, weights: Mapping[str, Tensor], *, metadata: dict[str, str] | None = None
) -> Iterator[Path]:
    """Write weights to a temporary file and yield its path. At the end of the block it replaces `path`.

    `metadata` goes into the header of the file; by default, a digest of the numbers. An error in the block
    leaves `path` as it was. Raises DragomanError if the file cannot be written.
    """
    with replacing(path) as part:
        mode = part.stat().st_mode & 0o777
        try:
            own = {name: weight.detach().cpu().contiguous() for name, weight in weights.items()}
            save_file(own, part, {_DIGEST: digest_of_numbers(own)} if metadata is None else metadata)
            part.chmod(mode)  # safetensors replaces the file by one that only its owner may read
        except SafetensorError as error:  # also raised for a full disk
            raise DragomanError(
                f"{path}: cannot be written ({error})", hint="is the disk full, or the folder gone?"
            ) from error
        yield part


def write_weights(
    path: Path, weights: Mapping[str, Tensor], *, metadata: dict[str, str] | None = None
) -> None:
    """Write weights, whole or not at all. Raises DragomanError if that fails."""
    with writing_weights(path, weights, metadata=metadata):
        pass


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return weights by name, int8 matrices as float32.

    Raises ModelError if the file is missing or damaged.
    """
    try:
        with path.open("rb"):  # safetensors reports any file that it cannot open as missing
            weights = load_file(path)
        with safe_open(path, "pt") as file:
            digest = (file.metadata() or {}).get(_DIGEST)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path}: cannot be read as weights ({reason})", hint=_RESTORE) from error
    if digest is not None and digest != digest_of_numbers(weights):
        raise ModelError(f"{path}: damaged: its numbers have changed since they were written", hint=_RESTORE)
    if holds_int8(outlines(weights)):
        return dequantise(weights, path)
    return weights


def digest_of_numbers(weights: Mapping[str, Tensor]) -> str:
    """Return a digest of names, types, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        digest.update(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return f"sha256:{digest.hexdigest()}"


def quantise(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights as a quantised folder stores them (`translation/folder/quantised.py`).

    The scale of a row is its greatest absolute value / 127. Numbers are rounded to the nearest integer, half
    to even. A row of zeros has the scale 0.
    """
    stored: dict[str, Tensor] = {}
    for name, weight in weights.items():
        weight = weight.float()
        if not is_quantised(name):
            stored[name] = weight
            continue
        scale = weight.abs().amax(1) / GREATEST
        numbers = (weight / scale[:, None]).nan_to_num(0.0, 0.0, 0.0)  # 0 / 0 in a row of zeros
        stored[name] = numbers.round().clamp(-GREATEST, GREATEST).to(torch.int8)
        stored[name + SCALE] = scale
    return stored


def dequantise(stored: Mapping[str, Tensor], where: Path | str) -> dict[str, Tensor]:
    """Return weights as a model has them, in float32 if they were int8: each number times its row's scale.

    Raises ModelError if scales are missing, of another shape, NaN or infinite. `where` names the
    weights.
    """
    names = dequantised(outlines(stored), where)
    return {name: _dequantised(name, stored, where) for name in names}


def _dequantised(name: str, stored: Mapping[str, Tensor], where: Path | str) -> Tensor:
    weight = stored[name]
    if weight.dtype != torch.int8:
        return weight
    scale = stored[name + SCALE]
    if not bool(scale.isfinite().all()):
        raise ModelError(
            f"{where}: {name}{SCALE} is NaN or infinite in a row",
            hint="restore the file, or quantise the model again",
        )
    return weight * scale[:, None]


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean of the weights in several files, summed in float64 (section 6.1 averages the last 5).

    Holds the sum and one file at a time. Raises ModelError if names or shapes differ.
    """
    weights = read_weights(paths[0])
    needed, dtypes = outlines(weights), {name: weight.dtype for name, weight in weights.items()}
    check_fit(needed, needed, paths[0])
    total = {name: weight.double() for name, weight in weights.items()}
    for path in paths[1:]:
        del weights  # before the next file is opened
        weights = read_weights(path)
        check_fit(outlines(weights), needed, path)
        for name, weight in weights.items():
            total[name] += weight
    return {name: (total.pop(name) / len(paths)).to(dtype) for name, dtype in dtypes.items()}


def not_finite(weights: Mapping[str, Tensor]) -> list[str]:
    """Return the names of the weights in which a number is NaN or infinite."""
    return [name for name, weight in weights.items() if not bool(torch.isfinite(weight).all())]


def check_finite(weights: Mapping[str, Tensor], what: str, *, hint: str = _VERIFY, most: int = 20) -> None:
    """Raise ModelError if a number is NaN or infinite: `what`, and at most so many names of weights."""
    if names := not_finite(weights):
        raise ModelError(f"{what} NaN or infinite in {listing(names, most=most)}", hint=hint)
