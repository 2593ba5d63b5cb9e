"""The native engine for ARM, compiled by a cross compiler and run under qemu."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.engine.emulation import COMPILER, LEVELS, QEMU, Emulated, compile_engine, emulated_engine
from tests.translation.native.kernels import Here, Level, Linear, Loops, needs_emulator
from tests.translation.native.models import answers_of, lines, native, random_model, shape

from dragoman.translation.native import build
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler"),
]

ONLY = {"neon": set(), "neon_dotprod": {"sdot"}, "neon_i8mm": {"smmla"}, "neon_bf16": {"bfmmla", "bfdot"}}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    needs_emulator()
    return compile_engine(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def arm(program: list[str]) -> Iterator[Emulated]:
    emulated = Emulated([*QEMU, "-cpu", "max", *program])
    yield emulated
    emulated.close()


@pytest.mark.parametrize(("cpu", "count"), [("cortex-a53", 1), ("cortex-a76", 2), ("max", 4)])
def test_no_level_has_instructions_that_the_processor_lacks(program: list[str], cpu: str, count: int) -> None:
    emulated = Emulated([*QEMU, "-cpu", cpu, *program])
    loops = Loops(emulated)

    found = [name for name in LEVELS if isinstance(loops.level(name), Level)]
    best = loops.level(None)

    assert found == [*LEVELS[:count]]
    assert isinstance(best, Level)
    assert best.table == loops.level(LEVELS[count - 1]).table
    emulated.close()


@pytest.mark.parametrize("multiplier", [0.0, 60.0])
def test_int8_products_are_equal_to_those_of_this_machine(arm: Emulated, multiplier: float) -> None:
    random = np.random.default_rng(1)
    w, bias = random.standard_normal((90, 500), np.float32), random.standard_normal(90, np.float32)
    x = random.standard_normal((37, 500), np.float32)
    here, there = Loops(Here(build.library())), Loops(arm)
    wanted = here.level("portable").product(Linear(here, "int8", w, bias, multiplier), x)

    for name in ("portable", *LEVELS):
        got = there.level(name).product(Linear(there, "int8", w, bias, multiplier), x)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", LEVELS)
def test_translations_are_those_of_this_machine(program: list[str], name: str) -> None:
    model = random_model(shape(d_model=64, heads=2))
    requests = [Request(source=source, how=Beam(size=3), max_tokens=12) for source in lines(40)]
    wanted = answers_of(native(model), requests)
    emulated = Emulated([*QEMU, "-cpu", "max", *program], DRAGOMAN_INSTRUCTIONS=name)

    with emulated_engine(emulated):
        got = answers_of(native(model), requests)

    emulated.close()
    assert [[one.tokens for one in best] for best in got] == [[one.tokens for one in best] for best in wanted]


@pytest.mark.parametrize("name", ONLY)
def test_a_file_has_its_instructions_and_no_others(tmp_path: Path, name: str) -> None:
    needs_emulator()
    dump = COMPILER.replace("g++", "objdump")
    if shutil.which(dump) is None:
        pytest.skip(f"no {dump}: install Debian's binutils-aarch64-linux-gnu")
    source, out = Path(build.__file__).parent / "cpp" / f"kernels_{name}.cpp", tmp_path / "kernels.o"
    subprocess.run([COMPILER, *build.program().flags, "-c", str(source), "-o", str(out)], check=True)

    code = subprocess.run([dump, "-d", str(out)], capture_output=True, text=True, check=True).stdout

    assert set(re.findall(r"\b(sdot|udot|usdot|smmla|ummla|bfmmla|bfdot|bfmlal[bt])\b", code)) == ONLY[name]


def test_no_loop_leaves_its_memory(tmp_path: Path) -> None:
    """All loops on odd sizes under the sanitizers. That of addresses finds leaks only without an emulator."""
    needs_emulator()
    code, driver = Path(build.__file__).parent / "cpp", Path(__file__).with_name("kernels_driver.cpp")
    sources = [*code.glob("kernels_*.cpp"), code / "matrix.cpp", code / "processor.cpp", driver]
    flags = ["-std=c++17", "-O1", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = tmp_path / "driver"
    # For qemu too, not by its -E: the sanitizer reads /proc/self/environ, which is that of qemu.
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    subprocess.run([COMPILER, *flags, f"-I{code}", *map(str, sources), "-o", str(built)], check=True)
    for name in ("portable", *LEVELS):
        command = [*QEMU, "-cpu", "max", str(built), name]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(name)
