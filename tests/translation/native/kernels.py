"""The loops of the native engine, called on numpy arrays."""

from __future__ import annotations

import ctypes
import math
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

LEVELS = ("portable", "avx2", "avx-vnni", "avx512", "avx512-bf16", "amx")
TYPES = ("float32", "bfloat16", "int8")
STORED = ("float32", "float64", "float16", "bfloat16", "int8")
ACTIVATIONS = ("relu", "gelu", "quick_gelu", "swish", "swiglu")
PANEL = 16

Array = np.ndarray[Any, np.dtype[Any]]

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "find": (c_void_p, [c_char_p, POINTER(c_char_p)]),
    "chosen": (c_char_p, [POINTER(c_char_p)]),
    "pack": (c_void_p, [c_int, c_int, c_void_p, c_void_p, c_int64, c_int64, c_void_p]),
    "free": (None, [c_void_p]),
    "read_rounded": (None, [c_int, c_int, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p]),
    "product": (
        c_int64,
        [c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_int64, c_void_p, c_int64],
    ),
    "normalise": (
        None,
        [c_void_p, c_void_p, c_void_p, c_void_p, c_float, c_int64, c_int64, c_int64, c_void_p],
    ),
    "add": (None, [c_void_p, c_void_p, c_void_p, c_int64]),
    "activate": (None, [c_void_p, c_int, c_void_p, c_int64, c_int64, c_int64]),
    "attend": (
        None,
        [*[c_void_p] * 5, c_float, c_int64, c_int64, c_int64, c_int64, c_void_p, c_void_p],
    ),
    "attend_bfloat16": (
        None,
        [*[c_void_p] * 5, c_float, c_int64, c_int64, c_int64, c_int64, c_void_p, c_void_p],
    ),
    "narrow": (None, [c_void_p, c_void_p, c_int64, c_void_p]),
    "sum_exponentials": (None, [c_void_p, c_void_p, c_int64, POINTER(c_float), POINTER(c_float)]),
    "find_best": (None, [c_void_p, c_void_p, c_int64, c_int32, c_int64, c_void_p, c_void_p]),
    "recur": (None, [*[c_void_p] * 5, c_int64]),
}


def address(array: Array | None) -> int | None:
    return None if array is None else array.ctypes.data


class Loops:
    """The functions of a library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, f"dragoman_kernels_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers
        raise AttributeError(name)

    def level(self, name: str | None) -> Level | str:
        """The loops of an instruction set, the best of the processor if None; a message if it has none."""
        message = c_char_p()
        table = self.find(None if name is None else name.encode(), ctypes.byref(message))
        return Level(self, table) if table else str(message.value, "utf-8")

    def rounded(self, kind: str, weights: Stored, row: int) -> Array:
        """A row of an embedding as a product sees it."""
        rows, columns = weights.data.shape
        out = np.empty(columns, np.float32)
        self.read_rounded(
            TYPES.index(kind), STORED.index(weights.stored), address(weights.data), address(weights.scale),
            rows, columns, row, address(out),
        )  # fmt: skip
        return out


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A matrix as a file holds it. bfloat16: the upper halves of float32 as uint16."""

    stored: str
    data: Array
    scale: Array | None = None


class Linear:
    """Packed weights."""

    def __init__(self, loops: Loops, kind: str, weights: Stored | Array, bias: Array | None = None) -> None:
        if not isinstance(weights, Stored):
            weights = Stored(stored="float32", data=np.ascontiguousarray(weights, np.float32))
        self.loops, self.outputs, self.inputs = loops, *weights.data.shape
        self.padded = math.ceil(self.outputs / PANEL) * PANEL
        self.packed = loops.pack(
            TYPES.index(kind), STORED.index(weights.stored), address(weights.data), address(weights.scale),
            self.outputs, self.inputs, address(bias),
        )  # fmt: skip

    def __del__(self) -> None:
        self.loops.free(self.packed)


class Level:
    """The loops of one instruction set."""

    def __init__(self, loops: Loops, table: int) -> None:
        self.loops, self.table = loops, table

    def product(
        self, linear: Linear, x: Array, *, panels: tuple[int, int] | None = None, gap: int = 0
    ) -> Array:
        """x w^T + bias for the outputs of `panels`. `gap`: unused numbers after each row of the result."""
        first, last = panels or (0, linear.padded // PANEL)
        width = (last - first) * PANEL
        out = np.full((len(x), width + gap), 7.0, np.float32)
        self.loops.product(
            self.table, linear.packed, address(x), x.strides[0] // 4, len(x), first, last, address(out),
            width + gap,
        )  # fmt: skip
        assert (out[:, width:] == 7.0).all()
        return out[:, : min(width, linear.outputs - first * PANEL)]

    def normalise(self, x: Array, gain: Array, shift: Array | None, epsilon: float) -> Array:
        out = np.empty_like(x)
        rows, width = x.shape
        self.loops.normalise(
            self.table, address(x), address(gain), address(shift), epsilon, rows, width, width, address(out)
        )
        return out

    def add(self, x: Array, y: Array) -> Array:
        out = y.copy()
        self.loops.add(self.table, address(x), address(out), x.size)
        return out

    def activate(self, kind: str, x: Array) -> Array:
        rows, width = x.shape
        width = width // 2 if kind == "swiglu" else width
        out = x.copy()
        self.loops.activate(self.table, ACTIVATIONS.index(kind), address(out), rows, width, x.shape[1])
        return out[:, :width]

    def attend(
        self, q_HD: Array, k_THD: Array, v_THD: Array, bias_HT: Array | None, scale: float
    ) -> tuple[Array, Array]:
        """Keys and values are float32, or bfloat16 as uint16. They may have fewer heads than the query."""
        count, (heads, width) = len(k_THD), q_HD.shape
        weights, out = np.full((heads, count), 7.0, np.float32), np.full((heads, width), 7.0, np.float32)
        # Positions in reversed order, so that only the pointers know where they are.
        keys, values = np.ascontiguousarray(k_THD[::-1]), np.ascontiguousarray(v_THD[::-1])
        pointers = [
            (c_void_p * count)(*(address(a[i]) for i in reversed(range(count)))) for a in (keys, values)
        ]
        attend = self.loops.attend if keys.dtype == np.float32 else self.loops.attend_bfloat16
        attend(
            self.table, address(q_HD), *pointers, address(bias_HT), scale, count, heads,
            heads // k_THD.shape[1], width, address(weights), address(out),
        )  # fmt: skip
        return weights, out

    def narrow(self, x: Array) -> Array:
        """The bits of the nearest bfloat16 numbers."""
        out = np.empty(x.shape, np.uint16)
        self.loops.narrow(self.table, address(x), x.size, address(out))
        return out

    def sum_exponentials(
        self, logits: Array, top: float = -math.inf, sum: float = 0.0
    ) -> tuple[float, float]:
        a, b = c_float(top), c_float(sum)
        self.loops.sum_exponentials(
            self.table, address(logits), logits.size, ctypes.byref(a), ctypes.byref(b)
        )
        return a.value, b.value

    def find_best(self, logits: Array, best: int, *, stripe: int) -> tuple[Array, Array]:
        values, ids = np.full(best, -np.inf, np.float32), np.full(best, -1, np.int32)
        for first in range(0, logits.size, stripe):
            part = np.ascontiguousarray(logits[first : first + stripe])
            self.loops.find_best(
                self.table, address(part), part.size, first, best, address(values), address(ids)
            )
        return values, ids

    def recur(self, candidate: Array, forget: Array, state: Array) -> tuple[Array, Array]:
        state, out = state.copy(), np.empty_like(state)
        self.loops.recur(
            self.table, address(candidate), address(forget), address(state), address(out), state.size
        )
        return state, out
