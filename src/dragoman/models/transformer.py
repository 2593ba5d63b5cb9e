"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), to be read together with the paper.

Sections and equations are the paper's. The defaults of `TransformerConfig` are its base model. Elsewhere:
positional encodings (section 3.5) in positions.py, masks (section 3.2.3) in masks.py, restricted
self-attention (section 4) in window.py, the learning rate (section 5.3) in training/step/schedule.py, label
smoothing (section 5.4) in training/step/loss.py. docs/paper.md has the whole list.

B batch, S source length or keys, T target length or queries, N decoding rows, H heads, D head width,
E model width, F feed-forward width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.models.layers.cache import KeyValueCache, SourceKeys, TransformerState
from dragoman.models.layers.dropout import Dropout, dropout
from dragoman.models.layers.embeddings import embeddings
from dragoman.models.layers.kernels import fast_attention
from dragoman.models.layers.linear import Blocks, Layers, by_shared_head
from dragoman.models.layers.masks import padding_bias, visible
from dragoman.models.layers.memory import Memory, Shared
from dragoman.models.layers.norm import new_norm
from dragoman.models.layers.positions import AttentionPositions, in_layers, on_inputs
from dragoman.models.layers.window import AttentionSpan, AttentionView
from dragoman.models.shapes import SSRUConfig, TransformerConfig, TransformerOptions
from dragoman.models.ssru import SSRU


def attend(
    q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None, drop: float = 0.0
) -> Tensor:
    """Attention(Q, K, V) = softmax(QK^T / sqrt(D)) V: eq. 1, section 3.2.1. Dropout is on the weights."""
    if (out_BHTD := fast_attention(q_BHTD, k_BHSD, v_BHSD, bias, drop)) is not None:
        return out_BHTD  # the same from a kernel that does not store the weights
    weights_BHTS = attention_weights(q_BHTD, k_BHSD, bias)
    return by_shared_head(dropout(weights_BHTS, drop), v_BHSD)


def attention_weights(q_BHTD: Tensor, k_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
    """weights_BHTS = softmax(QK^T / sqrt(D) + bias)."""
    return attention_logits(q_BHTD, k_BHSD, bias).softmax(-1)


def attention_logits(q_BHTD: Tensor, k_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
    """logits_BHTS = QK^T / sqrt(D) + bias. The bias is -inf for a hidden key, 0 for a visible one."""
    logits_BHTS = by_shared_head(q_BHTD * (1 / math.sqrt(q_BHTD.shape[-1])), k_BHSD.transpose(-2, -1))
    return logits_BHTS if bias is None else logits_BHTS + bias


class MultiHead(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1 .. head_H) W^O, section 3.2.2.

    `project` holds W^Q, W^K and W^V of all heads as three blocks, so that self-attention takes one
    product. The paper has no biases; PyTorch, Marian and fairseq do, so `bias` adds them. Keys and values
    have `kv_width` dimensions, as many as the queries if left out: fewer if heads share them.
    """

    def __init__(self, config: TransformerOptions, kv_width: int | None = None) -> None:
        super().__init__()
        self.width, self.heads, self.drop = config.d_model, config.heads, config.attention_dropout
        self.biased, self.kv_width = config.attention_bias, kv_width or self.width
        self.project = Blocks(self.width, (self.width, self.kv_width, self.kv_width), bias=self.biased)
        self.output = nn.Linear(self.width, self.width, bias=self.biased)
        for block in (*self.project.weight.split_with_sizes(self.project.sizes), self.output.weight):
            nn.init.xavier_uniform_(block)
        for linear in (self.project, self.output) if self.biased else ():
            nn.init.zeros_(linear.bias)

    def queries(self, x_BTE: Tensor) -> Tensor:
        """q_BHTD = x W^Q."""
        return self._split(self.project(x_BTE, 0, 1))

    def keys_values(self, x_BSE: Tensor) -> tuple[Tensor, Tensor]:
        """k_BHSD, v_BHSD = x W^K, x W^V."""
        k_BSE, v_BSE = self.project(x_BSE, 1, 3).chunk(2, -1)
        return self._split(k_BSE), self._split(v_BSE)

    def queries_keys_values(self, x_BTE: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention from one product."""
        q, k, v = self.project(x_BTE).split_with_sizes(self.project.sizes, -1)
        return self._split(q), self._split(k), self._split(v)

    def merge(self, heads_BHTD: Tensor) -> Tensor:
        """out_BTE = Concat(head_1 .. head_H) W^O."""
        out_BTE: Tensor = self.output(heads_BHTD.transpose(1, 2).flatten(2))
        return out_BTE

    def _split(self, x_BTE: Tensor) -> Tensor:
        return x_BTE.view(*x_BTE.shape[:2], -1, self.width // self.heads).transpose(1, 2)


class CrossAttention(MultiHead):
    """Attention of the decoder to the encoder's output, section 3.2.3."""

    def forward(self, x_BTE: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
        """out_BTE, from `keys_values` of the encoder's output."""
        return self.merge(attend(self.queries(x_BTE), k_BHSD, v_BHSD, bias, self.drop * self.training))


class SelfAttention(MultiHead):
    """Attention of a sequence to itself, section 3.2.3. `span` says which keys a query sees."""

    def __init__(
        self,
        config: TransformerOptions,
        positions: AttentionPositions | None = None,
        kv_width: int | None = None,
    ) -> None:
        super().__init__(config, kv_width)
        self.positions, self.span = positions or AttentionPositions(), AttentionSpan(config.window)

    def forward(self, x_BTE: Tensor, view: AttentionView) -> Tensor:
        """out_BTE."""
        q, k, v = self.laid_out(x_BTE, view)
        return self.merge(view.restore(self._attend(q, k, v, view.bias, view.distance_TS)))

    def step(self, x_N1E: Tensor, cache: KeyValueCache) -> Tensor:
        """out_N1E of one more token in each row, which sees those in the cache."""
        q, k, v = self.queries_keys_values(x_N1E)
        q, k = self.positions.turn(q, cache.length), self.positions.turn(k, cache.length)
        k, v = (self.span.newest(x) for x in cache.append(k, v))
        return self.merge(
            self._attend(q, k, v, None, lambda: torch.arange(1 - k.shape[2], 1, device=k.device)[None])
        )

    def new_cache(self) -> KeyValueCache:
        """The cache before the first token."""
        return KeyValueCache()

    def laid_out(self, x_BTE: Tensor, view: AttentionView) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values with their positions, in the layout of `view`."""
        q, k, v = self.queries_keys_values(x_BTE)
        return view.queries(self.positions.turn(q)), view.keys(self.positions.turn(k)), view.keys(v)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, distance: Callable[[], Tensor]
    ) -> Tensor:
        bias = self.positions.added(bias, q, distance)
        if not self.positions.on_values:
            return attend(q, k, v, bias, self.drop * self.training)
        weights = dropout(attention_weights(q, k, bias), self.drop * self.training)
        return by_shared_head(weights, v) + self.positions.values(weights, distance())


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2: eq. 2, section 3.3.

    Also GELU and its approximation x sigmoid(1.702 x) (Hendrycks and Gimpel 2016, section 2), swish
    x sigmoid(x) (Ramachandran et al. 2017), and SwiGLU (Shazeer 2020): (swish(x W) * x U) W_2, where W and
    U are the halves of `inner`.
    """

    def __init__(self, config: TransformerOptions) -> None:
        super().__init__()
        self.activation = config.activation
        gates = 2 if config.activation == "swiglu" else 1
        self.inner = nn.Linear(config.d_model, gates * config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.activation_dropout)
        for weight in (*self.inner.weight.chunk(gates), self.outer.weight):
            nn.init.xavier_uniform_(weight)
        for linear in (self.inner, self.outer):
            nn.init.zeros_(linear.bias)

    def forward(self, x_BTE: Tensor) -> Tensor:
        """out_BTE."""
        hidden_BTF: Tensor = self.inner(x_BTE)
        match self.activation:
            case "relu":
                hidden_BTF = hidden_BTF.relu_()  # in place, because its input is not needed again
            case "gelu":
                hidden_BTF = nn.functional.gelu(hidden_BTF)
            case "quick-gelu":
                hidden_BTF = hidden_BTF * (1.702 * hidden_BTF).sigmoid()
            case "swish":
                hidden_BTF = nn.functional.silu(hidden_BTF)
            case "swiglu":
                gate_BTF, value_BTF = hidden_BTF.chunk(2, -1)
                hidden_BTF = nn.functional.silu(gate_BTF) * value_BTF
        out_BTE: Tensor = self.outer(self.dropout(hidden_BTF))
        return out_BTE


class Residual(nn.Module):
    """LayerNorm(x + Sublayer(x)), section 3.1, with dropout on the sub-layer's output, section 5.4.

    Pre-norm, x + Sublayer(LayerNorm(x)), makes deep models easier to train (Xiong et al. 2020). Another
    normalisation may take the place of LayerNorm (`models/layers/norm.py`).
    """

    def __init__(self, config: TransformerOptions) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = new_norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the input of the next sub-layer, with the shape of x."""
        out: Tensor = self.dropout(sublayer(self.norm(x) if self.pre else x), x)
        return out if self.pre else self.norm(out)


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, section 3.1."""

    def __init__(self, config: TransformerOptions, positions: AttentionPositions) -> None:
        super().__init__()
        self.attention = SelfAttention(config, positions)
        self.attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_BSE: Tensor, view: AttentionView) -> Tensor:
        """out_BSE."""
        x_BSE = self.attention_residual(x_BSE, lambda x: self.attention(x, view))
        out_BSE: Tensor = self.feed_forward_residual(x_BSE, self.feed_forward)
        return out_BSE


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, and a feed-forward network, section 3.1.

    An `SSRU` may take the place of self-attention.
    """

    def __init__(self, config: TransformerOptions, reader: SelfAttention | SSRU) -> None:
        super().__init__()
        self.attention = reader
        self.attention_residual = Residual(config)
        self.cross_attention = CrossAttention(config, config.kv_width)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_BTE: Tensor, view: AttentionView, states_BSE: Tensor, bias_B11S: Tensor) -> Tensor:
        """out_BTE."""
        k_BHSD, v_BHSD = self.cross_attention.keys_values(states_BSE)
        x_BTE = self.attention_residual(x_BTE, lambda x: self.attention(x, view))
        x_BTE = self.cross_attention_residual(
            x_BTE, lambda x: self.cross_attention(x, k_BHSD, v_BHSD, bias_B11S)
        )
        out_BTE: Tensor = self.feed_forward_residual(x_BTE, self.feed_forward)
        return out_BTE

    def step(
        self, x_N1E: Tensor, cache: Any, k_BHSD: Tensor, v_BHSD: Tensor, shared: Shared[SourceKeys]
    ) -> Tensor:
        """out_N1E of one more token in each row: `forward` with the past from the cache."""
        cross, bias_B11S = self.cross_attention, shared.source.bias_B11S
        x_N1E = self.attention_residual(x_N1E, lambda x: self.attention.step(x, cache))
        x_N1E = self.cross_attention_residual(  # the rows of a sentence share its keys and values
            x_N1E, lambda x: cross(shared.group(x), k_BHSD, v_BHSD, bias_B11S).view_as(x)
        )
        out_N1E: Tensor = self.feed_forward_residual(x_N1E, self.feed_forward)
        return out_N1E


def readers(config: TransformerConfig | SSRUConfig) -> Iterator[SelfAttention | SSRU]:
    """For each layer of the decoder, the part that reads the tokens so far."""
    match config:
        case TransformerConfig():
            places = in_layers(config, causal=True)
            return (SelfAttention(config, positions, config.kv_width) for positions in places)
        case SSRUConfig():
            return (SSRU(config.d_model) for _ in range(config.decoder_layers))


class Transformer(nn.Module):
    """An encoder and a decoder, section 3.1. Implements `Seq2Seq`."""

    def __init__(self, config: TransformerConfig | SSRUConfig) -> None:
        super().__init__()
        self.config, self.span = config, AttentionSpan(config.window)
        self.target_embedding, self.source_embedding, self.logits = embeddings(config)
        self.positions, self.target_positions = on_inputs(config.positions, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = Layers(EncoderLayer(config, p) for p in in_layers(config, causal=False))
        self.decoder = Layers(DecoderLayer(config, reader) for reader in readers(config))
        final = config.norm == "pre" and config.final_norm
        self.encoder_norm = new_norm(config) if final else nn.Identity()
        self.decoder_norm = new_norm(config) if final else nn.Identity()
        self.source_embedding_norm = new_norm(config) if config.embedding_norm else nn.Identity()
        self.target_embedding_norm = new_norm(config) if config.embedding_norm else nn.Identity()
        self.computes_in: torch.dtype | None = None  # of the layers, if their weights do not say it

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> Memory:
        """Read the sources. Positions from `source_len_B` on are padding, which is never seen."""
        visible_BS = visible(source_BS, source_len_B)
        x_BSE = self._embed(source_BS, "source", source_len_B)
        view = self.span.both_ways(x_BSE, visible_BS)
        for layer in self.encoder:
            x_BSE = layer(x_BSE, view)
        return Memory(self.encoder_norm(x_BSE), visible_BS)

    def decode_states(self, target_BT: Tensor, memory: Memory) -> Tensor:
        """states_BTE, the input of `logits`. The loss takes these, so that it does not hold all logits."""
        x_BTE = self._embed(target_BT, "target", memory.visible_BS.sum(1))
        view, bias_B11S = self.span.causal(x_BTE), padding_bias(memory.visible_BS, x_BTE.dtype)
        for layer in self.decoder:
            x_BTE = layer(x_BTE, view, memory.states_BSE, bias_B11S)
        states_BTE: Tensor = self.decoder_norm(x_BTE)
        return states_BTE

    def decode(self, target_BT: Tensor, memory: Memory) -> Tensor:
        """logits_BTV of the token after each prefix of `target_BT`, which begins with `start_id`."""
        logits_BTV: Tensor = self.logits(self.decode_states(target_BT, memory))
        return logits_BTV

    def forward(self, source_BS: Tensor, source_len_B: Tensor, target_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.decode(target_BT, self.encode(source_BS, source_len_B))

    def start(self, memory: Memory, max_len: int) -> TransformerState:
        """The state before the first token. Source keys and values are computed here, once a sentence."""
        pairs = [layer.cross_attention.keys_values(memory.states_BSE) for layer in self.decoder]
        source = SourceKeys(
            bias_B11S=padding_bias(memory.visible_BS, memory.states_BSE.dtype),
            length_B=memory.visible_BS.sum(1),
            keys_BHSD=tuple(k.contiguous() for k, _ in pairs),
            values_BHSD=tuple(v.contiguous() for _, v in pairs),
        )
        caches = [layer.attention.new_cache() for layer in self.decoder]
        return TransformerState(caches, Shared.one_row_each(source, memory))

    def step(self, token_N: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """logits_NV, at least float32, after one more token in each row. Uses up `state`."""
        source = state.shared.source
        x_N1E = self._embed(token_N[:, None], "target", source.length_B, state.length)
        stack = zip(self.decoder, state.caches, source.keys_BHSD, source.values_BHSD, strict=True)
        for layer, cache, k_BHSD, v_BHSD in stack:
            x_N1E = layer.step(x_N1E, cache, k_BHSD, v_BHSD, state.shared)
        logits_NV = self.logits(self.decoder_norm(x_N1E[:, 0]))
        logits_NV = logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32))
        return logits_NV, TransformerState(state.caches, state.shared, state.length + 1)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.logits.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the layers; the embeddings may be finer (see training/step/precision.py)."""
        return self.computes_in or self.decoder[0].feed_forward.inner.weight.dtype

    def input_of(self, side: str) -> tuple[nn.Embedding, nn.Module, nn.Module]:
        """The embedding of a side, its positions and the normalisation of their sum, or the identity."""
        if side == "source":
            return self.source_embedding, self.positions, self.source_embedding_norm
        return self.target_embedding, self.target_positions, self.target_embedding_norm

    def _embed(self, token_BT: Tensor, side: str, length_B: Tensor, start: int = 0) -> Tensor:
        embedding, positions, norm = self.input_of(side)
        scale = math.sqrt(self.config.d_model) if self.config.embedding_scale else 1.0
        scaled_BTE = embedding(token_BT) * scale  # section 3.4
        x_BTE: Tensor = positions(scaled_BTE, start, length_B)  # section 3.5
        x_BTE = self.dropout(norm(x_BTE))  # section 5.4
        return x_BTE.to(self.dtype)
