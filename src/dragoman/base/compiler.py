"""Compile C and C++ with the compiler of the machine, once, into the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dragoman.base.machine import cache_folder, cores

log = logging.getLogger(__name__)

SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
_SECONDS = 1800  # for one file; the first link for Windows by zig also compiles its standard library


class CompilerError(Exception):
    """No library: the message says why in a few words."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Sources that make one shared library."""

    name: str  # of the library
    sources: tuple[Path, ...]  # each is compiled on its own
    headers: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()  # for compiling and linking
    libraries: tuple[str, ...] = ()
    suffix: str = SUFFIX  # .wasm: a module for a page, not a shared library


def find_compiler(variable: str, names: Sequence[str]) -> list[str]:
    """Return the command of a compiler: the one that an environment variable names, or the first on PATH.

    Without either, the package ziglang compiles C++. It has no OpenMP, which the C of training needs. Raises
    CompilerError if there is no compiler.
    """
    wanted = [
        word.strip('"') for word in shlex.split(os.environ.get(variable, ""), posix=sys.platform != "win32")
    ]
    for command in (wanted, *([name] for name in names)):
        if command and (path := shutil.which(command[0])):
            return [path, *command[1:]]
    if variable == "CXX" and find_spec("ziglang") is not None:
        return zig()
    raise CompilerError(f"no {'C++' if variable == 'CXX' else 'C'} compiler")


def zig(target: str = "") -> list[str]:
    """Return the command of the C++ compiler in the package ziglang, for this machine or another.

    It compiles for the baseline of the processor family. Its own default for this machine is the processor.
    """
    return [
        sys.executable,
        "-m",
        "ziglang",
        "c++",
        *(["-target", target] if target else []),
        "-mcpu=baseline",
    ]


def cached(compiler: Sequence[str], program: Sources, *, facts: bytes = b"") -> Path:
    """Return the place of the compiled library in the cache, whether it is there or not.

    It depends on the sources, the flags, the compiler and `facts`. Raises CompilerError if the compiler does
    not run.
    """
    digest = hashlib.sha256(repr((program.flags, program.libraries, platform.machine())).encode())
    for path in (*program.sources, *program.headers):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(_run([*compiler, "--version"], seconds=60) + facts)
    return cache_folder() / f"{program.name}-{digest.hexdigest()[:16]}{program.suffix}"


def compiled(compiler: Sequence[str], program: Sources, what: str = "", *, facts: bytes = b"") -> Path:
    """Return the library in the cache. Compile it, with a warning that names it `what`, if it is not there.

    Raises CompilerError.
    """
    library = cached(compiler, program, facts=facts)
    if not library.exists():
        if what:
            log.warning("compiling %s (once)", what)
        compile_library(compiler, program, library)
    return library


def loaded(compiler: Sequence[str], program: Sources, what: str = "", *, facts: bytes = b"") -> ctypes.CDLL:
    """Load the library that `compiled` returns. If it is damaged, it is compiled once more.

    Raises CompilerError, and OSError if it does not load then either.
    """
    library = compiled(compiler, program, what, facts=facts)
    useless = library.with_suffix(".useless")  # says that the compiler's libraries do not load here
    try:
        found = ctypes.CDLL(str(library))
        useless.unlink(missing_ok=True)
        return found
    except OSError:
        if useless.exists():
            raise
        library.unlink(missing_ok=True)
    try:
        return ctypes.CDLL(str(compiled(compiler, program, what, facts=facts)))
    except OSError:
        useless.touch()
        raise


def compile_library(compiler: Sequence[str], program: Sources, library: Path) -> None:
    """Compile into the file `library`, one process a core. Raises CompilerError if that fails.

    The file appears whole, also if several processes compile it at once.
    """
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            built = Path(folder) / library.name
            _compile(compiler, program, built)
            with built.open("rb+") as written:
                os.fsync(written.fileno())
            built.replace(library)
    except OSError as error:
        raise CompilerError(f"cannot write {library.parent} ({error.strerror or error})") from error


def _compile(compiler: Sequence[str], program: Sources, library: Path) -> None:
    objects = [str(library.with_name(f"{source.stem}.o")) for source in program.sources]
    position, shared = (["-fPIC"], ["-shared"]) if program.suffix == SUFFIX else ([], [])
    commands = [
        [*compiler, *program.flags, *position, "-c", str(source), "-o", out]
        for source, out in zip(program.sources, objects, strict=True)
    ]
    from concurrent.futures import ThreadPoolExecutor  # only here: most calls find the library in the cache

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(_run, commands))
    _run([*compiler, *program.flags, *shared, *objects, *program.libraries, "-o", str(library)])


def _run(command: Sequence[str], *, seconds: float = _SECONDS) -> bytes:
    """Return the output of a command. Raises CompilerError with its first complaint if it fails."""
    name = Path(command[0]).name
    try:
        return subprocess.run(command, capture_output=True, timeout=seconds, check=True).stdout
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").splitlines()
        first = next((line.strip() for line in lines if "error" in line), lines[0] if lines else "")
        raise CompilerError(f"{name} failed: {first or f'exit status {error.returncode}'}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilerError(f"{name} failed: {error}") from error
