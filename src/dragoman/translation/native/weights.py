"""Weights where the engine reads them, without a copy: of a model folder, mapped to memory, or of a model."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.base.errors import ModelError
from dragoman.translation.folder.header import Outline, read_header

if TYPE_CHECKING:
    from dragoman.models.folder.weights import HasWeights


class Placed(NamedTuple):
    """A weight and where it is in memory."""

    outline: Outline
    address: int


class PlacedWeights(NamedTuple):
    """Weights by name. `memory` keeps them where they are."""

    weights: Mapping[str, Placed]
    memory: Any
    mapped: bool = False  # from a file: pages may be given back


def map_weights(path: Path) -> PlacedWeights:
    """Map a safetensors file. Raises ModelError if it is missing or damaged."""
    header = read_header(path)
    try:
        with path.open("rb") as file:
            # A private, writable mapping, because ctypes takes no address of a read-only one.
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path}: cannot be read as weights ({error})",
            hint="was it copied whole? restore it or train again",
        ) from error
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    weights = {
        name: Placed(outline=outline, address=start + outline.place) for name, outline in header.items()
    }
    return PlacedWeights(weights=weights, memory=memory, mapped=True)


def place_weights(model: HasWeights) -> PlacedWeights:
    """Return the weights of a model. They share its memory if it is on the CPU."""
    from dragoman.models.folder.weights import outlines, weights_of

    weights = {name: weight.cpu().contiguous() for name, weight in weights_of(model).items()}
    placed = {name: Placed(one, weights[name].data_ptr()) for name, one in outlines(weights).items()}
    return PlacedWeights(weights=placed, memory=weights)
