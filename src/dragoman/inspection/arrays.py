"""Arrays in JSON: little-endian numbers, compressed with deflate, in base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.base.errors import DataError

Array = NDArray[np.float32]

_LARGEST = 32767


def encode(array: Array, *, compact: bool) -> dict[str, Any]:
    """Return the array for JSON. `compact` rounds to multiples of its maximum / 32,767; 0 stays 0."""
    table: dict[str, Any] = {"shape": list(array.shape)}
    if compact:
        scale = float(np.abs(array).max(initial=0.0)) / _LARGEST or 1.0
        data = np.rint(array / scale).astype("<i2")
        table |= {"type": "int16", "scale": scale}
    else:
        data = array.astype("<f4")
        table |= {"type": "float32"}
    table["data"] = base64.b64encode(zlib.compress(data.tobytes(), 9)).decode()
    return table


def decode(table: dict[str, Any]) -> Array:
    """Return the array that `encode` wrote. Raise DataError if the table is not one."""
    try:
        if table["type"] not in ("int16", "float32"):
            raise ValueError(f"type {table['type']!r}")
        shape = [int(n) for n in table["shape"]]
        size = int(np.prod(shape)) * (2 if table["type"] == "int16" else 4)
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(table["data"], validate=True), size + 1)
        raw = np.frombuffer(data, "<i2" if table["type"] == "int16" else "<f4").reshape(shape)
        scale = float(table["scale"]) if table["type"] == "int16" else 1.0
        return (raw * np.float64(scale)).astype(np.float32)
    except (KeyError, TypeError, ValueError, OverflowError, zlib.error) as error:
        raise DataError(f"not an array of a trace ({error})", hint="inspect the sentence again") from error
