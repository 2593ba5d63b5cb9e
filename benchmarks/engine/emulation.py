"""Translate with the native engine for ARM under qemu, and compare with the engine of this machine.

    python benchmarks/engine/emulation.py --model runs/multi30k --text test.en [--lines 1000] [--count]

Needs Debian's g++-aarch64-linux-gnu and qemu-user. Compiles the engine for aarch64. Prints for each number
type, search and instruction set, of this machine and of ARM, the lines whose translations differ from those
of the first row of the search, how many of these are ties (scores within 1e-4), and the largest difference of
the scores of equal tokens. --searches chooses among those of agreement.py. --count adds the instructions that
the emulated processor executes for a token, source and best target, without loading.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.base.compiler import Sources, compile_library, compiled
from dragoman.base.tables import aligned
from dragoman.translation.native import build, library, native, session
from dragoman.translation.search.engine import Hypothesis, Request

COMPILER = "aarch64-linux-gnu-g++"
QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
LEVELS = ("neon", "neon-dotprod", "neon-i8mm", "neon-bf16")
_HERE = Path(__file__).parent
_WHOLE, _FRACTIONS = 14, 2  # arguments of a call, as in emulated.cpp
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int8": 1}


class Pointers:
    """An array of pointers to rows of an array, in any order."""

    def __init__(self, rows: np.ndarray[Any, Any], order: Sequence[int]) -> None:
        self.rows, self.order = rows, order

    def table(self, address: int) -> np.ndarray[Any, Any]:
        return address + np.array(self.order, np.int64) * abs(self.rows.strides[0])


class Emulated:
    """A shared library in another process, perhaps of another processor. Its functions are called by name.

    Arguments are integers, floats (float32), bytes (a string), None, NumPy arrays and ctypes objects. Arrays
    and objects are copied there before the call and back after it.
    """

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment}
        )
        self._functions: dict[str, int] = {}

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function. Returns an integer or an address."""
        whole: list[int] = []
        fractions: list[bytes] = []
        copies: list[tuple[int, Any]] = []
        for argument in arguments:
            match argument:
                case None:
                    whole.append(0)
                case float() | np.floating():
                    fractions.append(struct.pack("<f4x", argument))
                case int() | np.integer():
                    whole.append(int(argument))
                case Pointers(rows=rows):
                    copies.append((self.place(*_bounds(rows)), rows))
                    table = argument.table(copies[-1][0])
                    copies.append((self.place(*_bounds(table)), table))
                    whole.append(copies[-1][0])
                case bytes():
                    copies.append((self.store(argument + b"\0"), None))
                    whole.append(copies[-1][0])
                case _:
                    copies.append((self.place(*_bounds(argument)), argument))
                    whole.append(copies[-1][0])
        result = self._call(self._function(name), whole, fractions)
        for address, original in copies:
            if original is not None:
                start, size = _bounds(original)
                ctypes.memmove(start, self.read(address, size), size)
            self._call(self._function("free"), [address], [])
        return result

    def place(self, start: int, size: int) -> int:
        """Copy memory of this process there. Returns its address, for `free`."""
        return self.store(ctypes.string_at(start, size))

    def store(self, data: bytes) -> int:
        address = self._call(self._function("malloc"), [len(data)], [])
        self._send(struct.pack("<qQq", ord("w"), address, len(data)) + data)
        return address

    def read(self, address: int, size: int) -> bytes:
        self._send(struct.pack("<qQq", ord("r"), address, size))
        return self._receive(size)

    def text(self, address: int) -> str:
        return self.read(address, self.call("strlen", address)).decode() if address else ""

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _function(self, name: str) -> int:
        if name not in self._functions:
            self._send(struct.pack("<qq", ord("f"), len(name)) + name.encode())
            self._functions[name] = self._number()
            assert self._functions[name], name
        return self._functions[name]

    def _call(self, function: int, whole: Sequence[int], fractions: Sequence[bytes]) -> int:
        numbers = [ord("c"), function, *whole, *[0] * (_WHOLE - len(whole))]
        padding = b"\0" * 8 * (_FRACTIONS - len(fractions))
        self._send(
            b"".join((n % 2**64).to_bytes(8, "little") for n in numbers) + b"".join(fractions) + padding
        )
        return self._number()

    def _send(self, data: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def _receive(self, size: int) -> bytes:
        assert self._process.stdout
        data = self._process.stdout.read(size)
        if len(data) < size:
            raise RuntimeError(f"{self._process.args}: ended with status {self._process.wait()}")
        return data

    def _number(self) -> int:
        return int.from_bytes(self._receive(8), "little", signed=True)


def _bounds(memory: Any) -> tuple[int, int]:
    """Address and size of an array, all of its rows with what lies between them, or of a ctypes object."""
    if isinstance(memory, np.ndarray):
        low, high = np.lib.array_utils.byte_bounds(memory)
        return low, high - low
    memory = getattr(memory, "_obj", memory)  # of byref()
    return ctypes.addressof(memory), ctypes.sizeof(memory)


class EmulatedEngine:
    """What `dragoman.translation.native.library.functions` returns, of the emulated library."""

    def __init__(self, emulated: Emulated) -> None:
        self.emulated = emulated

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.emulated.call(name, *arguments) or None

    def dragoman_instructions(self, *arguments: Any) -> bytes | None:
        return self.emulated.text(self.emulated.call("dragoman_instructions", *arguments)).encode() or None

    def dragoman_open(
        self, shape: Any, weights: Any, count: int, dtype: int, mapped: int, *arguments: Any
    ) -> int | None:
        table = b""
        for one in weights:
            data = self.emulated.place(one.data, one.rows * one.columns * _BYTES[library._STORED[one.stored]])
            scale = self.emulated.place(one.scale, 4 * one.rows) if one.scale else 0
            multipliers = self.emulated.place(one.multipliers, 4 * one.blocks) if one.multipliers else 0
            name = self.emulated.store(one.name + b"\0")
            size = one.rows, one.columns, one.stored, one.blocks
            table += struct.pack("<QQQQqqii", name, data, scale, multipliers, *size)
        place = self.emulated.store(table)
        # Not mapped: the pages must stay.
        return self.emulated.call("dragoman_open", shape, place, count, dtype, 0, *arguments) or None

    def dragoman_submit(self, handle: int, count: int, numbers: int, fractions: int) -> int:
        size, lists = 0, slice(15, 25)  # of `Head` in api.cpp
        for _ in range(count):
            head = (ctypes.c_int32 * lists.stop).from_address(numbers + 4 * size)
            size += lists.stop + sum(max(length, 0) for length in head[lists])
        places = [self.emulated.place(numbers, 4 * size), self.emulated.place(fractions, 24 * count)]
        return self.emulated.call("dragoman_submit", handle, count, *places)

    def dragoman_collect(self, *arguments: Any) -> Any:
        address = self.emulated.call("dragoman_collect", *arguments)
        collected = library.Collected.from_buffer_copy(
            self.emulated.read(address, ctypes.sizeof(library.Collected))
        )
        for name, kind in (
            ("numbers", ctypes.c_int32),
            ("fractions", ctypes.c_float),
            ("scores", ctypes.c_double),
        ):
            count = getattr(collected, f"count_{name}")
            there = ctypes.cast(getattr(collected, name), ctypes.c_void_p).value
            if count:
                data = self.emulated.read(there or 0, count * ctypes.sizeof(kind))
                setattr(collected, name, (kind * count).from_buffer_copy(data))
        self.emulated.call("dragoman_free", address)
        return ctypes.pointer(collected)

    def dragoman_free(self, collected: Any) -> None:
        pass

    def dragoman_close(self, handle: int) -> None:
        pass  # ends with the process


@contextmanager
def emulated_engine(emulated: Emulated) -> Iterator[None]:
    """Engines that are opened and used within are those of the other process."""
    modules, functions = (library, native, session), library.functions
    try:
        for module in modules:
            module.functions = lambda: EmulatedEngine(emulated)  # type: ignore[attr-defined, assignment]
        yield
    finally:
        for module in modules:
            module.functions = functions  # type: ignore[attr-defined]


def compile_engine(folder: Path, *, flags: Sequence[str] = ()) -> list[str]:
    """Compile the engine for aarch64, once. Returns the command for `Emulated`, without the emulator."""
    engine = compiled([COMPILER], build.program(flags))
    caller = folder / "emulated"
    command = [COMPILER, "-std=c++17", "-O1", *flags, str(_HERE / "emulated.cpp"), "-ldl", "-o", str(caller)]
    subprocess.run(command, check=True)
    return [str(caller), str(engine)]


def compile_counter(folder: Path) -> Path:
    """Compile the plugin of qemu that counts instructions."""
    counter = Sources(name="counter", sources=(_HERE / "counter.c",), flags=("-O1",))
    compile_library(["cc"], counter, folder / "counter.so")
    return folder / "counter.so"


Answers = list[Sequence[Hypothesis]]


def translate(model: Path, dtype: str, requests: Sequence[Request]) -> Answers:
    engine = native.NativeEngine.load(model, dtype=dtype, threads=1)
    answers = dict(engine.search(requests))
    return [answers[number] for number in range(len(requests))]


def compare(ours: Answers, theirs: Answers) -> list[str]:
    from agreement import Agreement

    agreement = Agreement()
    for mine, yours in zip(ours, theirs, strict=True):
        agreement.add(mine, yours)
    return [str(agreement.count), str(agreement.differ), str(agreement.ties), f"{agreement.apart:.1e}"]


def here() -> list[str]:
    """The instruction sets of this machine, the best first."""
    functions, names = library.functions(), []
    for name in ("portable", "avx2", "avx-vnni", "avx512", "avx512-bf16", "amx", *LEVELS):
        os.environ["DRAGOMAN_INSTRUCTIONS"] = name
        if functions.dragoman_instructions(ctypes.create_string_buffer(400), 400):
            names.insert(0, name)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--searches", nargs="+", default=["greedy"], metavar="NAME", help="or all")
    parser.add_argument("--types", default="float32,bfloat16,int8")
    parser.add_argument("--levels", default=",".join(LEVELS), help="of ARM")
    parser.add_argument("--cpu", default="max", help="of qemu")
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    from agreement import SEARCHES

    from dragoman.translation.translator import Translator

    searches = [*SEARCHES] if options.searches == ["all"] else options.searches
    lines = options.text.read_text(encoding="utf-8").splitlines()[: options.lines]
    sources = [source for source in Translator.load(options.model).tokenizer.encode_source(lines) if source]
    table = [["type", "search", "instructions", "lines", "differ", "of these ties", "scores apart"]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compile_engine(folder)
        counter = compile_counter(folder) if options.count else None
        for dtype, search in itertools.product(options.types.split(","), searches):
            how, rules = SEARCHES[search]
            requests = [Request(source=s, how=how, max_tokens=len(s) + 50, rules=rules) for s in sources]
            reference: Answers | None = None
            for level in here():
                os.environ["DRAGOMAN_INSTRUCTIONS"] = level
                answers = translate(options.model, dtype, requests)
                reference = reference or answers
                table.append([dtype, search, level, *compare(answers, reference)])
            assert reference is not None
            for level in options.levels.split(","):
                counts = []
                for asked in [requests[:0], requests] if counter else [requests]:
                    log = folder / "count"
                    plugin = ["-plugin", f"{counter},into={log}"] if counter else []
                    command = [*QEMU, "-cpu", options.cpu, *plugin, *program]
                    emulated = Emulated(command, DRAGOMAN_INSTRUCTIONS=level)
                    with emulated_engine(emulated):
                        answers = translate(options.model, dtype, asked)
                    emulated.close()
                    counts.append(int(log.read_text()) if counter else 0)
                table.append([dtype, search, level, *compare(answers, reference)])
                if counter:
                    pairs = zip(requests, answers, strict=True)
                    tokens = sum(len(r.source) + len(best[0].tokens) + 2 for r, best in pairs)
                    table[-1].append(f"{(counts[1] - counts[0]) / tokens:,.0f}")
    if options.count:
        table = [[*table[0], "instructions a token"], *(row + [""] * (8 - len(row)) for row in table[1:])]
    print("\n".join(aligned(table, right=range(3, len(table[0])))))


if __name__ == "__main__":
    main()
