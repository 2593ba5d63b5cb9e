"""Recurrent translation, which the Transformer replaced: Sutskever et al. 2014, and with attention
Bahdanau et al. 2015 and Luong et al. 2015.

The encoder reads a source word by word into a state of fixed size. The decoder starts from the last state.
Without attention it gets nothing else. With attention it also reads every state of the encoder.

B batch, S source length, T target length, N decoding rows, E model width, G gates x width, V vocabulary,
L layers, P parts of a state (LSTM: output and cell; GRU: output).
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
from dragoman.models.shapes import AttentionScore, RecurrentConfig


class LSTM(nn.Module):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; with forget gates, Gers et al. 2000)."""

    parts = 2

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.input = nn.Linear(width, 4 * hidden)
        self.recurrent = nn.Linear(hidden, 4 * hidden, bias=False)
        initialise(self, 4)
        with torch.no_grad():  # at first the gates forget little (Jozefowicz et al. 2015)
            self.input.bias[hidden : 2 * hidden] = 1.0

    def step(self, word_NG: Tensor, state_NPE: Tensor) -> Tensor:
        """Return the state after one more word x, whose part in the gates is `word_NG` = `input`(x)."""
        output_NE, cell_NE = state_NPE.unbind(1)
        gates_NG = word_NG + self.recurrent(output_NE.to(word_NG.dtype))
        enter, forget, candidate, leave = gates_NG.to(cell_NE.dtype).chunk(4, 1)
        cell_NE = forget.sigmoid() * cell_NE + enter.sigmoid() * candidate.tanh()
        return torch.stack((leave.sigmoid() * cell_NE.tanh(), cell_NE), 1)


class GRU(nn.Module):
    """Gated recurrent unit (Cho et al. 2014). The reset gate follows the product, as in most versions."""

    parts = 1

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.input = nn.Linear(width, 3 * hidden)
        self.recurrent = nn.Linear(hidden, 3 * hidden)
        initialise(self, 3)

    def step(self, word_NG: Tensor, state_NPE: Tensor) -> Tensor:
        """Return the state after one more word x, whose part in the gates is `word_NG` = `input`(x)."""
        output_NE = state_NPE[:, 0]
        hidden_NG = self.recurrent(output_NE.to(word_NG.dtype)).to(output_NE.dtype)
        word_NG = word_NG.to(output_NE.dtype)
        width = output_NE.shape[1]
        reset, update = (word_NG + hidden_NG)[:, : 2 * width].sigmoid().chunk(2, 1)
        candidate = (word_NG[:, 2 * width :] + reset * hidden_NG[:, 2 * width :]).tanh()
        return torch.lerp(candidate, output_NE, update)[:, None]


def initialise(cell: LSTM | GRU, gates: int) -> None:
    """Initialise each gate separately: Xavier matrices for words, orthogonal ones for states."""
    for block in cell.input.weight.chunk(gates):
        nn.init.xavier_uniform_(block)
    for block in cell.recurrent.weight.chunk(gates):
        nn.init.orthogonal_(block)
    for linear in (cell.input, cell.recurrent):
        if linear.bias is not None:
            nn.init.zeros_(linear.bias)


def read_words(cell: LSTM | GRU, x_BTE: Tensor, state_BPE: Tensor) -> Tensor:
    """states_BTPE: the state after each word of `x_BTE`, read from left to right. Part 0 is the output."""
    states = []
    for word_BG in cell.input(x_BTE).unbind(1):  # one product for all words
        state_BPE = cell.step(word_BG, state_BPE)
        states.append(state_BPE)
    return torch.stack(states, 1)


def backwards(x_BSE: Tensor, length_B: Tensor) -> Tensor:
    """Reverse each sentence. Padding stays at the end."""
    position_S = torch.arange(x_BSE.shape[1], device=x_BSE.device)
    mirrored_BS = length_B[:, None] - 1 - position_S
    from_BS = torch.where(mirrored_BS >= 0, mirrored_BS, position_S)
    return x_BSE.gather(1, from_BS[:, :, None].expand_as(x_BSE))


class ReadingLayer(nn.Module):
    """A layer of the encoder: one cell, or two of half the width that read in opposite directions."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        directions = 2 if config.bidirectional else 1
        self.directions = Layers(_cell(config, config.d_model // directions) for _ in range(directions))

    def forward(self, x_BSE: Tensor, length_B: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs, (B, S, E), and the state after the last word, (B, P, E)."""
        outputs, last = [], []
        # States are at least float32, because they accumulate over the words.
        dtype = torch.promote_types(x_BSE.dtype, torch.float32)
        for number, cell in enumerate(self.directions):
            x = backwards(x_BSE, length_B) if number else x_BSE
            zeros_BPE = x.new_zeros(len(x), cell.parts, cell.recurrent.in_features, dtype=dtype)
            states_BSPE = read_words(cell, x, zeros_BPE)
            output_BSE = states_BSPE[:, :, 0]
            outputs.append(backwards(output_BSE, length_B) if number else output_BSE)
            last.append(states_BSPE[torch.arange(len(x), device=x.device), length_B - 1])
        return torch.cat(outputs, -1), torch.cat(last, -1)


class RecurrentAttention(nn.Module):
    """Attention to the encoder's states by one of three scores of a decoder state h and an encoder state s.

    dot: h . s; general: h . (W s) (Luong et al. 2015, section 3.1); additive: v . tanh(W h + U s)
    (Bahdanau et al. 2015, appendix A.1.2). All three score the newest state of the decoder, as Luong et al.
    do; Bahdanau et al. score the one before. The additive score holds (B, T, S, E) numbers at once.
    """

    def __init__(self, kind: AttentionScore, width: int) -> None:
        super().__init__()
        self.kind = kind
        if kind != "dot":
            self.of_source = nn.Linear(width, width, bias=kind == "additive")
            nn.init.xavier_uniform_(self.of_source.weight)
        if kind == "additive":
            nn.init.zeros_(self.of_source.bias)
            self.of_target = nn.Linear(width, width, bias=False)
            self.score = nn.Linear(width, 1, bias=False)
            nn.init.xavier_uniform_(self.of_target.weight)
            nn.init.xavier_uniform_(self.score.weight)

    def keys(self, states_BSE: Tensor) -> Tensor:
        """keys_BSE: the part of the scores that depends on the source only, computed once a sentence."""
        return states_BSE if self.kind == "dot" else self.of_source(states_BSE)

    def weights(self, h_BTE: Tensor, keys_BSE: Tensor, bias_B1S: Tensor) -> Tensor:
        """weights_BTS: how much of each encoder state goes into the context."""
        if self.kind == "additive":
            mixed_BTSE = (self.of_target(h_BTE)[:, :, None] + keys_BSE[:, None]).tanh()
            logits_BTS: Tensor = self.score(mixed_BTSE)[..., 0]
        else:
            logits_BTS = h_BTE @ keys_BSE.transpose(1, 2)
        weights_BTS: Tensor = (logits_BTS + bias_B1S).softmax(-1)
        return weights_BTS

    def forward(self, h_BTE: Tensor, keys_BSE: Tensor, states_BSE: Tensor, bias_B1S: Tensor) -> Tensor:
        """context_BTE: the weighted sum of the encoder states."""
        return self.weights(h_BTE, keys_BSE, bias_B1S) @ states_BSE


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """Also holds the last state of each layer of the encoder."""

    last_BLPE: Tensor


@dataclass(frozen=True)
class AttendedSource(PerSentence):
    """The encoded source, which attention reads at every step."""

    keys_BSE: Tensor
    states_BSE: Tensor
    bias_B1S: Tensor  # -inf on padding


@dataclass
class RecurrentState:
    """A decoder between two steps."""

    layers_NLPE: Tensor
    shared: Shared[AttendedSource] | None  # None without attention

    def select(self, rows_N: Tensor) -> RecurrentState:
        """Return the state of these rows. They may repeat, reorder and drop rows."""
        shared = None if self.shared is None else self.shared.select(rows_N)
        return RecurrentState(self.layers_NLPE.index_select(0, rows_N), shared)


class Recurrent(nn.Module):
    """An encoder and a decoder of recurrent cells, with or without attention. Implements `Seq2Seq`."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.target_embedding, self.source_embedding, self.logits = embeddings(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = Layers(ReadingLayer(config) for _ in range(config.layers))
        self.decoder = Layers(_cell(config, width) for _ in range(config.layers))
        self.attention = None if config.attention == "none" else RecurrentAttention(config.attention, width)
        if self.attention is not None:
            self.join = nn.Linear(2 * width, width, bias=False)
            nn.init.xavier_uniform_(self.join.weight)

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> RecurrentMemory:
        """Read the sources. Positions from `source_len_B` on are padding, which no state depends on."""
        x_BSE = self._embed(source_BS, self.source_embedding)
        if self.config.reverse_source:
            x_BSE = backwards(x_BSE, source_len_B)
        last = []
        for number, layer in enumerate(self.encoder):
            outputs_BSE, last_BPE = layer(self.dropout(x_BSE) if number else x_BSE, source_len_B)
            x_BSE = outputs_BSE.to(x_BSE.dtype)
            last.append(last_BPE)
        if self.config.reverse_source:
            x_BSE = backwards(x_BSE, source_len_B)
        return RecurrentMemory(x_BSE, visible(source_BS, source_len_B), torch.stack(last, 1))

    def decode(self, target_BT: Tensor, memory: RecurrentMemory) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        logits_BTV: Tensor = self.logits(self.decode_states(target_BT, memory))
        return logits_BTV

    def decode_states(self, target_BT: Tensor, memory: RecurrentMemory) -> Tensor:
        """states_BTE, the input of `logits`."""
        state = self.start(memory, target_BT.shape[1])
        return self._read(self._embed(target_BT, self.target_embedding), state)[0]

    def forward(self, source_BS: Tensor, source_len_B: Tensor, target_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.decode(target_BT, self.encode(source_BS, source_len_B))

    def start(self, memory: RecurrentMemory, max_len: int) -> RecurrentState:
        """The state before the first token: the last states of the encoder, layer by layer."""
        if self.attention is None:
            return RecurrentState(memory.last_BLPE, None)
        states_BSE = memory.states_BSE
        bias_B1S = padding_bias(memory.visible_BS, states_BSE.dtype)[:, 0]
        source = AttendedSource(self.attention.keys(states_BSE), states_BSE, bias_B1S)
        return RecurrentState(memory.last_BLPE, Shared.one_row_each(source, memory))

    def step(self, token_N: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """logits_NV, at least float32, after one more token in each row. Uses up `state`."""
        x_N1E = self._embed(token_N[:, None], self.target_embedding)
        x_N1E, state = self._read(x_N1E, state)
        logits_NV = self.logits(x_N1E[:, 0])
        return logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32)), state

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.logits.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the layers. States are at least float32; the embeddings may be finer."""
        return self.decoder[0].input.weight.dtype

    def _embed(self, token_BT: Tensor, embedding: nn.Embedding) -> Tensor:
        x_BTE: Tensor = self.dropout(embedding(token_BT) * math.sqrt(self.config.d_model))
        return x_BTE.to(self.dtype)

    def _read(self, x_NTE: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Return the input of `logits` after each token, and the state after the last."""
        layers = []
        for number, (cell, state_NPE) in enumerate(
            zip(self.decoder, state.layers_NLPE.unbind(1), strict=True)
        ):
            states_NTPE = read_words(cell, self.dropout(x_NTE) if number else x_NTE, state_NPE)
            x_NTE = states_NTPE[:, :, 0].to(x_NTE.dtype)
            layers.append(states_NTPE[:, -1])
        if self.attention is not None and state.shared is not None:
            source = state.shared.source
            h_BTE = state.shared.group(x_NTE)
            context_BTE = self.attention(h_BTE, source.keys_BSE, source.states_BSE, source.bias_B1S)
            joined_NTE = torch.cat((context_BTE.view_as(x_NTE), x_NTE), -1)
            x_NTE = self.join(joined_NTE).tanh()  # Luong et al. 2015, eq. 5
        return self.dropout(x_NTE), RecurrentState(torch.stack(layers, 1), state.shared)


def _cell(config: RecurrentConfig, hidden: int) -> LSTM | GRU:
    return (LSTM if config.cell == "lstm" else GRU)(config.d_model, hidden)
