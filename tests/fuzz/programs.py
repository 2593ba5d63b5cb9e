"""Compile the fuzzers of C++ with the sanitizers: `python -m tests.fuzz.programs NAME --seconds 60`."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.base import compiler
from dragoman.translation.native import build
from tests.fuzz import seeds

HERE = Path(__file__).parent
CODE = Path(build.__file__).parent / "cpp"
_SANITIZE = "-fsanitize=address,undefined"
_FLAGS = ("-fno-omit-frame-pointer", "-fno-sanitize-recover=all")
_FUZZED = ("-O1", "-g", "-fsanitize=fuzzer-no-link")  # without a fuzzer, the compiler's time counts: -O0
_LIMITS = (
    "-timeout=20",
    "-rss_limit_mb=2000",
    "-malloc_limit_mb=1000",
    "-len_control=0",
    "-seed=1",
    "-print_final_stats=1",
)


def library(command: Sequence[str], *flags: str) -> Path:
    """Return the engine's library with the sanitizers. Compiled once into the cache, perhaps for minutes."""
    sources = replace(build.program((*_FLAGS, _SANITIZE, *flags)), name="sanitized")
    return compiler.compiled(command, sources)


def program(name: str, command: Sequence[str], folder: Path, *, fuzzer: bool) -> Path:
    """Return a program around `NAME_fuzzer.cpp`: libFuzzer's, which needs clang, or `replay.cpp`."""
    flags = ["-O1", _SANITIZE + ",fuzzer"] if fuzzer else ["-O0", _SANITIZE, str(HERE / "replay.cpp")]
    engine, out = library(command, *(_FUZZED if fuzzer else ("-O0",))), folder / name
    subprocess.run(
        [
            *command,
            "-std=c++17",
            "-pthread",
            *_FLAGS,
            *flags,
            f"-I{CODE}",
            str(HERE / f"{name}_fuzzer.cpp"),
            str(engine),
            f"-Wl,-rpath,{engine.parent}",
            "-o",
            str(out),
        ],
        check=True,
    )
    return out


def regressions(name: str) -> list[Path]:
    """The inputs that once failed."""
    return sorted((HERE / "inputs").glob(f"{name}-*"))


def fuzz(name: str, folder: Path, *, seconds: int, keep: Path) -> str:
    """Run libFuzzer from the seeds. Returns what it printed. Raises CalledProcessError for a finding."""
    corpus = folder / f"{name}-corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds.ALL[name]()):
        (corpus / f"seed-{number}").write_bytes(data)
    run = subprocess.run(
        [
            str(program(name, ["clang++"], folder, fuzzer=True)),
            *_LIMITS,
            f"-max_total_time={seconds}",
            "-max_len=8000",
            f"-artifact_prefix={keep}/{name}-",
            str(corpus),
        ],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, name, stderr=run.stderr)
    return run.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*seeds.ALL])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", type=Path, default=Path(), help="the folder for an input that fails")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            printed = fuzz(options.name, Path(folder), seconds=options.seconds, keep=options.keep)
        except subprocess.CalledProcessError as error:
            raise SystemExit(error.stderr[-20_000:]) from error
    print(*(line for line in printed.splitlines() if "DONE" in line or line.startswith("stat::")), sep="\n")


if __name__ == "__main__":
    main()
