"""Marian's binary files, `.bin`: float32, or 8 bit as browsermt's Marian writes it for intgemm (`intgemm8`).

    uint64   version, 1
    uint64   number of items
    uint64   for each item: length of its name, type, number of dimensions, bytes of its content
             the names, each with a final NUL; then the dimensions of all items, int32
    uint64   bytes up to the next multiple of 256; after them the contents, each padded to 256 bytes

An 8-bit matrix is stored output by output, unless its name has `Wemb`; its shape stays [inputs, outputs].
Its float32 multiplier q follows: the weight is the number / q. Read in marian-dev: src/common/binary.cpp,
src/common/types.h and src/tensors/cpu/expression_graph_packable.h, commit 2781d735 of browsermt.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base.errors import ModelError
from dragoman.base.files import read_of_model, write_whole

_VERSION = 1
_INTGEMM8 = 0x4101
_TYPES: dict[int, np.dtype[Any]] = {
    0x0101: np.dtype("i1"), 0x0104: np.dtype("<i4"), 0x0404: np.dtype("<f4"), _INTGEMM8: np.dtype("i1")
}  # fmt: skip
_NAMES = {0x4102: "intgemm16", 0x0402: "float16", 0x0802: "packed16"} | {
    kind: f"packed8{name}" for kind, name in ((0x1801, "avx2"), (0x2801, "avx512"))
}
_ALIGNED = 256
_MOST = 100_000  # items, and numbers of a dimension list: a model has hundreds
_WHOLE = "was it copied whole? download it again"


@dataclass(frozen=True)
class Matrix:
    """An 8-bit matrix [rows, columns], not in the order of the file. The weight is numbers / multiplier."""

    numbers: np.ndarray
    multiplier: np.float32

    @property
    def weight(self) -> np.ndarray:
        """The weights in float32, as Marian computes them: times the reciprocal."""
        return self.numbers.astype(np.float32) * (np.float32(1) / self.multiplier)


Item = np.ndarray | Matrix


def read_binary(path: Path) -> dict[str, Item]:
    """Return the items of a file by name. Raises ModelError that says what is wrong with it."""
    data = read_of_model(path, missing=_WHOLE, damaged=_WHOLE)
    try:
        return _items(memoryview(data))
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: not a binary model of Marian's ({error})", hint=_WHOLE) from error


def has_int8(path: Path) -> bool | None:
    """Whether a file has 8-bit matrices; None if it is not a binary model. Reads only its beginning."""
    try:
        with path.open("rb") as file:
            version, count = struct.unpack("<2Q", file.read(16))
            if version != _VERSION or not 0 < count <= _MOST:
                return None
            headers = file.read(32 * count)
            return any(struct.unpack_from("<4Q", headers, 32 * i)[1] == _INTGEMM8 for i in range(count))
    except (OSError, struct.error):
        return None


def write_binary(path: Path, items: Mapping[str, Item]) -> None:
    """Write items in the order given, whole or not at all."""
    names, shapes, contents = [], [], []
    headers = bytearray()
    for name, item in items.items():
        packed = isinstance(item, Matrix)
        array = item.numbers if isinstance(item, Matrix) else item
        stored = array.T if packed and "Wemb" not in name else array
        content = np.ascontiguousarray(stored).tobytes()
        if isinstance(item, Matrix):
            content += np.float32(item.multiplier).tobytes()
        content += bytes(-len(content) % _ALIGNED)
        kind = _INTGEMM8 if packed else {"i1": 0x0101, "f4": 0x0404}[array.dtype.str[1:]]
        encoded = name.encode() + b"\0"
        headers += struct.pack("<4Q", len(encoded), kind, array.ndim, len(content))
        names.append(encoded)
        shapes.append(struct.pack(f"<{array.ndim}i", *array.shape))
        contents.append(content)
    head = struct.pack("<2Q", _VERSION, len(names)) + headers + b"".join(names) + b"".join(shapes)
    padding = _ALIGNED - (len(head) + 8) % _ALIGNED  # a whole block where none is needed, as Marian writes it
    write_whole(path, head + struct.pack("<Q", padding) + bytes(padding) + b"".join(contents))


def _items(data: memoryview) -> dict[str, Item]:
    version, count = struct.unpack_from("<2Q", data)
    if version != _VERSION:
        raise ValueError(f"version {version}, not {_VERSION}")
    if not 0 < count <= _MOST:
        raise ValueError(f"{count:,} items")
    headers = [struct.unpack_from("<4Q", data, 16 + 32 * i) for i in range(count)]
    place = 16 + 32 * count
    if sum(length + 4 * dimensions for length, _, dimensions, _ in headers) > len(data) - place:
        raise ValueError("it ends in the names of its items")
    names, shapes = [], []
    for length, *_ in headers:
        names.append(bytes(data[place : place + length]).removesuffix(b"\0").decode())
        place += length
    for _, _, dimensions, _ in headers:
        shapes.append(struct.unpack_from(f"<{dimensions}i", data, place))
        place += 4 * dimensions
    place += 8 + struct.unpack_from("<Q", data, place)[0]
    found: dict[str, Item] = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        if place + size > len(data):
            raise ValueError(f"it ends before the content of {name}")
        if name in found:
            raise ValueError(f"{name} twice")
        found[name] = _item(name, shape, kind, data[place : place + size])
        place += size
    return found


def _item(name: str, shape: tuple[int, ...], kind: int, content: memoryview) -> Item:
    if kind not in _TYPES:
        raise ValueError(f"{name} is of the type {_NAMES.get(kind, hex(kind))}, which is not supported")
    numbers = prod(shape)
    if not shape or min(shape) < 1 or numbers * _TYPES[kind].itemsize > len(content):
        raise ValueError(f"{name} has the shape {shape} and {len(content):,} bytes")
    array = np.frombuffer(content, _TYPES[kind], numbers)
    if kind != _INTGEMM8:
        return array.reshape(shape)
    if len(shape) != 2 or len(content) < numbers + 4:
        raise ValueError(
            f"{name} has the shape {shape} and {len(content):,} bytes, for 8-bit numbers and a multiplier"
        )
    multiplier = np.frombuffer(content, "<f4", 1, numbers)[0]
    if not (np.isfinite(multiplier) and multiplier > 0):
        raise ValueError(f"{name} has the multiplier {multiplier}")
    rows, columns = shape
    return Matrix(array.reshape(shape) if "Wemb" in name else array.reshape(columns, rows).T, multiplier)
