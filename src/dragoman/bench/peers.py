"""Other toolkits to measure against: their drivers, and the environments that they run in.

The drivers and the pinned requirements are in `benchmarks/peers/` of the source checkout, not in the
installed package. Each environment is created in the user's cache.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.base.machine import cache_folder

WHERE = "clone the source and pass --peers FOLDER, its benchmarks/peers"
MISSING = f"other toolkits are left out: their drivers come with the source checkout; {WHERE}"


def drivers(source: Path = Path(__file__).parents[2]) -> Path | None:
    """Folder of the drivers next to `source`, the checkout's src; None in an installed package."""
    folder = source.parent / "benchmarks" / "peers"
    return folder if source.name == "src" and folder.is_dir() else None


def python_of(environment: str) -> Path:
    """The interpreter of an environment, whether it is installed or not."""
    return cache_folder() / "peers" / environment / "bin" / "python"


def requirements(folder: Path) -> dict[str, Path]:
    """The pinned requirements of each environment, from a folder of drivers."""
    return {path.stem: path for path in sorted(folder.glob("*.txt"))}


def install(environment: str, folder: Path) -> None:
    """Create or replace an environment with its pinned requirements. Raises ConfigError if that fails."""
    known = requirements(folder)
    if environment not in known:
        raise ConfigError(f"unknown environment {environment}", hint=f"choose among: {', '.join(known)}")
    target = python_of(environment).parents[1]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(target)], check=True)
        # The file lists every package, so dependencies are not resolved: some ask for an old torch.
        pip = [str(python_of(environment)), "-m", "pip", "install", "--quiet", "--no-deps", "-r"]
        subprocess.run([*pip, str(known[environment])], check=True)
    except (OSError, subprocess.SubprocessError) as error:
        python_of(environment).unlink(
            missing_ok=True
        )  # so that an incomplete environment counts as not installed
        raise ConfigError(
            f"{environment} cannot be installed: {error}", hint="see pip's output above"
        ) from error
