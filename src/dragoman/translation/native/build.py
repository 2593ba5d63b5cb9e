"""Find the library of the native engine: in the installed package, or compiled once into the user's cache.

The machine code uses the baseline instructions of the processor family. The library chooses faster ones at
run time, so one library serves every machine of a family.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Sequence
from pathlib import Path

from dragoman.base.compiler import SUFFIX, CompilerError, Sources, compile_library, find_compiler, loaded
from dragoman.base.errors import ConfigError

log = logging.getLogger(__name__)

PACKAGED = f"_engine{SUFFIX}"  # next to this file, in a wheel
_HERE = Path(__file__).parent
# No -ffast-math: NaN must propagate, and hidden keys are -inf.
# -ffp-contract=off: int8 gives the same numbers on all instruction sets. Not all fuse products and sums.
_FLAGS = (
    "-std=c++17", "-O3", "-pthread", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno",
    "-fno-trapping-math",
)  # fmt: skip


def library() -> ctypes.CDLL:
    """Return the library of the engine. The first call on a machine may compile it, for seconds.

    Raises ConfigError if it is missing and cannot be compiled.
    """
    found = _find()
    if isinstance(found, str):
        raise ConfigError(
            f"the native engine is not available: {found}",
            hint="install g++ or clang++, or pip install ziglang; PyTorch translates without the engine",
        )
    return found


def unavailable() -> str | None:
    """Return in a few words why the library is missing, or None if it is available. May compile it."""
    found = _find()
    return found if isinstance(found, str) else None


def compile_to(path: Path, *, flags: Sequence[str] = (), compiler: Sequence[str] | None = None) -> None:
    """Compile the library into the file `path`. Raises CompilerError if that fails."""
    compile_library(compiler or _compiler(), program(flags), path)


def program(flags: Sequence[str] = ()) -> Sources:
    """Return the sources of the engine."""
    code = _HERE / "cpp"
    return Sources(
        name="engine",
        sources=tuple(sorted(code.glob("*.cpp"))),
        headers=tuple(sorted([*code.glob("*.h"), *code.glob("*.inl")])),
        flags=(*_FLAGS, *flags),
    )


@functools.cache
def _find() -> ctypes.CDLL | str:
    """Return the library, or the reason why it is missing."""
    packaged = _HERE / PACKAGED
    if packaged.exists():
        try:
            return ctypes.CDLL(str(packaged))
        except OSError as error:  # built for another system
            log.info("cannot load %s: %s", packaged, error)
    try:
        compiler = _compiler()
    except CompilerError as error:
        return str(error)
    try:
        return loaded(compiler, program(), "the native engine")
    except CompilerError as error:
        log.warning("the native engine does not compile: %s", error)
        return str(error)
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home
        return str(error)


def _compiler() -> list[str]:
    return find_compiler("CXX", ("c++", "g++", "clang++"))
