"""Install other toolkits to measure against, in pinned versions, each in its own environment.

    python benchmarks/peers/install.py [NAME ...]

Prints the toolkits and their packages, if none is named. The environments are created in the user's cache.
The drivers beside this file run in them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from dragoman.base.errors import ConfigError
from dragoman.base.machine import cache_folder
from dragoman.base.tables import aligned
from dragoman.cli.options import Commands, argument
from dragoman.cli.outcome import run

DRIVERS = Path(__file__).parent


def python_of(environment: str) -> Path:
    """The interpreter of an environment, whether it is installed or not."""
    return cache_folder() / "peers" / environment / "bin" / "python"


def requirements(folder: Path = DRIVERS) -> dict[str, Path]:
    """The pinned requirements of each environment, from a folder of drivers."""
    return {path.stem: path for path in sorted(folder.glob("*.txt"))}


def install(environment: str) -> None:
    """Create or replace an environment with its pinned requirements. Raises ConfigError if that fails."""
    known = requirements()
    if environment not in known:
        raise ConfigError(f"unknown environment {environment}", hint=f"choose among: {', '.join(known)}")
    target = python_of(environment).parents[1]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(target)], check=True)
        # The file lists every package, so dependencies are not resolved: some ask for an old torch.
        pip = [str(python_of(environment)), "-m", "pip", "install", "--quiet", "--no-deps", "-r"]
        subprocess.run([*pip, str(known[environment])], check=True)
    except (OSError, subprocess.SubprocessError) as error:
        # An incomplete environment counts as not installed.
        python_of(environment).unlink(missing_ok=True)
        raise ConfigError(
            f"{environment} cannot be installed: {error}", hint="see pip's output above"
        ) from error


def peers(
    names: Annotated[list[str] | None, argument("NAME", "Toolkits to install. [default: list them]")] = None,
) -> None:
    """Install other toolkits to measure against, in pinned versions, each in its own environment.

    The environments are created in the cache. Without NAME, list the toolkits and their packages.

    \b
      python benchmarks/peers/install.py
      python benchmarks/peers/install.py huggingface
    """
    if not names:
        rows = [
            [
                name,
                "installed" if python_of(name).exists() else "not installed",
                ", ".join(path.read_text(encoding="utf-8").split()),
            ]
            for name, path in requirements().items()
        ]
        print("\n".join(aligned(rows)))
    for name in names or []:
        print(f"{name}: installing", file=sys.stderr)
        install(name)


app = Commands()
app.command()(peers)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/peers/install.py"))
