"""The shape of an adapter: which matrices of a model it changes, and with which rank. Imports no torch.

models/lora.py has the arithmetic. A layer NAME gets two weights: NAME.lora.down is its A, NAME.lora.up its B.
An adapter for new languages also has NAME.rows, the rows of new tokens, of each matrix that has a row for
each token, and the bias of the output layer, which opens tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from dragoman.base.errors import ConfigError
from dragoman.base.options import Option, Options, show

AdaptedPart = Literal["attention", "feed_forward"]

# The names of the linear layers of each part. The SSRU replaces self-attention. In the other
# architectures, "attention" is to the source, and "feed_forward" are the cells or the convolutions.
ADAPTED: dict[AdaptedPart, tuple[str, ...]] = {
    "attention": ("project", "output", "candidate", "forget", "of_source", "of_target", "query", "context"),
    "feed_forward": ("inner", "outer", "input", "recurrent", "join", "linear"),
}
BLOCKS = {"project": 3}  # layers that store several matrices as one: W^Q, W^K and W^V, as `block_sizes` says
WEIGHT, DOWN, UP = ".weight", ".lora.down", ".lora.up"  # end the names of W, A and B
ROWS = ".rows"
BIAS = "logits.bias"
# The matrices with a row for each token, and the vocabulary: 0 source, 1 target.
ROWS_OF = {"source_embedding.weight": 0, "target_embedding.weight": 1, "logits.weight": 1}


def block_sizes(outputs: int, inputs: int, blocks: int) -> list[int]:
    """Outputs of each block of a layer. W^Q is square; W^K and W^V may be smaller, and are equal."""
    return [outputs] if blocks == 1 else [inputs, *[(outputs - inputs) // (blocks - 1)] * (blocks - 1)]


@dataclass(frozen=True, kw_only=True)
class AdapterShape(Options, section="adapter"):
    """Rank and alpha of an adapter, and the parts of the model that it is on."""

    rank: Annotated[int, Option("Rank of the matrices, r.", at_least=1)]
    alpha: Annotated[float, Option("Their product is multiplied by alpha / rank.", above=0)]
    on: Annotated[tuple[AdaptedPart, ...], Option("The parts of the model that it is on.")] = (
        "attention",
        "feed_forward",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.on or len(set(self.on)) < len(self.on):
            raise ConfigError(
                f"adapter.on = {show(self.on)} cannot be used",
                hint=f"name one or more of {', '.join(ADAPTED)}, each once",
            )

    @property
    def scale(self) -> float:
        """The factor of the product of B and A."""
        return self.alpha / self.rank

    def changes(self, layer: str) -> bool:
        """Whether the adapter is on the layer of this name, such as "encoder.0.attention.project"."""
        return any(layer.rpartition(".")[2] in ADAPTED[part] for part in self.on)

    def weights(self, base: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """The names and shapes of the adapter's weights, from those of a model."""
        wanted: dict[str, tuple[int, ...]] = {}
        for name, shape in base.items():
            layer = name.removesuffix(WEIGHT)
            if layer != name and len(shape) == 2 and self.changes(layer):
                blocks = BLOCKS.get(layer.rpartition(".")[2], 1)
                wanted[layer + DOWN] = (blocks * self.rank, shape[1])
                wanted[layer + UP] = (shape[0], self.rank)
        return wanted
