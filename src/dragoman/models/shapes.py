"""What the configuration of every architecture has: vocabularies, width, shared embeddings, special ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args, get_origin, get_type_hints

from dragoman.base.errors import ConfigError

Tie = Literal["all", "decoder", "none"]


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
