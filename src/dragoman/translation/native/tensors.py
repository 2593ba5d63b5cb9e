"""The weights of a PyTorch model, for the native engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.translation.native.weights import Placed, PlacedWeights

if TYPE_CHECKING:
    from dragoman.models.folder.weights import HasWeights


def place_weights(model: HasWeights) -> PlacedWeights:
    """Return the weights of a model. They share its memory if it is on the CPU."""
    from dragoman.models.folder.weights import outlines, weights_of

    weights = {name: weight.cpu().contiguous() for name, weight in weights_of(model).items()}
    outline = outlines(weights)
    return PlacedWeights(
        weights={
            name: Placed(outline=outline[name], address=weight.data_ptr()) for name, weight in weights.items()
        },
        memory=weights,
    )
