"""Which weights a quantised model folder stores as int8, and how: names, shapes and types. Imports no torch.

A matrix `NAME` of shape [rows, columns] is stored as int8 numbers from -127 to 127. Beside it is
`NAME.scale`, float32 [rows]: one scale for each output of a layer, or each entry of an embedding. The weight
is the number times the scale of its row (Wu et al. 2020, "Integer Quantization for Deep Learning
Inference", section 3). All other weights stay float32.

There may also be `NAME.input_multiplier`, float32 of as many numbers as the rows have equal blocks, mostly
one: by what the product of a block multiplies its inputs before it rounds them to nearest even and clips them
to -127 .. 127. Without it, each row of inputs has a scale of its own: its greatest absolute value / 127.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from dragoman.base.errors import ModelError
from dragoman.base.tables import listing
from dragoman.translation.folder.header import Outline

Quantised = Literal["int8"]
ARCHITECTURES = ("transformer", "ssru")  # known to translate well with int8 products
GREATEST = 127  # symmetric: -128 is never written
SCALE, INPUT_MULTIPLIER = _BESIDE = (".scale", ".input_multiplier")  # end the names of what a matrix has
# The layers and embeddings whose matrix is stored as int8. Tables of positions and norms are not.
_QUANTISED = {
    *("source_embedding", "target_embedding", "logits"),
    *("project", "output", "inner", "outer", "candidate", "forget"),
}


def is_quantised(name: str) -> bool:
    """Whether a quantised folder stores the weight of this name as int8."""
    *_, layer, kind = ("", *name.split("."))
    return kind == "weight" and layer in _QUANTISED


def holds_int8(header: Mapping[str, Outline]) -> bool:
    """Whether a file has int8 numbers, or scales or multipliers of such numbers."""
    return any(outline.dtype == "int8" or name.endswith(_BESIDE) for name, outline in header.items())


def bytes_in_memory(header: Mapping[str, Outline], dtype: str) -> int:
    """Return how much memory the weights of a model take if its matrices are of a type.

    Everything else is float32. `header` may belong to a quantised folder.
    """
    size = {"int8": 1, "bfloat16": 2}.get(dtype, 4)
    total = 0
    for name, outline in header.items():
        if is_quantised(name):
            total += size * outline.count + (4 * outline.shape[0] if size == 1 else 0)
        elif not name.endswith(_BESIDE):
            total += 4 * outline.count
    return total


def dequantised(header: Mapping[str, Outline], where: Path | str) -> dict[str, Outline]:
    """Return the weights in a file as a model has them: int8 matrices as float32, and nothing beside them.

    A file without int8 numbers is returned unchanged. Raises ModelError, with all faults, if matrices and
    scales do not belong together. `where` names the file.
    """
    if faults := scale_faults(header):
        raise ModelError(
            f"{where}: {listing(faults, separator='; ')}",
            hint="was it copied whole? restore it, or quantise the model again",
        )
    return {
        name: replace(outline, dtype="float32") if outline.dtype == "int8" else outline
        for name, outline in header.items()
        if not name.endswith(_BESIDE)
    }


def scale_faults(header: Mapping[str, Outline]) -> list[str]:
    """Return the faults of int8 matrices, their scales and multipliers, one text each."""
    faults = []
    for name, outline in header.items():
        matrix = header.get(name.removesuffix(SCALE).removesuffix(INPUT_MULTIPLIER))
        if name.endswith(_BESIDE) and (matrix is None or matrix.dtype != "int8"):
            what = "multiplier" if name.endswith(INPUT_MULTIPLIER) else "scale"
            faults.append(f"{name} is a {what} without an int8 matrix")
        elif name.endswith(INPUT_MULTIPLIER) and matrix is not None and len(matrix.shape) == 2:
            blocks, rows = outline.shape[0] if len(outline.shape) == 1 else 0, matrix.shape[0]
            if outline.dtype != "float32" or not blocks or rows % blocks:
                needed = f"float32 of a length that divides {rows}"
                faults.append(f"{name} is {outline.dtype} of shape {outline.shape}, not {needed}")
        elif outline.dtype == "int8":
            faults += _faults_of(name, outline, header.get(name + SCALE))
    return faults


def _faults_of(name: str, matrix: Outline, scale: Outline | None) -> list[str]:
    if len(matrix.shape) != 2:
        return [f"{name} is int8 of shape {matrix.shape}, not a matrix"]
    if scale is None:
        return [f"{name} is int8 without {name}{SCALE}"]
    if scale.shape != matrix.shape[:1] or scale.dtype != "float32":
        needed = f"float32 of shape {matrix.shape[:1]}"
        return [f"{name}{SCALE} is {scale.dtype} of shape {scale.shape}, not {needed}"]
    return []
