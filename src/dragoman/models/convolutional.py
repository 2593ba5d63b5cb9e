"""Convolutional translation: Gehring et al. 2017. Sections in comments are that paper's.

Every layer sees k neighbouring positions, and all positions are computed at once. Words k^L apart meet
after L layers if each layer's positions stand k times as far apart as those of the layer before.

Weights are not normalised, as the paper's are, and the encoder's gradients not scaled.

B batch, S source length, T target length, N decoding rows, E model width, V vocabulary, k kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.models.attention import padding_bias
from dragoman.models.dropout import Dropout
from dragoman.models.embeddings import embeddings
from dragoman.models.memory import Memory, Shared, visible
from dragoman.models.positions import on_input
from dragoman.models.shapes import ConvolutionalConfig

_HALF = math.sqrt(0.5)  # keeps the variance of a sum of two, section 3.4


class Convolution(nn.Module):
    """k positions to one: a gated linear unit (Dauphin et al. 2017) over a window, section 3.2.

    A linear map of the k vectors side by side to (a, b), of which a * sigmoid(b) comes out.
    """

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.kernel, self.stride = config.kernel, config.kernel**layer if config.dilated else 1
        self.reach = (self.kernel - 1) * self.stride  # how many more positions than one go in
        self.linear = nn.Linear(self.kernel * config.d_model, 2 * config.d_model)
        self.dropout = Dropout(config.dropout)
        # Section 3.5: gates are taken to quarter the variance, and dropout to thin what is summed.
        fan_in = self.kernel * config.d_model
        nn.init.normal_(self.linear.weight, std=math.sqrt(4 * (1 - config.dropout) / fan_in))
        nn.init.zeros_(self.linear.bias)

    def forward(self, x_BTE: Tensor) -> Tensor:
        """out_BTE, `reach` shorter than `x_BTE`."""
        x_BTE = self.dropout(x_BTE)
        length = x_BTE.shape[1] - self.reach
        window = [x_BTE[:, i * self.stride : i * self.stride + length] for i in range(self.kernel)]
        return nn.functional.glu(self.linear(torch.cat(window, -1)))


class EncoderLayer(nn.Module):
    """A convolution over as many neighbours on either side, added to what came in."""

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.convolution = Convolution(config, layer)

    def forward(self, x_BSE: Tensor, visible_BS1: Tensor) -> Tensor:
        side = self.convolution.reach // 2
        padded = nn.functional.pad(x_BSE * visible_BS1, (0, 0, side, side))
        return (self.convolution(padded) + x_BSE) * _HALF  # type: ignore[no-any-return]


class Weights(nn.Module):
    """How much of each source position a target position takes in: eq. 1."""

    def forward(self, query_BTE: Tensor, keys_BSE: Tensor, bias_B1S: Tensor) -> Tensor:
        """weights_BTS."""
        return (query_BTE @ keys_BSE.transpose(1, 2) + bias_B1S).softmax(-1)


class DecoderLayer(nn.Module):
    """A convolution over what came before, then attention to the source, section 3.3."""

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.convolution = Convolution(config, layer)
        self.query = nn.Linear(config.d_model, config.d_model)
        self.weights = Weights()
        self.context = nn.Linear(config.d_model, config.d_model)
        for linear in (self.query, self.context):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x_BTE: Tensor, before_BRE: Tensor, word_BTE: Tensor, source: Shared) -> Tensor:
        """`before_BRE` are the inputs at the `reach` positions before; `word_BTE` are the embeddings."""
        h_BTE = self.convolution(torch.cat((before_BRE, x_BTE), 1))
        keys_BSE, values_BSE, bias_B1S, length_B = source.tensors
        # Eq. 1: d = W h + b + g, and the weights are the softmax of d . z. Section 3.4: a mean of m
        # vectors varies less than one of them, and is scaled by m sqrt(1 / m).
        query = source.group((self.query(h_BTE) + word_BTE) * _HALF)
        context = self.weights(query, keys_BSE, bias_B1S) @ values_BSE
        context = context * length_B.sqrt().to(context.dtype)[:, None, None]
        h_BTE = (h_BTE + self.context(context.view_as(h_BTE))) * _HALF
        return (h_BTE + x_BTE) * _HALF  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ConvolutionalMemory(Memory):
    """And what attention sums: the encoder's output and the words it stands for."""

    values_BSE: Tensor


@dataclass
class ConvolutionalState:
    """A decoder between two steps."""

    before: list[Tensor]  # one a layer: its inputs at the positions before that it still sees, (N, reach, E)
    source: Shared  # keys_BSE, values_BSE, bias_B1S, source_len_B
    length: int = 0

    def select(self, rows_N: Tensor) -> ConvolutionalState:
        """Rows may be repeated, reordered and left out; those of one sentence stand side by side."""
        before = [tensor.index_select(0, rows_N) for tensor in self.before]
        return ConvolutionalState(before, self.source.select(rows_N), self.length)


class Convolutional(nn.Module):
    """An encoder and a decoder of convolutions. Meets `Seq2Seq`."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.config = config
        self.target_embedding, self.source_embedding, self.logits = embeddings(config)
        self.source_positions = on_input(config.positions, config.d_model)
        self.target_positions = on_input(config.positions, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config, i) for i in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, i) for i in range(config.decoder_layers))

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> ConvolutionalMemory:
        """Reads the sources; positions from `source_len_B` on are padding and count as nothing."""
        visible_BS = visible(source_BS, source_len_B)
        word_BSE = self._embed(source_BS, self.source_embedding, self.source_positions, 0, source_len_B)
        x_BSE, visible_BS1 = word_BSE, visible_BS[:, :, None].to(word_BSE.dtype)
        for layer in self.encoder:
            x_BSE = layer(x_BSE, visible_BS1)
        return ConvolutionalMemory(x_BSE, visible_BS, (x_BSE + word_BSE) * _HALF)

    def decode(self, target_BT: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        return self.logits(self.decode_states(target_BT, memory))  # type: ignore[no-any-return]

    def decode_states(self, target_BT: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """states_BTE: what `logits` projects to the vocabulary."""
        return self._read(target_BT, self.start(memory, target_BT.shape[1]))[0]

    def forward(self, source_BS: Tensor, source_len_B: Tensor, target_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.decode(target_BT, self.encode(source_BS, source_len_B))

    def start(self, memory: ConvolutionalMemory, max_len: int) -> ConvolutionalState:
        """The state before the first token: nothing came before."""
        states_BSE, width = memory.states_BSE, self.config.d_model
        bias_B1S = padding_bias(memory.visible_BS, states_BSE.dtype)[:, 0]
        before = [
            states_BSE.new_zeros(len(states_BSE), layer.convolution.reach, width)  # type: ignore[union-attr, arg-type]
            for layer in self.decoder
        ]
        source = Shared.of(states_BSE, memory.values_BSE, bias_B1S, memory.visible_BS.sum(1))
        return ConvolutionalState(before, source)

    def step(self, token_N: Tensor, state: ConvolutionalState) -> tuple[Tensor, ConvolutionalState]:
        """logits_NV after one more token a row. The state passed in is spent."""
        x_N1E, state = self._read(token_N[:, None], state)
        logits_NV = self.logits(x_N1E[:, 0])
        return logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32)), state

    @property
    def dtype(self) -> torch.dtype:
        """What the layers compute in; the embeddings may be finer."""
        return self.decoder[0].query.weight.dtype  # type: ignore[union-attr, return-value]

    def _embed(
        self,
        token_BT: Tensor,
        embedding: nn.Embedding,
        positions: nn.Module,
        start: int,
        source_len_B: Tensor,
    ) -> Tensor:
        """Words and positions, of variance 1 / E: so small (section 3.5) that attention begins even."""
        root = math.sqrt(self.config.d_model)
        x_BTE = positions(embedding(token_BT) * root, start, source_len_B) / root
        return self.dropout(x_BTE).to(self.dtype)  # type: ignore[no-any-return]

    def _read(self, token_NT: Tensor, state: ConvolutionalState) -> tuple[Tensor, ConvolutionalState]:
        """What `logits` reads after each of the tokens, and the state after them all."""
        *_, source_len_B = state.source.tensors
        x_NTE = word_NTE = self._embed(
            token_NT, self.target_embedding, self.target_positions, state.length, source_len_B
        )
        before = []
        for layer, before_NRE in zip(self.decoder, state.before, strict=True):
            before.append(torch.cat((before_NRE, x_NTE), 1)[:, x_NTE.shape[1] :])
            x_NTE = layer(x_NTE, before_NRE, word_NTE, state.source)
        return self.dropout(x_NTE), ConvolutionalState(before, state.source, state.length + token_NT.shape[1])
