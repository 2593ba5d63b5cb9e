"""The engine of a translator without and with each of its adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dragoman.base.errors import ConfigError
from dragoman.decoding.engine import Engine

if TYPE_CHECKING:
    from dragoman.folder.bundle import Bundle
    from dragoman.loading import Variant

LoadBundle = Callable[[], "Bundle"]


class Running(NamedTuple):
    """An engine, and what loads its PyTorch model if it has none. The model is loaded once."""

    engine: Engine
    load_bundle: LoadBundle | None


def running(
    engine: Engine, load_bundle: LoadBundle | None, adapters: Mapping[str, Variant]
) -> dict[str | None, Running]:
    """Return what runs without an adapter (None), and with each by its name."""
    each = {None: (engine, load_bundle)} | {name: (a.engine, a.load_bundle) for name, a in adapters.items()}
    return {name: Running(one, None if load is None else cache(load)) for name, (one, load) in each.items()}


def with_adapter(variants: Mapping[str | None, Running], name: str | None) -> Running:
    """Return what runs with an adapter. Raises ConfigError for one that is not loaded."""
    if name not in variants:
        known = ", ".join(one for one in variants if one is not None)
        raise ConfigError(
            f"adapter {name!r} is not loaded",
            hint=f"loaded are {known}" if known else "load it: Translator.load(MODEL, adapter=FOLDER)",
        )
    return variants[name]


def adapter_folders(
    adapter: str | Path | Mapping[str, str | Path] | None,
) -> tuple[str | None, dict[str, Path]]:
    """Return the name of the adapter to use at once, and the folders of all by their names."""
    if adapter is None:
        return None, {}
    if isinstance(adapter, Mapping):
        return None, {name: Path(folder) for name, folder in adapter.items()}
    name = Path(adapter).absolute().name
    return name, {name: Path(adapter)}
