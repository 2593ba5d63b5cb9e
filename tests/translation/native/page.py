"""The functions of the engine's library that a page calls. Only tests call them from Python."""

from __future__ import annotations

import ctypes
import json
import math
import weakref
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_float, c_int32, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine

STACKS = ("encoder", "decoder", "cross")
INTERVENTIONS = (
    "without", "shift", "no_positions", "base", "unscaled", "no_residual", "no_mask", "embedding", "weights",
)  # fmt: skip

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Change:
    """An intervention; layers, heads and places count from 0, and -1 is all of them."""

    what: str
    stack: str = "encoder"
    layer: int = -1
    head: int = -1
    place: int = -1
    number: float = 0.0
    values: Sequence[float] = ()


class _Change(ctypes.Structure):
    """`Change` in cpp/trace.h."""

    _fields_ = [
        *((name, c_int32) for name in ("what", "stack", "layer", "head", "place", "first", "count")),
        ("number", c_float),
    ]


_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "tokenizer_open": (
        c_void_p,
        [c_char_p, c_char_p, c_int32, c_char_p, c_int32, POINTER(c_int32), c_char_p, c_int32],
    ),
    "tokenizer_close": (None, [c_void_p]),
    "tokenizer_size": (c_int32, [c_void_p]),
    "tokenizer_piece": (c_void_p, [c_void_p, c_int32, POINTER(c_int32)]),
    "tokenizer_encode": (
        c_int32,
        [c_void_p, c_char_p, c_int32, POINTER(c_int32), POINTER(c_int32), c_int32],
    ),
    "tokenizer_decode": (c_int32, [c_void_p, POINTER(c_int32), c_int32, c_char_p, c_int32]),
    "trace": (
        c_void_p,
        [
            c_void_p,
            POINTER(c_int32),
            c_int32,
            POINTER(c_int32),
            c_int32,
            POINTER(_Change),
            c_int32,
            POINTER(c_float),
            c_int32,
            c_char_p,
            c_int32,
        ],
    ),
    "trace_directory": (c_char_p, [c_void_p]),
    "trace_numbers": (POINTER(c_float), [c_void_p]),
    "trace_free": (None, [c_void_p]),
}


def function(name: str) -> Any:
    found = getattr(build.library(), f"dragoman_{name}")
    found.restype, found.argtypes = _SIGNATURES[name]
    return found


class Tokenizer:
    """The vocabulary of one side. Raises ValueError with the library's message."""

    def __init__(
        self, kind: str, model: bytes, pieces: bytes = b"", specials: Sequence[int] = (0, 1, 2, 3)
    ) -> None:
        message = ctypes.create_string_buffer(200)
        self._handle = function("tokenizer_open")(
            kind.encode(), model, len(model), pieces, len(pieces), (c_int32 * 4)(*specials), message, 200
        )
        if self._handle is None:
            raise ValueError(message.value.decode(errors="replace"))
        self._encode, self._decode = function("tokenizer_encode"), function("tokenizer_decode")
        weakref.finalize(self, function("tokenizer_close"), self._handle)

    def __len__(self) -> int:
        return int(function("tokenizer_size")(self._handle))

    def tokens(self, line: bytes) -> tuple[list[int], list[int]]:
        """The ids of a line, and the end of each in bytes."""
        room = len(line) + 1  # often too little, so that both calls are tested
        while True:
            ids, ends = (c_int32 * room)(), (c_int32 * room)()
            count = self._encode(self._handle, line, len(line), ids, ends, room)
            if count <= room:
                return list(ids[:count]), list(ends[:count])
            room = count

    def encode(self, line: str) -> list[int]:
        return self.tokens(line.encode())[0]

    def decode(self, ids: Sequence[int]) -> str:
        """Raises IndexError for an id that is not in the vocabulary."""
        return self.decoded(ids).decode()

    def decoded(self, ids: Sequence[int]) -> bytes:
        """The text as bytes. A damaged model may have others than UTF-8."""
        numbers = (c_int32 * len(ids))(*ids)
        size = self._decode(self._handle, numbers, len(ids), None, 0)
        if size < 0:
            raise IndexError(size)
        text = ctypes.create_string_buffer(size + 1)
        assert self._decode(self._handle, numbers, len(ids), text, size) == size
        return text.raw[:size]

    def piece(self, number: int) -> str:
        size = c_int32()
        place = function("tokenizer_piece")(self._handle, number, ctypes.byref(size))
        if place is None:
            raise IndexError(number)
        return ctypes.string_at(place, size.value).decode()


def trace(
    engine: NativeEngine, source: Sequence[int], target: Sequence[int], changes: Sequence[Change] = ()
) -> dict[str, Array]:
    """The arrays of a trace by name. Raises ValueError with the library's message."""
    table, values = (_Change * len(changes))(), [value for one in changes for value in one.values]
    first = 0
    for row, one in zip(table, changes, strict=True):
        row.what, row.stack = INTERVENTIONS.index(one.what), STACKS.index(one.stack)
        row.layer, row.head, row.place, row.number = one.layer, one.head, one.place, one.number
        row.first, row.count = first, len(one.values)
        first += len(one.values)
    message = ctypes.create_string_buffer(200)
    handle = function("trace")(
        engine._handle(), (c_int32 * len(source))(*source), len(source), (c_int32 * len(target))(*target),
        len(target), table, len(table), (c_float * len(values))(*values), len(values), message, 200,
    )  # fmt: skip
    if handle is None:
        raise ValueError(message.value.decode())
    directory = json.loads(function("trace_directory")(handle))
    numbers = function("trace_numbers")(handle)
    last = directory[-1]
    whole = np.ctypeslib.as_array(numbers, (last["first"] + math.prod(last["shape"]),)).copy()
    function("trace_free")(handle)
    return {
        one["name"]: whole[one["first"] : one["first"] + math.prod(one["shape"])].reshape(one["shape"])
        for one in directory
    }
