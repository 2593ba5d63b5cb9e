"""Measure products of the native engine on one core: GFLOP/s and the share of the floor.

    python benchmarks/engine/kernels.py [--levels amx,avx512] [--types int8] [--rows 1,64] [--shapes 512x2048]

A product is `rows` rows of K inputs by a matrix of N outputs; preparing the inputs is included. There are two
floors: all operations at the rate of the best product of this type and instruction set in this run, and one
reading of the weights, as fast as a plain loop reads them (GB/s). The percentage is the larger floor over the
measured time; it may exceed 100, because a product may read faster than the loop. Processor time, not
wall-clock time, because others may use the machine; medians of interleaved repeats.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import statistics
import time
from ctypes import c_char_p, c_double, c_float, c_int, c_int64, c_void_p

import numpy as np

from dragoman.base.tables import aligned
from dragoman.translation.native import build

LEVELS = (
    *("portable", "avx2", "avx-vnni", "avx512", "avx512-bf16", "amx"),
    *("neon", "neon-dotprod", "neon-i8mm", "neon-bf16"),
)
TYPES = ("float32", "bfloat16", "int8")
# Levels that have no product of their own for a type use that of the level below.
OWN = {
    "avx512-bf16": ("bfloat16",), "amx": ("bfloat16", "int8"),
    "neon-dotprod": ("int8",), "neon-i8mm": ("int8",), "neon-bf16": ("bfloat16",),
}  # fmt: skip
SHAPES = (
    "128x384,128x256,256x128,256x768,256x1024,1024x256,512x1536,512x2048,2048x512,128x13000,256x8000,512x8000"
)
SECONDS = 0.003  # of one measurement


class Loops:
    """The timing functions of the engine's library."""

    def __init__(self) -> None:
        library = build.library()
        self.find = library.dragoman_kernels_find
        self.find.restype, self.find.argtypes = c_void_p, [c_char_p, c_void_p]
        self.pack = library.dragoman_kernels_pack
        self.pack.restype = c_void_p
        self.pack.argtypes = [c_int, c_int, c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_float]
        self.product = library.dragoman_kernels_time_product
        self.product.restype, self.product.argtypes = c_double, [c_void_p, c_void_p, c_int64, c_int64]
        self.reading = library.dragoman_kernels_time_reading
        self.reading.restype, self.reading.argtypes = c_double, [c_void_p, c_int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--rows", default="1,4,16,64,128")
    parser.add_argument("--shapes", default=SHAPES, help="K x N")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = [int(count) for count in options.rows.split(",")]
    shapes = [(int(k), int(n)) for k, n in (shape.split("x") for shape in options.shapes.split(","))]
    loops, message = Loops(), c_char_p()
    tables = {name: loops.find(name.encode(), ctypes.byref(message)) for name in options.levels.split(",")}
    matrices = {
        (kind, shape): pack(loops, kind, shape)
        for kind, shape in itertools.product(options.types.split(","), shapes)
    }
    cases = [
        (name, kind, shape, count)
        for name, (kind, shape), count in itertools.product(tables, matrices, rows)
        if tables[name] and kind in OWN.get(name, TYPES)
    ]
    times: dict[tuple[str, str, tuple[int, int], int], list[float]] = {case: [] for case in cases}
    readings: dict[tuple[str, tuple[int, int]], list[float]] = {matrix: [] for matrix in matrices}
    for _ in range(options.repeats):
        for matrix, packed in matrices.items():
            readings[matrix].append(measure(lambda n, p=packed: loops.reading(p, n)))
        for name, kind, shape, count in cases:
            table, packed = tables[name], matrices[kind, shape]
            seconds = measure(lambda n, t=table, p=packed, c=count: loops.product(t, p, c, n))
            times[name, kind, shape, count].append(seconds)
    report(rows, times, readings)


def pack(loops: Loops, kind: str, shape: tuple[int, int]) -> int:
    """The packed weights, which the process keeps."""
    w = np.random.default_rng(0).standard_normal(shape[::-1], dtype=np.float32)
    packed: int = loops.pack(TYPES.index(kind), 0, w.ctypes.data, None, *w.shape, None, 0.0)
    return packed


def measure(run) -> float:  # type: ignore[no-untyped-def]
    """Seconds of one call: `run(n)` returns the mean of n."""
    begin = time.perf_counter()
    run(1)
    once = time.perf_counter() - begin
    return run(max(1, min(10_000, int(SECONDS / max(once, 1e-7)))))


def report(rows, times, readings) -> None:  # type: ignore[no-untyped-def]
    medians = {case: statistics.median(values) for case, values in times.items()}
    rates = {case: 2 * case[3] * case[2][0] * case[2][1] / seconds / 1e9 for case, seconds in medians.items()}
    peaks: dict[tuple[str, str], float] = {}
    for (name, kind, _, _), rate in rates.items():
        peaks[name, kind] = max(rate, peaks.get((name, kind), 0))
    table = [["instructions", "type", "K x N", "GB/s", *(f"{count} rows" for count in rows)]]
    for name, kind, shape in dict.fromkeys(case[:3] for case in medians):
        size = {"float32": 4, "bfloat16": 2, "int8": 1}[kind] * shape[0] * shape[1]
        reading = statistics.median(readings[kind, shape])
        cells = []
        for count in rows:
            case = name, kind, shape, count
            floor = max(reading, medians[case] * rates[case] / peaks[name, kind])
            cells.append(f"{rates[case]:.0f} {floor / medians[case]:4.0%}")
        table.append([name, kind, "{} x {}".format(*shape), f"{size / reading / 1e9:.0f}", *cells])
    print("\n".join(aligned(table, right=range(3, len(table[0])))))


if __name__ == "__main__":
    main()
