"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), to be read beside the paper.

The defaults are the paper's base model. Sections in comments are the paper's.

B batch, S source length, T target length, N decoding rows, H heads, D head width, E model width,
F feed-forward width, V vocabulary, L layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.models.attention import Attention, KeyValueCache, causal_bias, padding_bias
from dragoman.models.dropout import Dropout
from dragoman.models.memory import Memory
from dragoman.models.norm import LayerNorm
from dragoman.models.positions import Layout, SinusoidalPositions

Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "swiglu"]
Tie = Literal["all", "decoder", "none"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The shape of a Transformer (table 3 names the same quantities)."""

    source_vocab: int = 0  # as many as the tokenizer has
    target_vocab: int = 0
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    attention_dropout: float = 0.0  # on the attention weights
    activation_dropout: float = 0.0  # inside the feed-forward network
    norm: Norm = "post"
    activation: Activation = "relu"
    positions: Layout = "sinusoidal"
    tie: Tie = "all"  # which embeddings share weights, section 3.4
    attention_bias: bool = False
    output_bias: bool = False
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2

    def __post_init__(self) -> None:
        for name in ("d_model", "d_ff", "heads", "encoder_layers", "decoder_layers"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} = {getattr(self, name)}", hint="it must be at least 1")
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"model.{name} = {getattr(self, name)}", hint="0 <= dropout < 1 is needed")
        for name, kind in (("norm", Norm), ("activation", Activation), ("positions", Layout), ("tie", Tie)):
            if getattr(self, name) not in get_args(kind):  # a mistyped activation would be none at all
                raise ConfigError(
                    f'model.{name} = "{getattr(self, name)}"',
                    hint=f"choose one of: {', '.join(get_args(kind))}",
                )
        for name in ("source_vocab", "target_vocab", "pad_id", "start_id", "end_id"):
            if getattr(self, name) < 0:
                raise ConfigError(f"model.{name} = {getattr(self, name)}", hint="it must not be below 0")
            if name.endswith("_id") and 0 < self.target_vocab <= getattr(self, name):
                raise ConfigError(
                    f"model.{name} = {getattr(self, name)} in a vocabulary of {self.target_vocab}",
                    hint="an id is a number below the size of the vocabulary",
                )
        if self.d_model % self.heads:
            raise ConfigError(
                f"model.d_model = {self.d_model} is no multiple of model.heads = {self.heads}",
                hint="every head gets d_model / heads dimensions",
            )
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ConfigError(
                f'model.tie = "all" with vocabularies of {self.source_vocab} and {self.target_vocab}',
                hint='set tokenizer.shared=true, or model.tie="decoder"',
            )


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
        self.norm = LayerNorm(config.d_model)
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

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = _attention(config)
        self.attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_BSE: Tensor, bias_B11S: Tensor) -> Tensor:
        attended = self.attention(self.attention_residual.enter(x_BSE), bias=bias_B11S)
        x_BSE = self.attention_residual.leave(x_BSE, attended)
        forwarded = self.feed_forward(self.feed_forward_residual.enter(x_BSE))
        return self.feed_forward_residual.leave(x_BSE, forwarded)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, and a feed-forward network, section 3.1."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = _attention(config)
        self.attention_residual = Residual(config)
        self.cross_attention = _attention(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_BTE: Tensor, causal_TT: Tensor, states_BSE: Tensor, bias_B11S: Tensor) -> Tensor:
        attended = self.attention(self.attention_residual.enter(x_BTE), bias=causal_TT)
        x_BTE = self.attention_residual.leave(x_BTE, attended)
        attended = self.cross_attention(self.cross_attention_residual.enter(x_BTE), states_BSE, bias_B11S)
        x_BTE = self.cross_attention_residual.leave(x_BTE, attended)
        forwarded = self.feed_forward(self.feed_forward_residual.enter(x_BTE))
        return self.feed_forward_residual.leave(x_BTE, forwarded)

    def step(
        self, x_N1E: Tensor, cache: KeyValueCache, cross: tuple[Tensor, Tensor], bias_B11S: Tensor
    ) -> Tensor:
        """The layer for one new token a row: the same sum, with past keys and values from the cache.

        Cross-attention keys and values belong to sentences, (B, H, S, D); the N / B rows of a
        sentence stand side by side and attend to them as so many queries.
        """
        q, k, v = self.attention.queries_keys_values(self.attention_residual.enter(x_N1E))
        attended = self.attention.join(q, *cache.append(k, v))
        x_N1E = self.attention_residual.leave(x_N1E, attended)

        x_BKE = x_N1E.view(len(bias_B11S), -1, x_N1E.shape[-1])
        q = self.cross_attention.queries(self.cross_attention_residual.enter(x_BKE))
        attended = self.cross_attention.join(q, *cross, bias_B11S).view_as(x_N1E)
        x_N1E = self.cross_attention_residual.leave(x_N1E, attended)

        forwarded = self.feed_forward(self.feed_forward_residual.enter(x_N1E))
        return self.feed_forward_residual.leave(x_N1E, forwarded)


@dataclass
class TransformerState:
    """A decoder between two steps: N rows, a whole number for each of B sentences."""

    caches: list[KeyValueCache]  # one a layer, (N, H, length, D)
    cross: list[tuple[Tensor, Tensor]]  # keys and values of the source, one pair a layer, (B, H, S, D)
    bias_B11S: Tensor
    sentence_N: Tensor  # which of the B sentences a row translates
    length: int = 0

    def select(self, rows_N: Tensor) -> TransformerState:
        """Rows may be repeated, reordered and left out; those of one sentence stand side by side."""
        sentence_N = self.sentence_N.index_select(0, rows_N)
        caches = [cache.select(rows_N) for cache in self.caches]
        if torch.equal(sentence_N, self.sentence_N):
            return TransformerState(caches, self.cross, self.bias_B11S, sentence_N, self.length)
        kept_B, count_B = torch.unique_consecutive(sentence_N, return_counts=True)
        if int(count_B.min()) != int(count_B.max()):  # uneven: every row keeps its own copy of the source
            kept_B = sentence_N
        cross, bias_B11S = self.cross, self.bias_B11S
        if len(kept_B) != len(bias_B11S) or not torch.equal(kept_B, torch.arange(len(kept_B)).to(kept_B)):
            cross = [(k.index_select(0, kept_B), v.index_select(0, kept_B)) for k, v in cross]
            bias_B11S = bias_B11S.index_select(0, kept_B)
        rows_of_each = len(sentence_N) // len(kept_B)
        renumbered_N = torch.arange(len(kept_B), device=rows_N.device).repeat_interleave(rows_of_each)
        return TransformerState(caches, cross, bias_B11S, renumbered_N, self.length)


class Transformer(nn.Module):
    """An encoder, a decoder, and the embeddings between them and the words. Meets `Seq2Seq`."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        # Section 3.4: one matrix for both embeddings and the layer before the softmax.
        self.target_embedding = _embedding(config.target_vocab, width)
        self.source_embedding = (
            self.target_embedding if config.tie == "all" else _embedding(config.source_vocab, width)
        )
        self.logits = nn.Linear(width, config.target_vocab, bias=config.output_bias)
        if config.tie == "none":
            nn.init.normal_(self.logits.weight, std=width**-0.5)
        else:
            self.logits.weight = self.target_embedding.weight
        if config.output_bias:
            nn.init.zeros_(self.logits.bias)
        self.positions = SinusoidalPositions(width, config.positions)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        final = LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = final(width), final(width)

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> Memory:
        """Reads the sources; positions from `source_len_B` on are padding and are never seen."""
        visible_BS = torch.arange(source_BS.shape[1], device=source_BS.device) < source_len_B[:, None]
        x_BSE = self._embed(source_BS, self.source_embedding)
        bias_B11S = padding_bias(visible_BS, x_BSE.dtype)
        for layer in self.encoder:
            x_BSE = layer(x_BSE, bias_B11S)
        return Memory(self.encoder_norm(x_BSE), visible_BS)

    def decode(self, target_BT: Tensor, memory: Memory) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        return self.logits(self.decode_states(target_BT, memory))  # type: ignore[no-any-return]

    def decode_states(self, target_BT: Tensor, memory: Memory) -> Tensor:
        """states_BTE: what `logits` projects to the vocabulary. The loss reads these where it can
        do without holding all the logits at once."""
        x_BTE = self._embed(target_BT, self.target_embedding)
        causal_TT = causal_bias(x_BTE.shape[1], x_BTE.dtype, x_BTE.device)
        bias_B11S = padding_bias(memory.visible_BS, x_BTE.dtype)
        for layer in self.decoder:
            x_BTE = layer(x_BTE, causal_TT, memory.states_BSE, bias_B11S)
        return self.decoder_norm(x_BTE)  # type: ignore[no-any-return]

    def forward(self, source_BS: Tensor, source_len_B: Tensor, target_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.decode(target_BT, self.encode(source_BS, source_len_B))

    def start(self, memory: Memory, max_len: int) -> TransformerState:
        """The state before the first token. Source keys and values are computed here, once a sentence."""
        cross = []
        for layer in self.decoder:
            k, v = layer.cross_attention.keys_values(memory.states_BSE)  # type: ignore[union-attr, operator]
            cross.append((k.contiguous(), v.contiguous()))
        return TransformerState(
            caches=[KeyValueCache() for _ in self.decoder],
            cross=cross,
            bias_B11S=padding_bias(memory.visible_BS, memory.states_BSE.dtype),
            sentence_N=torch.arange(len(memory.states_BSE), device=memory.states_BSE.device),
        )

    def step(self, token_N: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """logits_NV after one more token a row. The state passed in is spent."""
        x_N1E = self._embed(token_N[:, None], self.target_embedding, state.length)
        for layer, cache, cross in zip(self.decoder, state.caches, state.cross, strict=True):
            x_N1E = layer.step(x_N1E, cache, cross, state.bias_B11S)  # type: ignore[operator]
        logits_NV = self.logits(self.decoder_norm(x_N1E[:, 0]))
        logits_NV = logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32))
        return logits_NV, TransformerState(
            state.caches, state.cross, state.bias_B11S, state.sentence_N, state.length + 1
        )

    @property
    def dtype(self) -> torch.dtype:
        """What the layers compute in; the embeddings may be finer (see `training.precision`)."""
        return self.encoder[0].feed_forward.inner.weight.dtype  # type: ignore[union-attr, return-value]

    def _embed(self, token_BT: Tensor, embedding: nn.Embedding, start: int = 0) -> Tensor:
        x_BTE = embedding(token_BT) * math.sqrt(self.config.d_model)  # section 3.4
        return self.dropout(self.positions(x_BTE, start)).to(self.dtype)  # type: ignore[no-any-return]


def _attention(config: TransformerConfig) -> Attention:
    return Attention(config.d_model, config.heads, drop=config.attention_dropout, bias=config.attention_bias)


def _embedding(vocab: int, width: int) -> nn.Embedding:
    embedding = nn.Embedding(vocab, width)
    nn.init.normal_(embedding.weight, std=width**-0.5)  # unit variance once scaled by sqrt(E)
    return embedding
