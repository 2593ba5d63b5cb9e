"""Tables of weight names: one a format, read in both directions; and the models that such weights make.

A table is a list of rows. A row says which of their tensors make one of ours:

    Row("encoder.0.attention.project.weight", ("q.weight", "k.weight", "v.weight"))

Several of theirs are blocks of ours, one above the other. `layout` says how each of theirs is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.models.folder.weights import put_weights, weights_of
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import SSRUConfig, TransformerConfig

Layout = Literal["same", "transposed", "row"]  # a "row" is a vector of n numbers stored as a 1 x n matrix
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One of our tensors, and their tensors with the same numbers, in order."""

    ours: str
    theirs: tuple[str, ...]
    layout: Layout = "same"


@dataclass(frozen=True, kw_only=True)
class NameTable:
    """All tensors of a format for one model.

    `zeros` are tensors that we do not have and that their format needs: written as zeros, never read.
    `ignored` says which further names of theirs have no meaning for us.
    """

    rows: Sequence[Row]
    zeros: Mapping[str, Shape] = field(default_factory=dict)
    ignored: Callable[[str], bool] = lambda name: False

    def to_ours(
        self, theirs: Mapping[str, Tensor], shapes: Mapping[str, Shape], where: str
    ) -> dict[str, Tensor]:
        """Return our tensors in float32, by our names.

        `shapes` has the shapes that our model needs. Raises ModelError that lists every missing and
        unknown name of theirs, and every tensor of another shape or type.
        """
        needed = {name: shape for row in self.rows for name, shape in _their_shapes(row, shapes[row.ours])}
        faults = [
            f"missing: {name} {_spelled(shape)}" for name, shape in needed.items() if name not in theirs
        ]
        faults += [
            f"unknown: {name} {_spelled(tensor.shape)}"
            for name, tensor in theirs.items()
            if name not in needed and not self.ignored(name)
        ]
        for name in needed.keys() & theirs.keys():
            faults += _unfit(name, theirs[name], needed[name])
        if faults:
            raise ModelError(
                f"{where}: {len(faults)} weights do not fit the configuration:\n  "
                + "\n  ".join(sorted(faults)),
                hint="was the file copied whole, and does it belong to this configuration?",
            )
        return {
            row.ours: torch.cat([_read(theirs[name], row.layout) for name in row.theirs]) for row in self.rows
        }

    def to_theirs(self, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return their tensors by their names, in float32, each with memory of its own."""
        tensors = {name: torch.zeros(shape) for name, shape in self.zeros.items()}
        for row in self.rows:
            blocks = ours[row.ours].detach().float().cpu().chunk(len(row.theirs))
            tensors |= {
                name: _write(block, row.layout) for name, block in zip(row.theirs, blocks, strict=True)
            }
        return tensors


def shapes_of(config: TransformerConfig | SSRUConfig, count: int, where: str) -> dict[str, Shape]:
    """Return the shapes of the weights of such a model, which is built without memory.

    `count` is the number of their tensors. Raises ModelError for sizes that do not fit that number.
    """
    if (layers := config.encoder_layers + config.decoder_layers) > count:
        raise ModelError(
            f"{where}: {layers} layers, but the weights are {count} tensors",
            hint="does this configuration belong to these weights?",
        )
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            return {name: tuple(weight.shape) for name, weight in weights_of(build_model(config)).items()}
    except (RuntimeError, OverflowError, TypeError) as error:  # sizes that no tensor can have
        raise ModelError(f"{where}: a model of impossible size", hint="was the file damaged?") from error


def model_of(
    config: TransformerConfig | SSRUConfig, weights: Mapping[str, Tensor], where: Path
) -> AnySeq2Seq:
    """Return the model with these weights, in evaluation mode. Raises ModelError if they do not fit."""
    with torch.random.fork_rng(devices=[]):  # building draws weights; keep the caller's generator as it is
        model = build_model(config)
    put_weights(model, weights, where)
    return model.eval()


def linear(ours: str, theirs: str | Iterable[str], *, bias: bool = True) -> list[Row]:
    """The rows of a PyTorch linear layer, or of several that are blocks of ours: weight, then bias."""
    names = (theirs,) if isinstance(theirs, str) else tuple(theirs)
    kinds = ("weight", "bias") if bias else ("weight",)
    return [Row(f"{ours}.{kind}", tuple(f"{name}.{kind}" for name in names)) for kind in kinds]


def _their_shapes(row: Row, shape: Shape) -> list[tuple[str, Shape]]:
    block = (shape[0] // len(row.theirs), *shape[1:])
    block = block[::-1] if row.layout == "transposed" else (1, *block) if row.layout == "row" else block
    return [(name, block) for name in row.theirs]


def _unfit(name: str, tensor: Tensor, shape: Shape) -> list[str]:
    if tuple(tensor.shape) != shape:
        return [f"{name} has shape {_spelled(tensor.shape)}, the configuration needs {_spelled(shape)}"]
    if not tensor.is_floating_point():
        return [f"{name} holds {str(tensor.dtype).removeprefix('torch.')}, not floating-point numbers"]
    if not bool(tensor.isfinite().all()):
        return [f"{name} has numbers that are NaN or infinite"]
    return []


def _read(tensor: Tensor, layout: Layout) -> Tensor:
    return (tensor.T if layout == "transposed" else tensor[0] if layout == "row" else tensor).float()


def _write(block: Tensor, layout: Layout) -> Tensor:
    block = block.T if layout == "transposed" else block[None] if layout == "row" else block
    return block.clone(memory_format=torch.contiguous_format)


def _spelled(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape)) or "(a single number)"
