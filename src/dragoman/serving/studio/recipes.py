"""The options of training.toml, to show and to compare. Another version of dragoman may have written them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.base.config import read_toml
from dragoman.base.errors import ConfigError
from dragoman.base.options import show

_LARGEST = 1 << 18  # bytes
_LONGEST = 300  # characters of a value


def recipe_at(path: Path) -> dict[str, Any]:
    """Return the tables of a recipe; empty if the file is missing, damaged or far too large."""
    try:
        return read_toml(path) if os.path.getsize(path) <= _LARGEST else {}
    except (ConfigError, OSError, RecursionError):
        return {}


def flat(tables: Mapping[str, Any]) -> dict[str, str]:
    """Return options by their full names, such as `model.heads`, with their values as TOML."""
    return dict(_flat(tables, ""))


def _flat(tables: Mapping[str, Any], section: str) -> Iterator[tuple[str, str]]:
    for key, value in tables.items():
        name = f"{section}.{key}" if section else key
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        else:
            shown = show(value)
            yield name, shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
