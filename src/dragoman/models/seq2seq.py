"""The protocol every architecture meets: encode a source, then decode it whole or a step at a time.

Training calls `encode` and `decode`. Search calls `encode`, `start` and then `step` until it is
done, and never asks which architecture it drives.

B batch, S source length, T target length, N rows (sentences x hypotheses), E model width, V vocabulary.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, overload

from torch import Tensor, nn

from dragoman.models.convolutional import Convolutional
from dragoman.models.memory import Memory
from dragoman.models.recurrent import Recurrent
from dragoman.models.shapes import (
    Architecture,
    ConvolutionalConfig,
    ModelConfig,
    RecurrentConfig,
    TransformerConfig,
)
from dragoman.models.transformer import Transformer


class State(Protocol):
    """A decoder between two steps: N rows, each with its history."""

    def select(self, rows_N: Tensor) -> Self:
        """The state whose row i continues row `rows_N[i]`: expands, reorders and prunes alike."""
        ...


class Seq2Seq(Protocol):
    """An encoder-decoder. `decode(target_BT, encode(...))` is the forward pass."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def source_embedding(self) -> nn.Embedding: ...
    @property
    def target_embedding(self) -> nn.Embedding: ...

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> Memory:
        """Reads the sources; positions from `source_len_B` on are padding."""
        ...

    def decode(self, target_BT: Tensor, memory: Any) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        ...

    def decode_states(self, target_BT: Tensor, memory: Any) -> Tensor:
        """states_BTE, which `logits` projects to the vocabulary: `decode` before its last layer."""
        ...

    @property
    def logits(self) -> nn.Linear:
        """The layer before the softmax."""
        ...

    def start(self, memory: Any, max_len: int) -> State:
        """The state before the first token, one row a sentence; `max_len` steps may follow."""
        ...

    def step(self, token_N: Tensor, state: Any) -> tuple[Tensor, State]:
        """logits_NV (float32) of the token after `token_N`, and the state after it.

        The state passed in is spent: its buffers may be reused.
        """
        ...


@overload
def build(config: TransformerConfig) -> Transformer: ...
@overload
def build(config: RecurrentConfig) -> Recurrent: ...
@overload
def build(config: ConvolutionalConfig) -> Convolutional: ...
def build(config: Architecture) -> Transformer | Recurrent | Convolutional:
    """A freshly initialised model; draw its weights under `torch.manual_seed` for the same ones again."""
    match config:
        case TransformerConfig():
            return Transformer(config)
        case RecurrentConfig():
            return Recurrent(config)
        case ConvolutionalConfig():
            return Convolutional(config)
