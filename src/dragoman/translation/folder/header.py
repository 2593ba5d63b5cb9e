"""The header of a safetensors file: names, shapes and types of its tensors. Imports no torch.

A file is 8 bytes with the length of the header, the header as JSON, and the numbers. The header is
untrusted input: everything in it is checked before use, and a long one is not read.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.base.errors import ModelError

# Safetensors' names of types -> PyTorch's, and bytes of one number.
_TYPES = {
    "F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "I64": ("int64", 8), "I32": ("int32", 4), "I16": ("int16", 2), "I8": ("int8", 1),
    "U64": ("uint64", 8), "U32": ("uint32", 4), "U16": ("uint16", 2), "U8": ("uint8", 1), "BOOL": ("bool", 1),
    "F8_E4M3": ("float8_e4m3fn", 1), "F8_E5M2": ("float8_e5m2", 1), "C64": ("complex64", 8),
}  # fmt: skip
_FLOATS = ("float64", "float32", "float16", "bfloat16")
_LONGEST = 4_000_000  # bytes of a header: some 30,000 tensors
_MOST_DIMENSIONS = 16  # the product of a million takes minutes
_DAMAGED = "was it copied whole? restore it, or repeat the command that trained it"


@dataclass(frozen=True, kw_only=True)
class Outline:
    """Shape and type of one tensor, without its numbers."""

    shape: tuple[int, ...]
    dtype: str  # as PyTorch calls it: float32
    place: int = field(default=0, compare=False)  # of its first byte in the file

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether it holds floating-point numbers, as weights do."""
        return self.dtype in _FLOATS


def read_header(path: Path) -> dict[str, Outline]:
    """Return shape and type of each tensor in a file, by name, in the order of the header.

    Raises ModelError if the file is missing, too short for its header or damaged.
    """
    try:
        with path.open("rb") as file:
            return parse_header(file)[0]
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path}: cannot be read as weights ({reason})", hint=_DAMAGED) from error


def parse_header(file: BinaryIO) -> tuple[dict[str, Outline], dict[str, Any]]:
    """Return shape and type of each tensor in an open file, and its metadata. Raises ValueError."""
    length = int.from_bytes(file.read(8), "little")
    size = os.fstat(file.fileno()).st_size - 8 - length
    if size < 0 or length > _LONGEST:
        raise ValueError(f"its header is {length:,} bytes long")
    table = json.loads(file.read(length), object_pairs_hook=_once)
    if not isinstance(table, dict):
        raise ValueError("its header is not a JSON object")
    about = table.pop("__metadata__", None)
    outlines = {name: _outline(name, row, size, 8 + length) for name, row in table.items()}
    return outlines, about if isinstance(about, dict) else {}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("its header has a name twice")
    return table


def _outline(name: str, row: Any, size: int, start: int) -> Outline:
    """Return shape and type in a row of the header. Raises ValueError if it does not fit `size` bytes."""
    try:
        shape, (begin, end) = tuple(row["shape"]), row["data_offsets"]
        dtype, width = _TYPES[row["dtype"]]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"its header has no shape, type and place of {name}") from None
    if b"\0" in name.encode():  # half a surrogate pair is a ValueError, too
        raise ValueError("its header has a name with a zero in it")
    numbers = (*shape, begin, end)
    if len(shape) > _MOST_DIMENSIONS or any(type(n) is not int or not 0 <= n < 2**63 for n in numbers):
        raise ValueError(f"its header has a shape or place of {name} that no tensor has")
    outline = Outline(shape=shape, dtype=dtype, place=start + begin)
    if end > size or end - begin != outline.count * width:
        raise ValueError(f"{name} does not fit into the file")
    return outline
