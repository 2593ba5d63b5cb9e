"""A minute of each fuzzer, and what they found before. Longer runs are described in CONTRIBUTING.md."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.base.compiler import CompilerError
from dragoman.translation.native import build
from tests.fuzz import programs, readers, seeds

ROOT = Path(__file__).parents[2]
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
# PyTorch and transformers take seconds to import, so these are only in the slow tests.
SLOW = [name for name in readers.TARGETS if name.startswith(("huggingface/", "marian/"))]


def compiler() -> list[str]:
    if reason := build.unavailable():
        pytest.skip(f"{reason}: install g++ or clang")
    return build._compiler()


@pytest.mark.parametrize("name", [name for name in readers.TARGETS if name not in SLOW])
@pytest.mark.thorough
def test_readers_refuse_damage_with_a_hint(name: str, tmp_path: Path) -> None:
    """Mutations with a fixed seed."""
    target = readers.TARGETS[name]
    target.make(tmp_path)
    count, _ = readers.plain(target, tmp_path, seconds=1000, most=30)
    assert count == 30


@pytest.mark.slow
@pytest.mark.parametrize("name", readers.TARGETS)
def test_a_minute_of_mutations(name: str, tmp_path: Path) -> None:
    if name.startswith("huggingface/"):
        pytest.importorskip("transformers", reason="transformers is not installed")
    atheris = importlib.util.find_spec("atheris") is not None
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.readers",
        name,
        "--seconds",
        str(SECONDS),
        "--keep",
        str(tmp_path),
    ]
    run = subprocess.run(
        command if atheris else [*command, "--plain"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.returncode == 0, run.stderr[-5000:]
    if not atheris:
        pytest.skip("random mutations alone, because atheris is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", seeds.ALL)
def test_a_minute_of_libfuzzer(name: str, tmp_path: Path) -> None:
    if shutil.which("clang++") is None:
        pytest.skip("clang is not installed")
    try:
        printed = programs.fuzz(name, tmp_path, seconds=SECONDS, keep=tmp_path)
    except CompilerError as error:
        pytest.skip(f"this clang has no libFuzzer: {error}")
    except subprocess.CalledProcessError as error:
        pytest.fail(error.stderr[-10_000:])
    assert "DONE" in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", seeds.ALL)
def test_the_engine_under_the_sanitizers(name: str, tmp_path: Path) -> None:
    """Models, adapters and requests, partly wrong; and all inputs that once failed."""
    command = compiler()
    try:
        driver = programs.program(name, command, tmp_path, fuzzer=False)
    except (CompilerError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the compiler has no sanitizers: {error}")
    paths = []
    for number, data in enumerate(seeds.ALL[name]()):
        paths.append(tmp_path / f"seed-{number}")
        paths[-1].write_bytes(data)
    run = subprocess.run(
        [str(driver), "500", *map(str, [*programs.regressions(name), *paths])],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert run.returncode == 0, run.stderr[-10_000:]
    opened, answered = map(int, run.stdout.split())
    assert min(opened, answered) > (10 if name == "tokenizer" else 100)
