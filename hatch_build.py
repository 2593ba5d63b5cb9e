"""Put the compiled native engine into the wheel.

`make wheel` compiles for this machine. Without a C++ compiler the wheel has no engine inside. It then works
everywhere, with PyTorch. `make wheels` compiles for the platforms in TARGETS, with the package ziglang.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

# Platform tag of a wheel: zig's target, with the oldest system that the tag promises.
TARGETS = {
    "manylinux_2_17_x86_64.manylinux2014_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64.manylinux2014_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}

# With libstdc++ inside, the library needs no newer one than the system has.
_SELF_CONTAINED = ("-static-libstdc++", "-Wl,--exclude-libs,ALL,--gc-sections", "-s")
_OLDEST_GLIBC = 17  # of the 2.x that manylinux tags name


class EngineHook(BuildHookInterface):
    """Compile the engine, and tag the wheel with the systems that can load it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from dragoman.base.compiler import CompilerError, zig
        from dragoman.base.errors import ConfigError
        from dragoman.translation.native.build import PACKAGED, compile_to
        from dragoman.translation.native.web.wasm import engine_wasm

        try:
            page = "dragoman/translation/native/web/engine.wasm"
            build_data["force_include"][str(engine_wasm())] = page
        except ConfigError as error:
            self.app.display_warning(f"this wheel has no engine for pages: {error}")
        self._folder = tempfile.TemporaryDirectory()
        tag = os.environ.get("DRAGOMAN_WHEEL", "")  # by default this machine
        if tag and tag not in TARGETS:
            self.app.abort(f"error: DRAGOMAN_WHEEL={tag}: choose one of {', '.join(TARGETS)}")
        library = Path(self._folder.name, f"_engine{suffix(tag)}" if tag else PACKAGED)
        try:
            if tag:
                # macOS notes the name; by default it would be that of the temporary folder.
                name = (f"-Wl,-install_name,@rpath/{library.name}",) if "macos" in tag else ()
                compile_to(library, flags=("-s", *name), compiler=zig(TARGETS[tag]))
            else:
                compile_to(library, flags=_SELF_CONTAINED if sys.platform == "linux" else ())
        except CompilerError as error:
            if tag:
                self.app.abort(f"error: {tag}: {error}")
            self.app.display_warning(f"this wheel has no native engine: {error}")
            return
        build_data["force_include"][str(library)] = f"dragoman/translation/native/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag or platform_of(library)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if folder := getattr(self, "_folder", None):
            folder.cleanup()


def suffix(tag: str) -> str:
    """Return how the name of a library ends on a platform."""
    return ".dll" if tag.startswith("win") else ".dylib" if tag.startswith("macosx") else ".so"


def platform_of(library: Path) -> str:
    """Return the platform tag: on Linux with glibc, the oldest glibc that has all symbols of the library."""
    tags = list(platform_tags())
    if not any(tag.startswith("manylinux") for tag in tags):
        return next((tag for tag in tags if tag.startswith("musllinux")), tags[0])
    symbols = re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())
    machine = sysconfig.get_platform().removeprefix("linux-")
    return f"manylinux_2_{max([_OLDEST_GLIBC, *map(int, symbols)])}_{machine}"
