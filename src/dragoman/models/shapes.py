"""The shapes of models: one configuration for each architecture.

Imports no torch, so that a recipe or a model folder can be checked at once; `build_model` in
`models/seq2seq.py` makes the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args, get_origin, get_type_hints

from dragoman.base.errors import ConfigError

Tie = Literal["all", "decoder", "none"]
Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "swiglu"]
SinusoidLayout = Literal["sinusoidal", "sinusoidal-halves"]
InputPositions = Literal["sinusoidal", "sinusoidal-halves", "learned", "index", "fraction", "none"]
AnyPositions = Literal[InputPositions, "relative", "t5", "alibi", "rotary"]
Cell = Literal["lstm", "gru"]
AttentionScore = Literal["none", "dot", "general", "additive"]

_WIDEST = 20_000  # positions that a dilated stack sees; more than any sentence has


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What search and training need to know of any architecture."""

    architecture: str
    source_vocab: int = 0  # as many as the tokenizer has
    target_vocab: int = 0
    d_model: int = 512
    dropout: float = 0.1
    tie: Tie = "all"  # which embeddings share weights, section 3.4
    output_bias: bool = False
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if get_origin(kind) is Literal and value not in get_args(kind):
                # A mistyped activation would be none at all.
                choices = ", ".join(get_args(kind))
                raise ConfigError(f'model.{name} = "{value}"', hint=f"choose one of: {choices}")
            if kind is float and not 0 <= value < 1:
                raise ConfigError(f"model.{name} = {value}", hint="0 <= dropout < 1 is needed")
            if kind is int and name.endswith(("_vocab", "_id")):
                self._check_id(name, value)
            elif kind in (int, int | None) and value is not None and value < 1:
                raise ConfigError(f"model.{name} = {value}", hint="it must be at least 1")
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ConfigError(
                f'model.tie = "all" with vocabularies of {self.source_vocab} and {self.target_vocab}',
                hint='set tokenizer.shared=true, or model.tie="decoder"',
            )

    def _check_id(self, name: str, value: int) -> None:
        if value < 0:
            raise ConfigError(f"model.{name} = {value}", hint="it must not be below 0")
        if name.endswith("_id") and 0 < self.target_vocab <= value:
            raise ConfigError(
                f"model.{name} = {value} in a vocabulary of {self.target_vocab}",
                hint="an id is a number below the size of the vocabulary",
            )


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ModelConfig):
    """The shape of a Transformer (table 3 names the same quantities)."""

    architecture: Literal["transformer"] = "transformer"
    d_ff: int = 2048
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    attention_dropout: float = 0.0  # on the attention weights
    activation_dropout: float = 0.0  # inside the feed-forward network
    norm: Norm = "post"
    activation: Activation = "relu"
    positions: AnyPositions = "sinusoidal"
    window: int | None = None  # how many positions each sees in self-attention, section 4; all if not set
    attention_bias: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_model % self.heads:
            raise ConfigError(
                f"model.d_model = {self.d_model} is no multiple of model.heads = {self.heads}",
                hint="every head gets d_model / heads dimensions",
            )
        if self.positions == "rotary" and self.d_model // self.heads % 2:
            raise ConfigError(
                f'model.positions = "rotary" with heads of {self.d_model // self.heads} dimensions',
                hint="they are turned in pairs: choose model.heads so that d_model / heads is even",
            )


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(ModelConfig):
    """The shape of a recurrent encoder and decoder, of the same width and depth."""

    architecture: Literal["recurrent"] = "recurrent"
    cell: Cell = "lstm"
    layers: int = 2
    bidirectional: bool = True  # the encoder reads both ways, with half the width each
    reverse_source: bool = False  # Sutskever et al. 2014, section 3.3
    attention: AttentionScore = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bidirectional and self.reverse_source:
            raise ConfigError(
                "model.reverse_source = true, and model.bidirectional reads both ways already",
                hint="set model.bidirectional=false, or leave the source as it is",
            )
        if self.bidirectional and self.d_model % 2:
            raise ConfigError(
                f"model.d_model = {self.d_model} is odd, and model.bidirectional halves it",
                hint="choose an even width, or model.bidirectional=false",
            )


@dataclass(frozen=True, kw_only=True)
class ConvolutionalConfig(ModelConfig):
    """The shape of a convolutional encoder and decoder."""

    architecture: Literal["convolutional"] = "convolutional"
    encoder_layers: int = 4
    decoder_layers: int = 4
    kernel: int = 3
    dilated: bool = False  # layer l skips kernel^l - 1 positions between those it sees, from l = 0
    positions: InputPositions = "learned"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel % 2 == 0:
            raise ConfigError(
                f"model.kernel = {self.kernel}", hint="an odd number has as many neighbours on either side"
            )
        layers = max(self.encoder_layers, self.decoder_layers)
        if self.dilated and self.kernel**layers > _WIDEST:
            raise ConfigError(
                f"model.dilated = true with {layers} layers of kernel {self.kernel}: the last sees "
                f"{self.kernel**layers:,} positions",
                hint="take fewer layers or a smaller kernel",
            )


Architecture = TransformerConfig | RecurrentConfig | ConvolutionalConfig
