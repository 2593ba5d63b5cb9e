"""Several models as one: at each step their distributions over the next token are averaged.

B sentences, S source length, T target length, N rows, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

import torch
from torch import Tensor, nn

from dragoman.models.layers.memory import Memory
from dragoman.models.seq2seq import AnySeq2Seq, State
from dragoman.models.shapes import Architecture

Average = Literal["log-probabilities", "probabilities"]


@dataclass(frozen=True)
class EnsembleMemory(Memory):
    """The memory of each model. The fields of `Memory` come from the first."""

    members: tuple[Memory, ...]

    @classmethod
    def of(cls, members: Sequence[Memory]) -> Self:
        return cls(members[0].states_BSE, members[0].visible_BS, tuple(members))

    def select(self, sentences_B: Tensor) -> Self:
        return self.of([memory.select(sentences_B) for memory in self.members])


@dataclass(frozen=True)
class EnsembleState:
    """The state of each model."""

    members: tuple[State, ...]

    def select(self, rows_N: Tensor) -> EnsembleState:
        return EnsembleState(tuple(state.select(rows_N) for state in self.members))


class Ensemble(nn.Module):
    """A `Seq2Seq` of several models with the same vocabularies. They may have other architectures.

    Of their distributions it takes the geometric mean, scaled to sum to 1, if `average` is
    "log-probabilities", and the arithmetic mean if it is "probabilities". Embeddings, states and the layer
    before the softmax come from the first model.
    """

    def __init__(self, models: Sequence[AnySeq2Seq], average: Average = "log-probabilities") -> None:
        super().__init__()
        self.members = nn.ModuleList(cast("Sequence[nn.Module]", models))
        self.average = average

    @property
    def models(self) -> list[AnySeq2Seq]:
        """The models, in order."""
        return cast("list[AnySeq2Seq]", list(self.members))

    @property
    def config(self) -> Architecture:
        return self.models[0].config

    @property
    def source_embedding(self) -> nn.Embedding:
        return self.models[0].source_embedding

    @property
    def target_embedding(self) -> nn.Embedding:
        return self.models[0].target_embedding

    @property
    def logits(self) -> nn.Linear:
        return self.models[0].logits

    @property
    def device(self) -> torch.device:
        return self.models[0].device

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> EnsembleMemory:
        """Read the sources with each model."""
        return EnsembleMemory.of([model.encode(source_BS, source_len_B) for model in self.models])

    def decode(self, target_BT: Tensor, memory: EnsembleMemory) -> Tensor:
        """logits_BTV of the average."""
        each = zip(self.models, memory.members, strict=True)
        return averaged_logits([model.decode(target_BT, own) for model, own in each], self.average)

    def decode_states(self, target_BT: Tensor, memory: EnsembleMemory) -> Tensor:
        """states_BTE of the first model."""
        return self.models[0].decode_states(target_BT, memory.members[0])

    def start(self, memory: EnsembleMemory, max_len: int) -> EnsembleState:
        """The state before the first token, one row a sentence."""
        each = zip(self.models, memory.members, strict=True)
        return EnsembleState(tuple(model.start(own, max_len) for model, own in each))

    def step(self, token_N: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        """logits_NV of the average, and the next state."""
        stepped: list[tuple[Tensor, Any]] = [
            model.step(token_N, own) for model, own in zip(self.models, state.members, strict=True)
        ]
        logits_NV = averaged_logits([one[0] for one in stepped], self.average)
        return logits_NV, EnsembleState(tuple(one[1] for one in stepped))


def averaged_logits(logits: Sequence[Tensor], average: Average) -> Tensor:
    """Logits of the average of distributions over the last dimension.

    The softmax of the mean of logits is the geometric mean of the distributions, scaled to sum to 1.
    """
    stacked = torch.stack([one.to(torch.promote_types(one.dtype, torch.float32)) for one in logits])
    if average == "log-probabilities" or len(logits) == 1:
        return stacked.mean(0)
    return stacked.log_softmax(-1).logsumexp(0) - math.log(len(logits))


def leading(model: AnySeq2Seq) -> AnySeq2Seq:
    """The first model of an ensemble, or the model itself."""
    return model.models[0] if isinstance(model, Ensemble) else model
