"""Digests of files, so that what was damaged since it was written is noticed before it is used.

Digests find accidents: a failing disk, a copy that was cut short, a file of another run. They do not protect
from an attacker, who can change the digest too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def sealed(folder: Path, names: Iterable[str]) -> dict[str, list[Any]]:
    """Return bytes and digest of each of these files. Reads them once, in blocks. Raises OSError."""
    return {name: _stamp(folder / name) for name in sorted(names)}


def broken(folder: Path, seals: object) -> list[str]:
    """Return what is wrong with the files that `sealed` was called on, a text each."""
    if not isinstance(seals, Mapping):
        return ["the table of its digests cannot be read"]
    faults = []
    for name, stamp in seals.items():
        if not isinstance(name, str) or Path(name).name != name:
            faults.append(f"{name!r} is not the name of a file")
            continue
        try:
            size = (folder / name).stat().st_size
            if not isinstance(stamp, list) or stamp[:1] != [size]:
                faults.append(f"{name} has {size:,} bytes, not as many as were written")
            elif _stamp(folder / name) != stamp:
                faults.append(f"{name} has another digest than was written")
        except OSError as error:
            faults.append(f"{name}: {error.strerror or error}")
    return faults


def digest_of_table(table: Mapping[str, Any]) -> str:
    """Return the digest of what JSON can hold, whatever the order of its keys."""
    return hashlib.blake2b(json.dumps(table, sort_keys=True).encode(), digest_size=16).hexdigest()


def _stamp(path: Path) -> list[Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return [file.tell(), f"sha256:{digest}"]
