"""Put the compiled native engine into the wheel.

Without a C++ compiler the wheel has no engine inside. It then works everywhere, with PyTorch.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

# With libstdc++ inside, the library needs no newer one than the system has.
_SELF_CONTAINED = ("-static-libstdc++", "-Wl,--exclude-libs,ALL,--gc-sections", "-s")
_OLDEST_GLIBC = 17  # of the 2.x that manylinux tags name


class EngineHook(BuildHookInterface):
    """Compile the engine, and tag the wheel with the systems that can load it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from dragoman.base.compiler import CompilerError
        from dragoman.base.errors import ConfigError
        from dragoman.translation.native.build import PACKAGED, compile_to
        from dragoman.translation.native.web.wasm import engine_wasm

        try:
            page = "dragoman/translation/native/web/engine.wasm"
            build_data["force_include"][str(engine_wasm())] = page
        except ConfigError as error:
            self.app.display_warning(f"this wheel has no engine for pages: {error}")
        self._folder = tempfile.TemporaryDirectory()
        library = Path(self._folder.name, PACKAGED)
        try:
            compile_to(library, flags=_SELF_CONTAINED if sys.platform == "linux" else ())
        except CompilerError as error:
            self.app.display_warning(f"this wheel has no native engine: {error}")
            return
        build_data["force_include"][str(library)] = f"dragoman/translation/native/{PACKAGED}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(library)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if folder := getattr(self, "_folder", None):
            folder.cleanup()


def platform_of(library: Path) -> str:
    """Return the platform tag: on Linux with glibc, the oldest glibc that has all symbols of the library."""
    tags = list(platform_tags())
    if not any(tag.startswith("manylinux") for tag in tags):
        return next((tag for tag in tags if tag.startswith("musllinux")), tags[0])
    symbols = re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())
    machine = sysconfig.get_platform().removeprefix("linux-")
    return f"manylinux_2_{max([_OLDEST_GLIBC, *map(int, symbols)])}_{machine}"
