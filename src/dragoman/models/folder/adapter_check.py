"""Check that an adapter folder is whole, and summarise it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dragoman.base.errors import ModelError
from dragoman.models.adapter import DOWN, UP, WEIGHT
from dragoman.models.folder.check import Check, attempted, finite, outcome
from dragoman.translation.folder.adapter import (
    ADAPTER_WEIGHTS,
    AdapterConfig,
    check_adapter_digest,
    read_adapter_config,
)
from dragoman.translation.folder.config import ADAPTER
from dragoman.translation.folder.fit import misfits
from dragoman.translation.folder.header import Outline, read_header


def check_adapter_folder(folder: Path) -> list[Check]:
    """Return all checks of an adapter folder, in order. Whether it fits a model is not among them."""
    return list(_checks(Path(folder)))


def _checks(folder: Path) -> Iterator[Check]:
    path = folder / ADAPTER_WEIGHTS
    config, check = attempted(ADAPTER, lambda: read_adapter_config(folder))
    yield check
    header, check = attempted(ADAPTER_WEIGHTS, lambda: read_header(path))
    yield check
    if config is not None:
        yield _digest(folder, config)
        if header is not None:
            yield _shapes(config, header)
    if header is not None:
        yield finite(header, path)


def _digest(folder: Path, config: AdapterConfig) -> Check:
    try:
        check_adapter_digest(folder, config)
    except ModelError as error:
        return Check(name="digest of weights", status="fault", text=str(error))
    return Check(name="digest of weights", status="ok", text=config.weights)


def _shapes(config: AdapterConfig, header: Mapping[str, Outline]) -> Check:
    """Compare names, shapes and types with an adapter for a model with these layers."""
    layers = {name.removesuffix(end) for name in header for end in (DOWN, UP) if name.endswith(end)}
    sides = {layer: (header.get(layer + UP), header.get(layer + DOWN)) for layer in layers}
    model = {
        layer + WEIGHT: (up.shape[0], down.shape[1])
        for layer, (up, down) in sides.items()
        if up is not None and down is not None and len(up.shape) == len(down.shape) == 2
    }
    needed = config.shape.weights(model)
    outlines = {name: Outline(shape=shape, dtype="float32") for name, shape in needed.items()}
    found = misfits(header, outlines)
    faults = [*found.names, *found.shapes, *found.dtypes]
    if not header:
        faults.append("the file has no weights")
    return outcome("names and shapes of weights", faults, f"{len(model)} layers, each with its two matrices")
