"""Find engine.wasm: in the installed package, or compiled once into the user's cache, by ziglang."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from dragoman.base.compiler import CompilerError, Sources, compiled, zig
from dragoman.base.errors import ConfigError

PACKAGED = "engine.wasm"  # next to this file, in a wheel
MODULE = Path(__file__).with_name("engine.js")
_CODE = Path(__file__).parents[1] / "cpp"
_COMPILER = zig("wasm32-wasi")
# Features of the processor are options of the front end: as options of zig they would compile the standard
# library once more. -fignore-exceptions: `throw` calls the page (cpp/web.cpp).
_FLAGS = (
    "-std=c++17", "-O2", "-fignore-exceptions", "-fvisibility=hidden",
    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
    *("-Xclang", "-target-feature", "-Xclang", "+simd128"),
    *("-Xclang", "-target-feature", "-Xclang", "+bulk-memory"),
)  # fmt: skip
_LINK = ("-mexec-model=reactor", "-Wl,--export-dynamic,--strip-all,-z,stack-size=1048576")


def engine_wasm() -> Path:
    """Return the file engine.wasm. The first call on a machine may compile it, for a minute.

    Raises ConfigError if it is missing and cannot be compiled.
    """
    packaged = Path(__file__).with_name(PACKAGED)
    if packaged.exists():
        return packaged
    if importlib.util.find_spec("ziglang") is None:
        raise ConfigError("engine.wasm is missing", hint="pip install ziglang, which compiles it")
    # The sources of the engine with the loops for WebAssembly alone.
    program = Sources(
        name="engine",
        sources=tuple(
            path
            for path in sorted(_CODE.glob("*.cpp"))
            if not path.name.startswith("kernels_") or path.stem == "kernels_wasm"
        ),
        headers=tuple(sorted([*_CODE.glob("*.h"), *_CODE.glob("*.inl")])),
        flags=_FLAGS,
        libraries=_LINK,
        suffix=".wasm",
    )
    try:
        return compiled(_COMPILER, program, "the engine for pages")
    except CompilerError as error:
        raise ConfigError(
            f"engine.wasm does not compile: {error}", hint="is ziglang of the right version?"
        ) from error
