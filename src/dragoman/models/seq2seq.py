"""The protocol every architecture meets: encode a source, then decode a target whole or step by step.

Training calls `encode` and `decode_states`. A search calls `encode` and `start`, then `step` until it is
done. Neither depends on the architecture.

B batch, S source length, T target length, N rows (sentences x hypotheses), E model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self, TypeVar, overload

import torch
from torch import Tensor, nn

from dragoman.models.convolutional import Convolutional
from dragoman.models.layers.memory import Memory
from dragoman.models.recurrent import Recurrent
from dragoman.models.shapes import (
    Architecture,
    ConvolutionalConfig,
    RecurrentConfig,
    SSRUConfig,
    TransformerConfig,
)
from dragoman.models.transformer import Transformer


class State(Protocol):
    """A decoder between two steps: N rows, each with its history."""

    def select(self, rows_N: Tensor) -> Self:
        """Return the state whose row i continues row `rows_N[i]`. Rows may repeat, move and be dropped."""
        ...


M = TypeVar("M", bound=Memory)
S = TypeVar("S", bound=State)


class Seq2Seq(Protocol[M, S]):
    """An encoder-decoder with memory M and decoding state S.

    `decode(target_BT, encode(source_BS, source_len_B))` is the forward pass.
    """

    @property
    def config(self) -> Architecture: ...
    @property
    def source_embedding(self) -> nn.Embedding: ...
    @property
    def target_embedding(self) -> nn.Embedding: ...
    @property
    def logits(self) -> nn.Linear:
        """The layer before the softmax."""
        ...

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> M:
        """Read the sources. Positions from `source_len_B` on are padding."""
        ...

    def decode(self, target_BT: Tensor, memory: M) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        ...

    def decode_states(self, target_BT: Tensor, memory: M) -> Tensor:
        """states_BTE, the input of `logits`."""
        ...

    def start(self, memory: M, max_len: int) -> S:
        """The state before the first token, one row a sentence. At most `max_len` steps may follow."""
        ...

    def step(self, token_N: Tensor, state: S) -> tuple[Tensor, S]:
        """logits_NV, at least float32, of the token after `token_N`, and the next state.

        Uses up `state`: its buffers may be reused.
        """
        ...

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    # The rest is as in torch.nn.Module.

    @property
    def training(self) -> bool: ...
    def parameters(self) -> Iterator[nn.Parameter]: ...
    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...
    def modules(self) -> Iterator[nn.Module]: ...
    def named_modules(self) -> Iterator[tuple[str, nn.Module]]: ...
    def train(self, mode: bool = True) -> Self: ...
    def eval(self) -> Self: ...
    def to(self, device: torch.device) -> Self: ...
    def zero_grad(self) -> None: ...


AnySeq2Seq = Seq2Seq[Any, Any]


@overload
def build_model(config: TransformerConfig | SSRUConfig) -> Transformer: ...
@overload
def build_model(config: RecurrentConfig) -> Recurrent: ...
@overload
def build_model(config: ConvolutionalConfig) -> Convolutional: ...
def build_model(config: Architecture) -> Transformer | Recurrent | Convolutional:
    """Return a model with new weights. The same `torch.manual_seed` gives the same weights."""
    match config:
        case TransformerConfig() | SSRUConfig():
            return Transformer(config)
        case RecurrentConfig():
            return Recurrent(config)
        case ConvolutionalConfig():
            return Convolutional(config)
