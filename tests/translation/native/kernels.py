"""The loops of the native engine, called on numpy arrays, in this process or an emulated one."""

from __future__ import annotations

import ctypes
import math
import shutil
from ctypes import c_char_p, c_float, c_int, c_int32, c_int64, c_void_p
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from benchmarks.engine.emulation import COMPILER, QEMU, Emulated, Pointers

LEVELS = (
    *("portable", "avx2", "avx-vnni", "avx512", "avx512-bf16", "amx"),
    *("neon", "neon-dotprod", "neon-i8mm", "neon-bf16"),
)
TYPES = ("float32", "bfloat16", "int8")
STORED = ("float32", "float64", "float16", "bfloat16", "int8")
ACTIVATIONS = ("relu", "gelu", "quick_gelu", "swish", "swiglu")
PANEL = 16

Array = np.ndarray[Any, np.dtype[Any]]

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "find": (c_void_p, [c_char_p, c_void_p]),
    "pack": (c_void_p, [c_int, c_int, c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_float]),
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
    "sum_exponentials": (None, [c_void_p, c_void_p, c_int64, c_void_p, c_void_p]),
    "find_best": (None, [c_void_p, c_void_p, c_int64, c_int32, c_int64, c_void_p, c_void_p]),
    "recur": (None, [*[c_void_p] * 5, c_int64]),
}


def needs_emulator() -> None:
    """Skip the test without a compiler for ARM and an emulator."""
    for program, package in ((COMPILER, "g++-aarch64-linux-gnu"), (QEMU[0], "qemu-user")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}: install Debian's {package}")


class Here:
    """A library in this process, with the interface of `Emulated`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, f"dragoman_kernels_{name}")
            function.restype, function.argtypes = result, arguments

    def call(self, name: str, *arguments: Any) -> int:
        return getattr(self._library, name)(*map(_address, arguments)) or 0

    def text(self, address: int) -> str:
        return ctypes.string_at(address).decode() if address else ""


def _address(argument: Any) -> Any:
    match argument:
        case Pointers(rows=rows):
            table = argument.table(rows.ctypes.data)
            return (c_void_p * len(table))(*table.tolist())
        case np.ndarray():
            return argument.ctypes.data
    return argument


class Loops:
    """The functions of a library."""

    def __init__(self, library: Here | Emulated) -> None:
        self.library = library

    def __getattr__(self, name: str) -> Any:
        return partial(self.library.call, f"dragoman_kernels_{name}")

    def level(self, name: str | None) -> Level | str:
        """The loops of an instruction set, the best of the processor if None; a message if it has none."""
        message = np.zeros(1, np.uint64)
        table = self.find(None if name is None else name.encode(), message)
        return Level(self, table) if table else self.library.text(int(message[0]))

    def rounded(self, kind: str, weights: Stored, row: int) -> Array:
        """A row of an embedding as a product sees it."""
        rows, columns = weights.data.shape
        out = np.empty(columns, np.float32)
        self.read_rounded(
            TYPES.index(kind),
            STORED.index(weights.stored),
            weights.data,
            weights.scale,
            rows,
            columns,
            row,
            out,
        )
        return out


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A matrix as a file holds it. bfloat16: the upper halves of float32 as uint16."""

    stored: str
    data: Array
    scale: Array | None = None


class Linear:
    """Packed weights, perhaps with a multiplier of their inputs."""

    def __init__(
        self,
        loops: Loops,
        kind: str,
        weights: Stored | Array,
        bias: Array | None = None,
        multiplier: float = 0.0,
    ) -> None:
        if not isinstance(weights, Stored):
            weights = Stored(stored="float32", data=np.ascontiguousarray(weights, np.float32))
        self.loops, self.outputs, self.inputs = loops, *weights.data.shape
        self.padded = math.ceil(self.outputs / PANEL) * PANEL
        self.packed = loops.pack(
            TYPES.index(kind), STORED.index(weights.stored), weights.data, weights.scale,
            self.outputs, self.inputs, bias, multiplier,
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
            self.table, linear.packed, x, x.strides[0] // 4, len(x), first, last, out,
            width + gap,
        )  # fmt: skip
        assert (out[:, width:] == 7.0).all()
        return out[:, : min(width, linear.outputs - first * PANEL)]

    def normalise(self, x: Array, gain: Array, shift: Array | None, epsilon: float) -> Array:
        out = np.empty_like(x)
        rows, width = x.shape
        self.loops.normalise(self.table, x, gain, shift, epsilon, rows, width, width, out)
        return out

    def add(self, x: Array, y: Array) -> Array:
        out = y.copy()
        self.loops.add(self.table, x, out, x.size)
        return out

    def activate(self, kind: str, x: Array) -> Array:
        rows, width = x.shape
        width = width // 2 if kind == "swiglu" else width
        out = x.copy()
        self.loops.activate(self.table, ACTIVATIONS.index(kind), out, rows, width, x.shape[1])
        return out[:, :width]

    def attend(
        self, q_HD: Array, k_THD: Array, v_THD: Array, bias_HT: Array | None, scale: float
    ) -> tuple[Array, Array]:
        """Keys and values are float32, or bfloat16 as uint16. They may have fewer heads than the query."""
        count, (heads, width) = len(k_THD), q_HD.shape
        weights, out = np.full((heads, count), 7.0, np.float32), np.full((heads, width), 7.0, np.float32)
        # Positions in reversed order, so that only the pointers know where they are.
        keys, values = np.ascontiguousarray(k_THD[::-1]), np.ascontiguousarray(v_THD[::-1])
        pointers = [Pointers(a, range(count)[::-1]) for a in (keys, values)]
        attend = self.loops.attend if keys.dtype == np.float32 else self.loops.attend_bfloat16
        attend(
            self.table, q_HD, *pointers, bias_HT, scale, count, heads,
            heads // k_THD.shape[1], width, weights, out,
        )  # fmt: skip
        return weights, out

    def narrow(self, x: Array) -> Array:
        """The bits of the nearest bfloat16 numbers."""
        out = np.empty(x.shape, np.uint16)
        self.loops.narrow(self.table, x, x.size, out)
        return out

    def sum_exponentials(
        self, logits: Array, top: float = -math.inf, sum: float = 0.0
    ) -> tuple[float, float]:
        a, b = np.array([top], np.float32), np.array([sum], np.float32)
        self.loops.sum_exponentials(self.table, logits, logits.size, a, b)
        return float(a[0]), float(b[0])

    def find_best(self, logits: Array, best: int, *, stripe: int) -> tuple[Array, Array]:
        values, ids = np.full(best, -np.inf, np.float32), np.full(best, -1, np.int32)
        for first in range(0, logits.size, stripe):
            part = np.ascontiguousarray(logits[first : first + stripe])
            self.loops.find_best(self.table, part, part.size, first, best, values, ids)
        return values, ids

    def recur(self, candidate: Array, forget: Array, state: Array) -> tuple[Array, Array]:
        state, out = state.copy(), np.empty_like(state)
        self.loops.recur(self.table, candidate, forget, state, out, state.size)
        return state, out
