"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), to be read beside the paper.

The defaults are the paper's base model. Sections in comments are the paper's.

B batch, S source length, T target length, N decoding rows, H heads, D head width, E model width,
F feed-forward width, V vocabulary, L layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.models.attention import (
    CrossAttention,
    KeyValueCache,
    SelfAttention,
    Sight,
    Window,
    causal_bias,
    padding_bias,
)
from dragoman.models.dropout import Dropout
from dragoman.models.embeddings import embeddings
from dragoman.models.memory import Memory, Shared, visible
from dragoman.models.positions import AttentionPositions, in_attention, on_input
from dragoman.models.shapes import TransformerConfig


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2: eq. 2, section 3.3.

    GELU: Hendrycks and Gimpel 2016. SwiGLU: Shazeer 2020, (silu(x W) * x U) W_2; W and U are the
    two halves of `inner`.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.activation = config.activation
        gates = 2 if config.activation == "swiglu" else 1
        self.inner = nn.Linear(config.d_model, gates * config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.activation_dropout)
        for weight in (*self.inner.weight.chunk(gates), self.outer.weight):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.inner.bias)
        nn.init.zeros_(self.outer.bias)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(x)
        match self.activation:
            case "relu":
                hidden = hidden.relu()
            case "gelu":
                hidden = nn.functional.gelu(hidden)
            case "swiglu":
                gate, value = hidden.chunk(2, -1)
                hidden = nn.functional.silu(gate) * value
        return self.outer(self.dropout(hidden))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """LayerNorm(x + Sublayer(x)), section 3.1, with dropout on the sub-layer's output, section 5.4.

    Pre-norm, x + Sublayer(LayerNorm(x)), trains more easily when deep (Xiong et al. 2020).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What the sub-layer reads."""
        return self.norm(x) if self.pre else x

    def leave(self, x: Tensor, sublayer: Tensor) -> Tensor:
        """What comes out after the sub-layer's output is added."""
        x = self.dropout(sublayer, x)
        return x if self.pre else self.norm(x)


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, section 3.1."""

    def __init__(self, config: TransformerConfig, positions: AttentionPositions) -> None:
        super().__init__()
        self.attention = _self_attention(config, positions)
        self.attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_BSE: Tensor, sight: Sight | Window) -> Tensor:
        attended = self.attention(self.attention_residual.enter(x_BSE), sight)
        x_BSE = self.attention_residual.leave(x_BSE, attended)
        forwarded = self.feed_forward(self.feed_forward_residual.enter(x_BSE))
        return self.feed_forward_residual.leave(x_BSE, forwarded)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, and a feed-forward network, section 3.1."""

    def __init__(self, config: TransformerConfig, positions: AttentionPositions) -> None:
        super().__init__()
        self.attention = _self_attention(config, positions)
        self.attention_residual = Residual(config)
        self.cross_attention = CrossAttention(
            config.d_model, config.heads, drop=config.attention_dropout, bias=config.attention_bias
        )
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_BTE: Tensor, sight: Sight | Window, states_BSE: Tensor, bias_B11S: Tensor) -> Tensor:
        attended = self.attention(self.attention_residual.enter(x_BTE), sight)
        x_BTE = self.attention_residual.leave(x_BTE, attended)
        attended = self.cross_attention(self.cross_attention_residual.enter(x_BTE), states_BSE, bias_B11S)
        x_BTE = self.cross_attention_residual.leave(x_BTE, attended)
        forwarded = self.feed_forward(self.feed_forward_residual.enter(x_BTE))
        return self.feed_forward_residual.leave(x_BTE, forwarded)

    def step(self, x_N1E: Tensor, cache: KeyValueCache, source: Shared, layer: int) -> Tensor:
        """The layer for one new token a row: the same sum, with past keys and values from the cache.

        Cross-attention keys and values belong to sentences, (B, H, S, D); the rows of a sentence
        attend to them as so many queries.
        """
        attended = self.attention.step(self.attention_residual.enter(x_N1E), cache)
        x_N1E = self.attention_residual.leave(x_N1E, attended)

        bias_B11S, _, *cross = source.tensors
        x_BKE = source.group(self.cross_attention_residual.enter(x_N1E))
        k_BHSD, v_BHSD = cross[2 * layer : 2 * layer + 2]
        attended = self.cross_attention.read(x_BKE, k_BHSD, v_BHSD, bias_B11S)
        x_N1E = self.cross_attention_residual.leave(x_N1E, attended.view_as(x_N1E))

        forwarded = self.feed_forward(self.feed_forward_residual.enter(x_N1E))
        return self.feed_forward_residual.leave(x_N1E, forwarded)


@dataclass
class TransformerState:
    """A decoder between two steps: N rows, a whole number for each of B sentences."""

    caches: list[KeyValueCache]  # one a layer, (N, H, length, D)
    source: Shared  # bias_B11S, length_B, then keys and values of the source, (B, H, S, D), for each layer
    length: int = 0

    def select(self, rows_N: Tensor) -> TransformerState:
        """Rows may be repeated, reordered and left out; those of one sentence stand side by side."""
        caches = [cache.select(rows_N) for cache in self.caches]
        return TransformerState(caches, self.source.select(rows_N), self.length)


class Transformer(nn.Module):
    """An encoder, a decoder, and the embeddings between them and the words. Meets `Seq2Seq`."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.target_embedding, self.source_embedding, self.logits = embeddings(config)
        self.positions = on_input(config.positions, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            EncoderLayer(config, positions) for positions in _layers(config, config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(config, positions)
            for positions in _layers(config, config.decoder_layers, causal=True)
        )
        final = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = final(width), final(width)

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> Memory:
        """Reads the sources; positions from `source_len_B` on are padding and are never seen."""
        visible_BS = visible(source_BS, source_len_B)
        x_BSE = self._embed(source_BS, self.source_embedding, source_len_B)
        sight: Sight | Window
        if self.config.window is None:
            sight = Sight(padding_bias(visible_BS, x_BSE.dtype), source_BS.shape[1])
        else:
            sight = Window(visible_BS, x_BSE.dtype, self.config.window, causal=False)
        for layer in self.encoder:
            x_BSE = layer(x_BSE, sight)
        return Memory(self.encoder_norm(x_BSE), visible_BS)

    def decode(self, target_BT: Tensor, memory: Memory) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        return self.logits(self.decode_states(target_BT, memory))  # type: ignore[no-any-return]

    def decode_states(self, target_BT: Tensor, memory: Memory) -> Tensor:
        """states_BTE: what `logits` projects to the vocabulary. The loss reads these where it can
        do without holding all the logits at once."""
        x_BTE = self._embed(target_BT, self.target_embedding, memory.visible_BS.sum(1))
        sight: Sight | Window
        if self.config.window is None:
            length = target_BT.shape[1]
            sight = Sight(causal_bias(length, x_BTE.dtype, x_BTE.device), length)
        else:
            all_BT = torch.ones_like(target_BT, dtype=torch.bool)  # padding is behind: no token sees it
            sight = Window(all_BT, x_BTE.dtype, self.config.window, causal=True)
        bias_B11S = padding_bias(memory.visible_BS, x_BTE.dtype)
        for layer in self.decoder:
            x_BTE = layer(x_BTE, sight, memory.states_BSE, bias_B11S)
        return self.decoder_norm(x_BTE)  # type: ignore[no-any-return]

    def forward(self, source_BS: Tensor, source_len_B: Tensor, target_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.decode(target_BT, self.encode(source_BS, source_len_B))

    def start(self, memory: Memory, max_len: int) -> TransformerState:
        """The state before the first token. Source keys and values are computed here, once a sentence."""
        cross: list[Tensor] = []
        for layer in self.decoder:
            keys_values = layer.cross_attention.keys_values(memory.states_BSE)  # type: ignore[union-attr, operator]
            cross += [tensor.contiguous() for tensor in keys_values]
        bias_B11S = padding_bias(memory.visible_BS, memory.states_BSE.dtype)
        source = Shared.of(bias_B11S, memory.visible_BS.sum(1), *cross)
        return TransformerState([KeyValueCache() for _ in self.decoder], source)

    def step(self, token_N: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """logits_NV after one more token a row. The state passed in is spent."""
        length_B = state.source.tensors[1]
        x_N1E = self._embed(token_N[:, None], self.target_embedding, length_B, state.length)
        for number, (layer, cache) in enumerate(zip(self.decoder, state.caches, strict=True)):
            x_N1E = layer.step(x_N1E, cache, state.source, number)  # type: ignore[operator]
        logits_NV = self.logits(self.decoder_norm(x_N1E[:, 0]))
        logits_NV = logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32))
        return logits_NV, TransformerState(state.caches, state.source, state.length + 1)

    @property
    def dtype(self) -> torch.dtype:
        """What the layers compute in; the embeddings may be finer (see `training.precision`)."""
        return self.encoder[0].feed_forward.inner.weight.dtype  # type: ignore[union-attr, return-value]

    def _embed(
        self, token_BT: Tensor, embedding: nn.Embedding, source_len_B: Tensor, start: int = 0
    ) -> Tensor:
        x_BTE = embedding(token_BT) * math.sqrt(self.config.d_model)  # section 3.4
        return self.dropout(self.positions(x_BTE, start, source_len_B)).to(self.dtype)  # type: ignore[no-any-return]


def _layers(config: TransformerConfig, count: int, *, causal: bool = False) -> list[AttentionPositions]:
    """What tells each layer of a stack the positions. T5's biases are the same in all."""
    made = [in_attention(config.positions, config.heads, config.d_model, causal=causal) for _ in range(count)]
    return made[:1] * count if config.positions == "t5" else made


def _self_attention(config: TransformerConfig, positions: AttentionPositions) -> SelfAttention:
    return SelfAttention(
        config.d_model,
        config.heads,
        drop=config.attention_dropout,
        bias=config.attention_bias,
        positions=positions,
        window=config.window,
    )
