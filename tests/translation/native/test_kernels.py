"""The loops of the native engine against float64, on every instruction set here, and of ARM under qemu."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.engine.emulation import QEMU, Emulated, compile_engine
from tests.translation.native.kernels import (
    ACTIVATIONS,
    LEVELS,
    TYPES,
    Array,
    Here,
    Level,
    Linear,
    Loops,
    Stored,
    needs_emulator,
)

from dragoman.translation.native import build

CODE = Path(build.__file__).parent / "cpp"
ROWS = (1, 2, 3, 5, 8, 12, 13, 15, 16, 17, 31, 33, 70)


@pytest.fixture(scope="session")
def here() -> Loops:
    if reason := build.unavailable():
        pytest.skip(reason)
    return Loops(Here(build.library()))


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loops]:
    needs_emulator()
    emulated = Emulated([*QEMU, "-cpu", "max", *compile_engine(tmp_path_factory.mktemp("arm"))])
    yield Loops(emulated)
    emulated.close()


@pytest.fixture(scope="session", params=["here", pytest.param("arm", marks=pytest.mark.slow)])
def loops(request: pytest.FixtureRequest) -> Loops:
    machine: Loops = request.getfixturevalue(request.param)
    return machine


@pytest.fixture(params=LEVELS)
def level(loops: Loops, request: pytest.FixtureRequest) -> Level:
    table = loops.level(request.param)
    if isinstance(table, str):
        pytest.skip(table)
    return table


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def to_bfloat16(x: Array) -> Array:
    """Round float32 to nearest even; the result is float32."""
    bits = x.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def to_int8(x: Array) -> tuple[Array, Array]:
    """Round each row to multiples of max |x| / 127. Returns integers as float64, and scales."""
    scale = np.abs(x).max(axis=-1, keepdims=True) / np.float32(127)
    return np.rint(x / np.where(scale > 0, scale, 1)).astype(np.float64), scale.astype(np.float64)


def expected(kind: str, x: Array, w: Array, bias: Array) -> tuple[Array, Array]:
    """x w^T + bias in float64 of the rounded operands, and the error that is allowed."""
    if kind == "int8":
        (x8, x_scale), (w8, w_scale) = to_int8(x), to_int8(w)
        wanted = x8 @ w8.T * x_scale * w_scale.T + bias
        # A number halfway between two integers may be rounded either way, because its scale was rounded.
        ties = np.abs(np.abs(x / np.where(x_scale > 0, x_scale, 1) % 1) - 0.5) < 1e-4
        return wanted, (ties @ np.abs(w8).T) * x_scale * w_scale.T + 1e-6 * (np.abs(wanted) + np.abs(bias))
    if kind == "bfloat16":
        x, w = to_bfloat16(x), to_bfloat16(w)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    # Each of K sums rounds: at most K eps / 2 of the absolute products (Higham 2002, section 3.1).
    allowed = (x.shape[-1] + 2) * np.finfo(np.float32).eps * (np.abs(x64) @ np.abs(w64).T + np.abs(bias))
    return x64 @ w64.T + bias, allowed


# ---- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (5, 17), (64, 16), (100, 150), (256, 96), (515, 49)])
def test_product(level: Level, kind: str, inputs: int, outputs: int) -> None:
    w, bias = normal(outputs, inputs, seed=1), normal(outputs, seed=2)
    linear, plain = Linear(level.loops, kind, w, bias), Linear(level.loops, kind, w)
    for rows in ROWS:
        x = normal(rows, inputs + 3, seed=rows)[:, :inputs]  # rows are not side by side
        for packed, added in ((linear, bias), (plain, np.zeros_like(bias))):
            wanted, allowed = expected(kind, x, w, added)
            error = np.abs(level.product(packed, x, gap=5) - wanted)
            assert (error <= allowed).all(), (rows, (error / allowed).max())


@pytest.mark.parametrize("kind", TYPES)
def test_product_of_some_panels(level: Level, kind: str) -> None:
    linear = Linear(level.loops, kind, normal(150, 70, seed=1), normal(150, seed=2))
    for rows in (1, 4, 20, 40):
        x = normal(rows, 70, seed=rows)
        whole = level.product(linear, x)
        for first, last in ((0, 1), (1, 2), (2, 9), (3, 10), (9, 10), (4, 4)):
            part = level.product(linear, x, panels=(first, last), gap=16)
            np.testing.assert_array_equal(part, whole[:, first * 16 : last * 16])


@pytest.mark.parametrize(("kind", "multiplier"), [*((kind, 0.0) for kind in TYPES), ("int8", 40.0)])
def test_a_row_never_depends_on_the_others(level: Level, kind: str, multiplier: float) -> None:
    """Bit for bit, for any number of rows and any place."""
    random = np.random.default_rng(3)
    linear = Linear(level.loops, kind, normal(200, 96, seed=1), normal(200, seed=2), multiplier)
    x = normal(130, 96, seed=4) * np.exp(normal(130, 1, seed=5))
    alone = np.concatenate([level.product(linear, row[None]) for row in x])
    for count in (*range(2, 40), 64, 100, 130):
        chosen = random.choice(len(x), count, replace=False)
        np.testing.assert_array_equal(level.product(linear, x[chosen]), alone[chosen])


@pytest.mark.parametrize("multiplier", [0.0, 40.0])
def test_int8_is_equal_on_all_instruction_sets(loops: Loops, multiplier: float) -> None:
    linear = Linear(loops, "int8", normal(90, 500, seed=1), normal(90, seed=2), multiplier)
    x = normal(37, 500, seed=3) * np.exp(3 * normal(37, 1, seed=4))
    x[5], x[6] = 0, 1e-40
    results = [table.product(linear, x) for name in LEVELS if not isinstance(table := loops.level(name), str)]
    for result in results:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("inputs", [1, 6, 60, 128, 510, 512, 516, 1100, 2048])
def test_int8_is_exact(level: Level, inputs: int) -> None:
    """The sums of int64, for any weights and inputs of 8 bits, on rows enough for every way to multiply."""
    random = np.random.default_rng(inputs)
    weights = random.integers(-128, 128, (50, inputs), dtype=np.int8)
    weights[0], weights[1], weights[2, ::2] = -128, 127, -128
    linear = Linear(level.loops, "int8", Stored(stored="int8", data=weights, scale=np.ones(50, np.float32)))
    x = random.integers(-127, 128, (71, inputs)).astype(np.float32)
    x[0], x[1], x[2, 1::2] = 127, -127, -127
    x[:, 0] = 127  # so the scale of each row is 1
    wanted = (x.astype(np.int64) @ weights.T.astype(np.int64)).astype(np.float32)
    for rows in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 64, 71):
        np.testing.assert_array_equal(level.product(linear, x[:rows]), wanted[:rows])


@pytest.mark.parametrize("multiplier", [16.0, 12.7, 1e-3, 1e30])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (5, 17), (64, 16), (100, 150), (515, 49)])
def test_product_with_a_multiplier(level: Level, inputs: int, outputs: int, multiplier: float) -> None:
    """To the last bit: round(x * multiplier), clipped, times the numbers of the file."""
    weights, _ = stored_as("int8", normal(outputs, inputs, seed=1))
    bias, factor = normal(outputs, seed=2), np.float32(multiplier)
    linear = Linear(level.loops, "int8", weights, bias, multiplier)
    random = np.random.default_rng(3)
    for rows in ROWS:
        integers = random.integers(-300, 300, (rows, inputs + 3)) / 2  # ties, and beyond 127
        x = (integers / factor).astype(np.float32)[:, :inputs]
        x[0, :1], x[-1, -1:] = 3e38, -3e38
        with np.errstate(over="ignore"):
            x8 = np.clip(np.rint(x * factor), -127, 127).astype(np.int64)
        assert weights.scale is not None
        sums = (x8 @ weights.data.T.astype(np.int64)).astype(np.float32)
        wanted = sums * (np.float32(1) / factor * weights.scale.T) + bias

        np.testing.assert_array_equal(level.product(linear, x, gap=5), wanted)


def test_only_int8_has_a_multiplier(level: Level) -> None:
    weights, _ = stored_as("int8", normal(40, 70, seed=1))
    x = normal(20, 70, seed=2)
    for kind in TYPES:
        fixed, free = (Linear(level.loops, kind, weights, None, multiplier) for multiplier in (3.0, 0.0))
        same = np.array_equal(level.product(fixed, x), level.product(free, x))
        assert same == (kind != "int8")


@pytest.mark.slow
def test_avx_vnni_with_the_instruction_emulated(tmp_path: Path) -> None:
    """The products of this instruction set on any processor with AVX2, the instruction computed in C++."""
    if isinstance(reason := Loops(Here(build.library())).level("avx2"), str):
        pytest.skip(reason)
    library = tmp_path / "emulated.so"
    sources = [*CODE.glob("kernels_*.cpp"), CODE / "matrix.cpp", CODE / "processor.cpp"]
    flags = [
        "-std=c++17", "-O1", "-ffp-contract=off", "-pthread", "-shared", "-fPIC",
        "-DDRAGOMAN_EMULATE_AVX_VNNI",
    ]  # fmt: skip
    subprocess.run([*build._compiler(), *flags, *map(str, sources), "-o", str(library)], check=True)
    emulated = Loops(Here(ctypes.CDLL(str(library)))).level("avx-vnni")
    assert isinstance(emulated, Level)

    test_int8_is_exact(emulated, 516)
    test_int8_is_exact(emulated, 2048)
    test_extreme_int8_weights(emulated)
    for multiplier in (0.0, 40.0):
        test_a_row_never_depends_on_the_others(emulated, "int8", multiplier)
        test_int8_is_equal_on_all_instruction_sets(emulated.loops, multiplier)
    for kind in TYPES:
        test_product(emulated, kind, 100, 150)
        test_product_of_bad_numbers(emulated, kind, 0.0, 0x7FC00000)
    test_product_of_bad_numbers(emulated, "int8", 40.0, 0x7FC00000)
    test_product_with_a_multiplier(emulated, 515, 49, 12.7)


@pytest.mark.thorough
def test_avx_vnni_has_no_instruction_of_avx512(tmp_path: Path) -> None:
    """Processors with AVX-VNNI alone know `vpdpbusd` in its VEX encoding only, and 16 registers."""
    compiler, objdump = build._compiler(), shutil.which("objdump")
    if objdump is None or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs x86-64 and objdump, of the package binutils")
    compiled = tmp_path / "kernels_avx_vnni.o"
    source = CODE / "kernels_avx_vnni.cpp"
    subprocess.run([*compiler, "-std=c++17", "-O2", "-c", str(source), "-o", str(compiled)], check=True)
    command = [objdump, "-d", "--no-show-raw-insn", str(compiled)]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    products = [line for line in code.splitlines() if "vpdpbusd" in line]
    if not products:
        pytest.skip("this compiler does not know AVX-VNNI")
    assert all("{vex}" in line and "%ymm" in line for line in products)
    assert not re.search(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])|%k[0-7]", code)


def test_float32_of_avx512_is_the_same_with_and_without_amx(here: Loops) -> None:
    amx, avx512 = here.level("amx"), here.level("avx512")
    if isinstance(amx, str) or isinstance(avx512, str):
        pytest.skip("no AMX here")
    linear, x = Linear(here, "float32", normal(90, 50, seed=1)), normal(37, 50, seed=3)
    np.testing.assert_array_equal(amx.product(linear, x), avx512.product(linear, x))


@pytest.mark.parametrize(("kind", "multiplier"), [*((kind, 0.0) for kind in TYPES), ("int8", 40.0)])
@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FFFFFFF, 0x7F800000, 0xFF800000])
def test_product_of_bad_numbers(level: Level, kind: str, multiplier: float, bits: int) -> None:
    """NaN and infinity spoil their row, or their output, and nothing else."""
    bad = np.array(bits, np.uint32).view(np.float32)
    w = normal(40, 70, seed=1)
    linear, x = Linear(level.loops, kind, w, None, multiplier), normal(20, 70, seed=2)
    wanted = level.product(linear, x)
    x[3, 69] = bad
    got = level.product(linear, x)
    assert not np.isfinite(got[3]).any()
    np.testing.assert_array_equal(np.delete(got, 3, 0), np.delete(wanted, 3, 0))
    x[3, 69], w[33, 2] = 0, bad
    got = level.product(Linear(level.loops, kind, w, None, multiplier), x)
    assert not np.isfinite(got[:, 33]).any()
    assert np.isfinite(np.delete(got, 33, 1)).all()


def test_extreme_int8_weights(level: Level) -> None:
    """A file may hold -128, too: sums of 16 bits would overflow."""
    w = np.full((16, 2048), -128, np.int8)
    w[8:] = 127
    stored = Stored(stored="int8", data=w, scale=np.full(16, 0.5, np.float32))
    x = np.concatenate([np.full((1, 2048), 1, np.float32), np.full((20, 2048), -1, np.float32)])
    got = level.product(Linear(level.loops, "int8", stored), x)
    np.testing.assert_allclose(got, x[:, :1] * 2048 * w[:, 0] * 0.5, rtol=1e-6)


# ---- weights of a file ---------------------------------------------------------------------------


def stored_as(kind: str, w: Array) -> tuple[Stored, Array]:
    """The matrix in a file's type, and what it means in float32."""
    if kind == "bfloat16":
        rounded = to_bfloat16(w)
        return Stored(stored=kind, data=(rounded.view(np.uint32) >> 16).astype(np.uint16)), rounded
    if kind == "int8":
        w8, scale = to_int8(w)
        scale = scale.astype(np.float32)
        data = Stored(stored=kind, data=w8.astype(np.int8), scale=scale)
        return data, w8.astype(np.float32) * scale
    data = Stored(stored=kind, data=w.astype(kind))
    return data, data.data.astype(np.float32)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("file", ["float32", "float64", "float16", "bfloat16", "int8"])
def test_pack_what_a_file_holds(loops: Loops, kind: str, file: str) -> None:
    w = normal(21, 37, seed=1) * np.exp(4 * normal(21, 1, seed=2))
    w[3, :4] = 0, -0.0, 1e-7, -6e-8  # subnormal in float16
    weights, meaning = stored_as(file, w)
    level, x = loops.level("portable"), normal(3, 37, seed=3)
    assert isinstance(level, Level)
    got = level.product(Linear(loops, kind, weights), x)
    if kind == "int8" and file == "int8":  # the numbers are kept
        x8, x_scale = to_int8(x)
        assert weights.scale is not None
        np.testing.assert_allclose(got, x8 @ weights.data.T * x_scale * weights.scale.T, rtol=1e-5)
    else:
        wanted, allowed = expected(kind, x, meaning, np.zeros(21, np.float32))
        assert (np.abs(got - wanted) <= allowed).all()
    for row in range(21):
        rounded = meaning[row]
        if kind == "bfloat16":
            rounded = to_bfloat16(rounded)
        if kind == "int8" and file != "int8":
            w8, scale = to_int8(rounded)
            rounded = w8.astype(np.float32) * scale.astype(np.float32)
        np.testing.assert_array_equal(loops.rounded(kind, weights, row), rounded)


def test_every_float16(loops: Loops) -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    got = loops.rounded("float32", Stored(stored="float16", data=halves[None]), 0)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, halves.astype(np.float32))


def test_bfloat16_rounds_to_nearest_even(loops: Loops) -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32)
    bits[:4] = 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7FFFFFFF  # two ties, overflow, NaN
    x = bits.view(np.float32)
    got = loops.rounded("bfloat16", Stored(stored="float32", data=x[None]), 0)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(np.isnan(got), ~numbers)
    np.testing.assert_array_equal(got[numbers], to_bfloat16(x[numbers]))


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 5, 16, 31, 128, 515])
def test_normalise(level: Level, width: int) -> None:
    x = normal(7, width, seed=1) * np.exp(3 * normal(7, 1, seed=2)) + normal(7, 1, seed=3)
    gain, shift = normal(width, seed=4), normal(width, seed=5)
    x64 = x.astype(np.float64)
    apart = x64 - x64.mean(1, keepdims=True)
    unit = apart / np.sqrt((apart**2).mean(1, keepdims=True) + 1e-5)
    # The mean is off by a few units of the largest number, which matters most where the rest is small.
    allowed = 4e-7 * (
        1 + np.abs(x64).max(1, keepdims=True) / np.sqrt((apart**2).mean(1, keepdims=True) + 1e-5)
    )
    error = np.abs(level.normalise(x, gain, shift, 1e-5) - (unit * gain + shift))
    assert (error <= allowed * (1 + np.abs(unit)) * np.abs(gain) + 2e-7 * np.abs(shift)).all()
    alone = np.concatenate([level.normalise(row[None], gain, shift, 1e-5) for row in x])
    np.testing.assert_array_equal(level.normalise(x, gain, shift, 1e-5), alone)


def test_numbers_whose_squares_overflow_are_not_hidden(level: Level) -> None:
    x, ones = 1e25 * normal(3, 7, seed=1), np.ones(7, np.float32)
    assert np.isnan(level.normalise(x, ones, ones, 1e-5)).all()
    assert np.isnan(level.normalise(x, ones, None, 1e-5)).all()


@pytest.mark.parametrize("width", [1, 5, 16, 31, 128, 515])
def test_normalise_without_a_shift_is_rms_norm(level: Level, width: int) -> None:
    x, gain = normal(7, width, seed=1) * np.exp(3 * normal(7, 1, seed=2)), normal(width, seed=4)
    x64 = x.astype(np.float64)
    wanted = x64 / np.sqrt((x64**2).mean(1, keepdims=True) + 1e-5) * gain

    np.testing.assert_allclose(level.normalise(x, gain, None, 1e-5), wanted, rtol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 33, 1000])
def test_add(level: Level, count: int) -> None:
    x, y = normal(count, seed=1), normal(count, seed=2)
    np.testing.assert_array_equal(level.add(x, y), x + y)


def activated(kind: str, x: Array) -> Array:
    x = x.astype(np.float64)
    match kind:
        case "relu":
            return np.maximum(x, 0)
        case "gelu":
            return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)
        case "quick_gelu":
            return x / (1 + np.exp(-1.702 * x))
        case "swish":
            return x / (1 + np.exp(-x))
    gate, value = np.split(x, 2, axis=1)
    return gate / (1 + np.exp(-gate)) * value


@pytest.mark.parametrize("kind", ACTIVATIONS)
@pytest.mark.parametrize("width", [1, 7, 16, 50, 128])
def test_activate(level: Level, kind: str, width: int) -> None:
    wide = 2 * width if kind == "swiglu" else width
    x = normal(9, wide, seed=1) * np.float32(4)
    x[0, 0], x[1, 0], x[2, 0] = 0, 60, -60
    wanted = activated(kind, x)
    np.testing.assert_allclose(level.activate(kind, x), wanted, rtol=4e-7, atol=2e-7)


def test_gelu_everywhere(level: Level) -> None:
    x = np.linspace(-30, 30, 60_001, dtype=np.float32)[None]
    assert np.abs(level.activate("gelu", x) - activated("gelu", x)).max() < 4e-6  # half an ulp of 30 is 1e-6
    small = np.abs(x) < 6
    assert np.abs(level.activate("gelu", x) - activated("gelu", x))[small].max() < 4e-7


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activate_keeps_nan(level: Level, kind: str) -> None:
    x = normal(3, 40, seed=1)
    x[1, 7], x[2, 19] = math.nan, math.nan
    got = level.activate(kind, x)
    assert np.isnan(got[1, 7])
    assert np.isnan(got[2, 19])
    assert np.isnan(got).sum() == 2


@pytest.mark.parametrize("width", [1, 16, 37, 256])
def test_recur(level: Level, width: int) -> None:
    candidate, forget, state = (normal(width, seed=seed) * 3 for seed in (1, 2, 3))
    new, out = level.recur(candidate, forget, state)
    f = 1 / (1 + np.exp(-forget.astype(np.float64)))
    np.testing.assert_allclose(new, f * state + (1 - f) * candidate, rtol=0, atol=4e-6)
    np.testing.assert_array_equal(out, np.maximum(new, 0))


# ---- attention -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heads", "width"), [(1, 1), (2, 5), (4, 8), (4, 16), (3, 24), (4, 32), (8, 64), (2, 128)]
)
@pytest.mark.parametrize("biased", [False, True])
def test_attend(level: Level, heads: int, width: int, biased: bool) -> None:
    for count in (1, 2, 4, 15, 16, 17, 33, 100, 2100):
        q, k, v = (
            normal(heads, width, seed=1),
            normal(count, heads, width, seed=2),
            normal(count, heads, width, seed=3),
        )
        bias = normal(heads, count, seed=4) if biased else None
        if bias is not None:
            bias[:, 1::3] = -np.inf
        scale = 1 / math.sqrt(width)
        scores = np.einsum("hd,thd->ht", q.astype(np.float64), k) * scale + (0 if bias is None else bias)
        e = np.exp(scores - scores.max(1, keepdims=True))
        wanted = e / e.sum(1, keepdims=True)
        weights, out = level.attend(q, k, v, bias, scale)
        np.testing.assert_allclose(weights, wanted, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(out, np.einsum("ht,thd->hd", wanted, v), rtol=0, atol=1e-5)
        if bias is not None:
            assert (weights[:, 1::3] == 0).all()


@pytest.mark.parametrize(("heads", "shared"), [(8, 2), (8, 4), (8, 8), (6, 3), (16, 16)])
@pytest.mark.parametrize("width", [5, 8, 16, 32, 64])
def test_heads_that_share_keys_are_as_with_a_copy_each(
    level: Level, heads: int, shared: int, width: int
) -> None:
    """The same numbers, also of bfloat16."""
    for count in (1, 17, 100):
        q, bias = normal(heads, width, seed=1), normal(heads, count, seed=4)
        k, v = (normal(count, heads // shared, width, seed=seed) for seed in (2, 3))
        for keys, values in ((k, v), (level.narrow(k), level.narrow(v))):
            copies = (np.repeat(x, shared, 1) for x in (keys, values))

            got, wanted = level.attend(q, keys, values, bias, 0.3), level.attend(q, *copies, bias, 0.3)

            for ours, theirs in zip(got, wanted, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("heads", "width"), [(1, 1), (2, 5), (4, 16), (3, 24), (4, 32), (8, 64), (2, 128)])
def test_attend_to_bfloat16_is_the_same_as_to_its_numbers(level: Level, heads: int, width: int) -> None:
    for count in (1, 4, 15, 17, 100):
        q, k, v = (normal(count, heads, width, seed=seed) for seed in (1, 2, 3))
        k, v = (level.narrow(x) for x in (k, v))
        wide = [(x.astype(np.uint32) << 16).view(np.float32) for x in (k, v)]

        narrow_answer = level.attend(q[0].copy(), k, v, None, 0.2)

        for ours, exact in zip(narrow_answer, level.attend(q[0].copy(), *wide, None, 0.2), strict=True):
            np.testing.assert_array_equal(ours, exact)


def test_narrow_rounds_to_the_nearest_even(level: Level) -> None:
    for count in (1, 5, 16, 33, 1000):
        x = normal(count, seed=count)
        bits = level.narrow(x)
        np.testing.assert_allclose((bits.astype(np.uint32) << 16).view(np.float32), x, rtol=2**-8)
    ties = np.array([0x3F808000, 0x3F818000, 0xBF808001], np.uint32).view(np.float32)
    assert level.narrow(ties).tolist() == [0x3F80, 0x3F82, 0xBF81]
    assert level.narrow(np.array([np.inf, -np.inf], np.float32)).tolist() == [0x7F80, 0xFF80]
    assert np.isnan((level.narrow(np.array([np.nan], np.float32)).astype(np.uint32) << 16).view(np.float32))


def test_attend_with_nan(level: Level) -> None:
    q, k, v = normal(4, 32, seed=1), normal(20, 4, 32, seed=2), normal(20, 4, 32, seed=3)
    k[7, 2, 5] = math.nan
    _, out = level.attend(q, k, v, None, 1.0)
    assert np.isnan(out[2]).all()
    assert np.isfinite(np.delete(out, 2, 0)).all()


# ---- logits --------------------------------------------------------------------------------------


def test_exponential_is_within_an_ulp_or_two(level: Level) -> None:
    """One logit in a sum that begins with max 0 and sum 0."""
    x = np.concatenate([np.linspace(-87.3, 0, 4001), -np.logspace(-8, 1, 200)]).astype(np.float32)
    got = np.array([level.sum_exponentials(v[None], 0.0, 0.0)[1] for v in x])
    wanted = np.exp(x.astype(np.float64))
    ulps = np.abs(got - wanted) / np.spacing(wanted.astype(np.float32))
    assert ulps.max() < (2 if level.table == level.loops.level("portable").table else 1.2)
    for x, wanted in ((-math.inf, 0), (-1e30, 0), (-88, 0)):
        assert level.sum_exponentials(np.array([x], np.float32), 0.0, 0.0)[1] == wanted


@pytest.mark.parametrize("count", [1, 3, 16, 100, 1024, 13_001])
def test_sum_exponentials(level: Level, count: int) -> None:
    x = normal(count, seed=count) * np.float32(5) + np.float32(200)
    x[count // 2] = -np.inf if count > 1 else x[0]
    wanted = np.exp(x.astype(np.float64) - x.max()).sum()
    top, total = -math.inf, 0.0
    for first in range(0, count, 1000):
        top, total = level.sum_exponentials(np.ascontiguousarray(x[first : first + 1000]), top, total)
    assert top == x.max()
    assert total == pytest.approx(wanted, rel=2e-6)


def test_sum_exponentials_at_the_edges(level: Level) -> None:
    hidden = np.full(40, -np.inf, np.float32)
    assert level.sum_exponentials(hidden) == (-math.inf, 0)
    assert level.sum_exponentials(hidden, 2.0, 3.0) == (2.0, 3.0)
    assert level.sum_exponentials(np.array([5.0], np.float32), *level.sum_exponentials(hidden)) == (5.0, 1.0)
    for spoilt in (normal(40), hidden):
        x = spoilt.copy()
        x[37] = math.nan
        assert math.isnan(level.sum_exponentials(x)[1])
    assert math.isnan(level.sum_exponentials(normal(40), *level.sum_exponentials(x))[1])


@pytest.mark.parametrize("best", [1, 2, 4, 7, 100])
@pytest.mark.parametrize("count", [1, 5, 64, 1000, 13_001])
def test_find_best(level: Level, best: int, count: int) -> None:
    x = normal(count, seed=count)
    coarse = np.round(x * 2) / 2  # many are equal
    spoilt = np.where(np.arange(count) % 3 == 1, np.nan, x).astype(np.float32)
    hidden = np.where(np.arange(count) % 5 == 1, x, -np.inf).astype(np.float32)
    ascending = np.sort(x)
    for logits in (x, coarse, spoilt, hidden, ascending):
        usable = np.flatnonzero(logits > -np.inf)  # not NaN
        order = usable[np.argsort(-logits[usable], kind="stable")][:best]
        values, ids = level.find_best(logits, best, stripe=1000)
        np.testing.assert_array_equal(ids[: len(order)], order)
        np.testing.assert_array_equal(values[: len(order)], logits[order])
        assert (ids[len(order) :] == -1).all()
        assert (values[len(order) :] == -np.inf).all()


# ---- the choice of instructions ------------------------------------------------------------------


def chosen(name: str) -> tuple[str | None, str]:
    """What DRAGOMAN_INSTRUCTIONS chooses in a new process, and the message."""
    program = (
        "import ctypes\nfrom dragoman.translation.native import build\nlibrary = build.library()\n"
        "function = library.dragoman_instructions\nfunction.restype = ctypes.c_char_p\n"
        "message = ctypes.create_string_buffer(400)\nname = function(message, ctypes.c_int64(400))\n"
        "print((name or b'').decode())\nprint(message.value.decode())\n"
    )
    environment = {**os.environ, "DRAGOMAN_INSTRUCTIONS": name}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    first, second = result.stdout.splitlines()
    return first or None, second


def test_choose_instructions(here: Loops) -> None:
    assert chosen("portable") == ("portable", "")
    best, _ = chosen("")
    available = [name for name in LEVELS if not isinstance(here.level(name), str)]
    assert best == available[-1]
    assert chosen("sse9") == (None, f'unknown instructions "sse9"; known are {", ".join(LEVELS)}')


def test_instructions_that_the_processor_lacks(loops: Loops) -> None:
    for name in LEVELS:
        if isinstance(message := loops.level(name), str):
            assert message.startswith(f"this processor does not support {name}; use portable")


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_loop_leaves_its_memory(tmp_path: Path) -> None:
    """All loops on odd sizes under the address and undefined-behaviour sanitizers."""
    if build.unavailable():
        pytest.skip("no C++ compiler here")
    driver = Path(__file__).with_name("kernels_driver.cpp")
    sources = [*CODE.glob("kernels_*.cpp"), CODE / "matrix.cpp", CODE / "processor.cpp", driver]
    flags = [
        "-std=c++17",
        "-O1",
        "-g",
        "-pthread",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    program = tmp_path / "driver"
    subprocess.run(
        [*build._compiler(), *flags, f"-I{CODE}", *map(str, sources), "-o", str(program)], check=True
    )
    for name in LEVELS:
        result = subprocess.run([str(program), name], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout
