"""Small trained models that several tests use: each is trained once for the same sources."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".pytest_cache" / "models"


def copy_of(make: Callable[[Path], object], output: Path, *, place: Path = PLACE) -> Path:
    """Copy to `output` the folder that `make(folder)` makes, which an earlier test may have made.

    It is made again after a change of the package, of the file of `make`, of the versions below it, or of a
    setting in the environment. Of two processes that need it at once, one makes it.
    """
    name = f"{make.__module__.rpartition('.')[2]}.{make.__name__}"
    place = place if _writable(place) else Path(tempfile.gettempdir()) / f"dragoman-models-{os.getuid()}"
    folder = place / f"{name}-{_digest(Path(make.__code__.co_filename))}"
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / f"{name}.lock"):
        if not folder.exists():
            for old in place.glob(f"{name}-*"):
                shutil.rmtree(old)
            make(folder.with_name(f"{name}-part"))
            os.replace(folder.with_name(f"{name}-part"), folder)
        return shutil.copytree(folder, output)


def _writable(place: Path) -> bool:
    return os.access(next(one for one in (place, *place.parents) if one.exists()), os.W_OK)


def _digest(file: Path) -> str:
    """A digest of all that a model depends on."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("DRAGOMAN_")}
    machine = [sys.version, version("torch"), version("numpy"), platform.node(), platform.machine()]
    digest = hashlib.blake2b(repr([machine, sorted(settings.items())]).encode(), digest_size=16)
    digest.update(file.read_bytes())
    digest.update(_digest_of_package())
    return digest.hexdigest()


@cache
def _digest_of_package() -> bytes:
    digest = hashlib.blake2b()
    package = ROOT / "src/dragoman"
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(package)} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    return digest.digest()
