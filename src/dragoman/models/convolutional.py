"""Convolutional translation: Gehring et al. 2017. Sections and equations in this file are that paper's.

Every layer sees k neighbouring positions, and all positions are computed at once. In a dilated stack the
positions of each layer are k times as far apart as in the layer before, so L
layers see k^L positions.

Unlike the paper, weights are not normalised and the gradients of the encoder are not scaled.

B batch, S source length, T target length, N decoding rows, E model width, V vocabulary, k kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.models.layers.dropout import Dropout
from dragoman.models.layers.embeddings import embeddings
from dragoman.models.layers.linear import Layers
from dragoman.models.layers.masks import padding_bias, visible
from dragoman.models.layers.memory import Memory, PerSentence, Shared
from dragoman.models.layers.positions import on_input
from dragoman.models.shapes import ConvolutionalConfig

_HALF = math.sqrt(0.5)  # keeps the variance of a sum of two, section 3.4


class Convolution(nn.Module):
    """Map k positions to one with a gated linear unit (Dauphin et al. 2017), section 3.2.

    A linear map takes the k vectors side by side to (a, b). The output is a * sigmoid(b).
    """

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.kernel, self.stride = config.kernel, config.kernel**layer if config.dilated else 1
        self.reach = (self.kernel - 1) * self.stride  # the output is this much shorter than the input
        self.linear = nn.Linear(self.kernel * config.d_model, 2 * config.d_model)
        self.dropout = Dropout(config.dropout)
        # Initialisation assumes that a GLU quarters the variance and that dropout scales it (section 3.5).
        fan_in = self.kernel * config.d_model
        nn.init.normal_(self.linear.weight, std=math.sqrt(4 * (1 - config.dropout) / fan_in))
        nn.init.zeros_(self.linear.bias)

    def forward(self, x_BTE: Tensor) -> Tensor:
        """out_BTE, `reach` shorter than `x_BTE`."""
        x_BTE = self.dropout(x_BTE)
        length = x_BTE.shape[1] - self.reach
        shifted = [x_BTE[:, i * self.stride : i * self.stride + length] for i in range(self.kernel)]
        return nn.functional.glu(self.linear(torch.cat(shifted, -1)))


class ConvolutionalEncoderLayer(nn.Module):
    """A convolution over equally many neighbours on both sides, added to its input."""

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.convolution = Convolution(config, layer)

    def forward(self, x_BSE: Tensor, visible_BS1: Tensor) -> Tensor:
        """out_BSE."""
        side = self.convolution.reach // 2
        padded = nn.functional.pad(x_BSE * visible_BS1, (0, 0, side, side))
        out_BSE: Tensor = (self.convolution(padded) + x_BSE) * _HALF
        return out_BSE


class ConvolutionalAttention(nn.Module):
    """The weights of each target position on the source positions: eq. 1."""

    def forward(self, query_BTE: Tensor, keys_BSE: Tensor, bias_B1S: Tensor) -> Tensor:
        """weights_BTS."""
        return (query_BTE @ keys_BSE.transpose(1, 2) + bias_B1S).softmax(-1)


@dataclass(frozen=True)
class ConvolutionalMemory(Memory):
    """Also holds the values of attention: the output of the encoder plus the embeddings."""

    values_BSE: Tensor


@dataclass(frozen=True)
class ConvolutionalSource(PerSentence):
    """The encoded source, which decoding reads at every step."""

    keys_BSE: Tensor
    values_BSE: Tensor
    bias_B1S: Tensor  # -inf on padding
    length_B: Tensor


class ConvolutionalDecoderLayer(nn.Module):
    """A convolution over earlier positions, then attention to the source, section 3.3."""

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.convolution = Convolution(config, layer)
        self.query = nn.Linear(config.d_model, config.d_model)
        self.weights = ConvolutionalAttention()
        self.context = nn.Linear(config.d_model, config.d_model)
        for linear in (self.query, self.context):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(
        self, x_BTE: Tensor, before_BRE: Tensor, word_BTE: Tensor, shared: Shared[ConvolutionalSource]
    ) -> Tensor:
        """out_BTE. `before_BRE` are the inputs at the `reach` positions before, `word_BTE` the embeddings."""
        h_BTE = self.convolution(torch.cat((before_BRE, x_BTE), 1))
        source = shared.source
        # Section 3.3: d = W h + b + g, and the weights are the softmax of d . z. Section 3.4: a mean of m
        # vectors varies less than one of them, so it is scaled by m sqrt(1 / m).
        query = shared.group((self.query(h_BTE) + word_BTE) * _HALF)
        context = self.weights(query, source.keys_BSE, source.bias_B1S) @ source.values_BSE
        context = context * source.length_B.sqrt().to(context.dtype)[:, None, None]
        h_BTE = (h_BTE + self.context(context.view_as(h_BTE))) * _HALF
        out_BTE: Tensor = (h_BTE + x_BTE) * _HALF
        return out_BTE


@dataclass
class ConvolutionalState:
    """A decoder between two steps."""

    before: list[Tensor]  # one for each layer: its inputs at the positions it still sees, (N, reach, E)
    shared: Shared[ConvolutionalSource]
    length: int = 0

    def select(self, rows_N: Tensor) -> ConvolutionalState:
        """Return the state of these rows. They may repeat, reorder and drop rows."""
        before = [tensor.index_select(0, rows_N) for tensor in self.before]
        return ConvolutionalState(before, self.shared.select(rows_N), self.length)


class Convolutional(nn.Module):
    """An encoder and a decoder of convolutions. Implements `Seq2Seq`."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.config = config
        self.target_embedding, self.source_embedding, self.logits = embeddings(config)
        self.source_positions = on_input(config.positions, config.d_model)
        self.target_positions = on_input(config.positions, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = Layers(ConvolutionalEncoderLayer(config, i) for i in range(config.encoder_layers))
        self.decoder = Layers(ConvolutionalDecoderLayer(config, i) for i in range(config.decoder_layers))

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> ConvolutionalMemory:
        """Read the sources. Positions from `source_len_B` on are padding, which counts as zeros."""
        visible_BS = visible(source_BS, source_len_B)
        word_BSE = self._embed(source_BS, self.source_embedding, self.source_positions, 0, source_len_B)
        x_BSE, visible_BS1 = word_BSE, visible_BS[:, :, None].to(word_BSE.dtype)
        for layer in self.encoder:
            x_BSE = layer(x_BSE, visible_BS1)
        return ConvolutionalMemory(x_BSE, visible_BS, (x_BSE + word_BSE) * _HALF)

    def decode(self, target_BT: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        logits_BTV: Tensor = self.logits(self.decode_states(target_BT, memory))
        return logits_BTV

    def decode_states(self, target_BT: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """states_BTE, the input of `logits`."""
        return self._read(target_BT, self.start(memory, target_BT.shape[1]))[0]

    def forward(self, source_BS: Tensor, source_len_B: Tensor, target_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.decode(target_BT, self.encode(source_BS, source_len_B))

    def start(self, memory: ConvolutionalMemory, max_len: int) -> ConvolutionalState:
        """Return the state before the first token: zeros at earlier positions."""
        states_BSE, width = memory.states_BSE, self.config.d_model
        bias_B1S = padding_bias(memory.visible_BS, states_BSE.dtype)[:, 0]
        before = [
            states_BSE.new_zeros(len(states_BSE), layer.convolution.reach, width) for layer in self.decoder
        ]
        source = ConvolutionalSource(states_BSE, memory.values_BSE, bias_B1S, memory.visible_BS.sum(1))
        return ConvolutionalState(before, Shared.one_row_each(source, memory))

    def step(self, token_N: Tensor, state: ConvolutionalState) -> tuple[Tensor, ConvolutionalState]:
        """logits_NV, at least float32, after one more token in each row. Uses up `state`."""
        x_N1E, state = self._read(token_N[:, None], state)
        logits_NV = self.logits(x_N1E[:, 0])
        return logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32)), state

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.logits.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the layers; the embeddings may be finer."""
        return self.decoder[0].query.weight.dtype

    def _embed(
        self,
        token_BT: Tensor,
        embedding: nn.Embedding,
        positions: nn.Module,
        start: int,
        source_len_B: Tensor,
    ) -> Tensor:
        """Words plus positions, of variance 1 / E (section 3.5): so small that attention starts uniform."""
        root = math.sqrt(self.config.d_model)
        x_BTE: Tensor = self.dropout(positions(embedding(token_BT) * root, start, source_len_B) / root)
        return x_BTE.to(self.dtype)

    def _read(self, token_NT: Tensor, state: ConvolutionalState) -> tuple[Tensor, ConvolutionalState]:
        """Return the input of `logits` after each token, and the state after the last."""
        shared, length = state.shared, state.length
        x_NTE = word_NTE = self._embed(
            token_NT, self.target_embedding, self.target_positions, length, shared.source.length_B
        )
        before = []
        for layer, before_NRE in zip(self.decoder, state.before, strict=True):
            before.append(torch.cat((before_NRE, x_NTE), 1)[:, x_NTE.shape[1] :])
            x_NTE = layer(x_NTE, before_NRE, word_NTE, shared)
        return self.dropout(x_NTE), ConvolutionalState(before, shared, length + token_NT.shape[1])
