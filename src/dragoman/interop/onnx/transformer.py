"""The Transformer as two ONNX graphs: the encoder, and one step of the decoder.

This follows models/transformer.py, positions.py, window.py and ssru.py function by function.

B sentences, S source length, N rows of a step, P tokens so far, K keys, H heads, D head width, E model
width, F feed-forward width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from dragoman.interop.onnx.graph import Graph, Shape, Value, WeightFile
from dragoman.models.layers.positions import (
    AlibiBias,
    AttentionPositions,
    IndexPositions,
    LearnedPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Bias,
    sinusoidal,
)
from dragoman.models.ssru import SSRU
from dragoman.models.transformer import (
    CrossAttention,
    FeedForward,
    MultiHead,
    Residual,
    SelfAttention,
    Transformer,
)
from dragoman.text.tokenizers.tokenizer import Side

# Rows of a table of sinusoids: enough for the 4096 source tokens that are translated by default, and the 50
# tokens that a translation may be longer.
POSITIONS = 4224
_OF_SOURCE = ("source_keys", "source_values")


def encoder(model: Transformer, weights: WeightFile) -> Graph:
    """source_BS, source_length_B -> source_keys and source_values of each decoder layer, (B, K, S, D).

    K is H, or less if heads share keys and values.
    """
    graph = Graph("encoder", weights)
    source_BS = graph.input("source", "int64", ["rows", "source"])
    length_B = graph.input("source_length", "int64", ["rows"])
    position_S = graph.range(graph.scalar(0), source_BS.size(1))
    distance_SS = position_S - position_S.unsqueeze(1)
    bias = _encoder_bias(position_S < length_B.unsqueeze(1), distance_SS, model.config.window)
    x_BSE = _embed(model, "source", source_BS, position_S, length_B)
    for layer in model.encoder:
        attend = partial(_self_attention, layer.attention, position_S, distance_SS, bias)
        x_BSE = _residual(layer.attention_residual, x_BSE, attend)
        x_BSE = _residual(layer.feed_forward_residual, x_BSE, partial(_feed_forward, layer.feed_forward))
    x_BSE = _norm(model.encoder_norm, x_BSE)
    for number, decoder_layer in enumerate(model.decoder):
        cross = decoder_layer.cross_attention
        for part, name in enumerate(_OF_SOURCE, start=1):
            value_BKSD = _heads(cross, _project(cross, x_BSE, part, part + 1), cross.kv_width)
            graph.output(value_BKSD, f"{name}_{number}", "float32", _shape(cross, "source"))
    return graph


def decoder(model: Transformer, weights: WeightFile) -> Graph:
    """One step: the newest token_N, the output of the encoder, and the past -> logits_NV and the new past.

    `position` is the number of tokens before this one.
    """
    graph = Graph("decoder", weights)
    token_N = graph.input("token", "int64", ["rows"])
    position = graph.input("position", "int64", [])
    length_N = graph.input("source_length", "int64", ["rows"])
    x_N1E = _embed(model, "target", token_N.unsqueeze(1), position, length_N)
    of_source = [
        [
            graph.input(f"{name}_{number}", "float32", _shape(layer.cross_attention, "source"))
            for name in _OF_SOURCE
        ]
        for number, layer in enumerate(model.decoder)
    ]
    position_S = graph.range(graph.scalar(0), of_source[0][0].size(2))
    bias_N11S = _bias(position_S < length_N.unsqueeze(1)).unsqueeze(1, 2)
    for number, layer in enumerate(model.decoder):
        k_NHSD, v_NHSD = of_source[number]
        # Self-attention of the newest token to those before it, or what stands in its place.
        past = (
            partial(_ssru, layer.attention, number)
            if isinstance(layer.attention, SSRU)
            else partial(_self_attention_step, layer.attention, position, number)
        )
        look = partial(_cross_attention, layer.cross_attention, k_NHSD, v_NHSD, bias_N11S)
        x_N1E = _residual(layer.attention_residual, x_N1E, past)
        x_N1E = _residual(layer.cross_attention_residual, x_N1E, look)
        x_N1E = _residual(layer.feed_forward_residual, x_N1E, partial(_feed_forward, layer.feed_forward))
    states_NE = _norm(model.decoder_norm, x_N1E).squeeze(1)
    logits_NV = states_NE.scores(model.logits.weight, model.logits.bias)
    present, graph.outputs = graph.outputs, {}  # the logits come first
    graph.output(logits_NV, "logits", "float32", ["rows", model.config.target_vocab])
    graph.outputs |= present
    return graph


def longest(model: Transformer) -> int | None:
    """How many positions the graphs have, if they have a table of them."""
    limited = any(isinstance(module, SinusoidalPositions) for module in model.modules())
    return POSITIONS if limited else None


# ---- layers --------------------------------------------------------------------------------------------


def _residual(residual: Residual, x: Value, sublayer: Callable[[Value], Value]) -> Value:
    """See `Residual`."""
    out = x + sublayer(_norm(residual.norm, x) if residual.pre else x)
    return out if residual.pre else _norm(residual.norm, out)


def _norm(norm: nn.Module, x: Value) -> Value:
    if isinstance(norm, nn.RMSNorm):
        return x.rms_norm(norm.weight, norm.eps or 0.0)
    return x.layer_norm(norm.weight, norm.bias, norm.eps) if isinstance(norm, nn.LayerNorm) else x


def _feed_forward(layer: FeedForward, x: Value) -> Value:
    """See `FeedForward`."""
    hidden = x.linear(layer.inner.weight, layer.inner.bias)
    match layer.activation:
        case "relu":
            hidden = hidden.relu()
        case "gelu":
            hidden = hidden.gelu()
        case "quick-gelu":
            hidden = hidden * (x.graph.number(1.702) * hidden).sigmoid()
        case "swish":
            hidden = hidden * hidden.sigmoid()
        case "swiglu":
            width = layer.outer.in_features
            gate, value = hidden.split(width, width)
            hidden = gate * gate.sigmoid() * value
    return hidden.linear(layer.outer.weight, layer.outer.bias)


def _self_attention(
    attention: SelfAttention, position_S: Value, distance_SS: Value, bias: Value, x_BSE: Value
) -> Value:
    """Self-attention of the encoder."""
    q, k, v = _queries_keys_values(attention, x_BSE, position_S)
    return _attend(attention, q, k, v, bias, distance_SS)


def _ssru(ssru: SSRU, number: int, x_N1E: Value) -> Value:
    """See `SSRU`. The past is c_{t-1}, the present c_t."""
    graph, x_NE = x_N1E.graph, x_N1E.squeeze(1)
    shape: Shape = ["rows", ssru.candidate.out_features]
    candidate_NE = x_NE.linear(ssru.candidate.weight, None)
    forget_NE = x_NE.linear(ssru.forget.weight, ssru.forget.bias).sigmoid()
    past_NE = graph.input(f"past_state_{number}", "float32", shape)
    c_NE = candidate_NE + forget_NE * (past_NE - candidate_NE)
    graph.output(c_NE, f"present_state_{number}", "float32", shape)
    return c_NE.relu().unsqueeze(1)


def _self_attention_step(attention: SelfAttention, position: Value, number: int, x_N1E: Value) -> Value:
    """Self-attention of the decoder. The past is all keys and values, the present these and the new ones."""
    graph = position.graph
    q, *new = _queries_keys_values(attention, x_N1E, position)
    joined = []
    for name, value_NH1D in zip((f"keys_{number}", f"values_{number}"), new, strict=True):
        past_NHPD = graph.input(f"past_{name}", "float32", _shape(attention, "past"))
        value_NHKD = graph.add("Concat", past_NHPD, value_NH1D, axis=2)
        if attention.span.width is not None:
            value_NHKD = value_NHKD.cut(2, -attention.span.width)
        graph.output(value_NHKD, f"present_{name}", "float32", _shape(attention, "present"))
        joined.append(value_NHKD)
    k, v = joined
    one = graph.scalar(1)
    distance_1K = graph.range(one - k.size(2), one).unsqueeze(0)
    return _attend(attention, q, k, v, None, distance_1K)


def _cross_attention(
    attention: CrossAttention, k_NHSD: Value, v_NHSD: Value, bias_N11S: Value, x_N1E: Value
) -> Value:
    """Attention of the newest token to the source."""
    q = _heads(attention, _project(attention, x_N1E, 0, 1), attention.width)
    return _attend(attention, q, k_NHSD, v_NHSD, bias_N11S)


# ---- attention -----------------------------------------------------------------------------------------


def _attend(
    attention: MultiHead, q: Value, k: Value, v: Value, bias: Value | None, distance: Value | None = None
) -> Value:
    """out_BTE, eq. 1 of section 3.2.1 and W^O. `distance` is key position - query position."""
    graph, width = q.graph, attention.width // attention.heads
    positions = attention.positions if isinstance(attention, SelfAttention) else None
    q = q * graph.number(1 / math.sqrt(width))
    k, v = (_copied(attention, each) for each in (k, v))
    logits = q @ k.transpose(0, 1, 3, 2)
    for addition in (bias, _distance_bias(positions, q, distance)):
        logits = logits if addition is None else logits + addition
    weights = logits.softmax()
    heads_BHTD = weights @ v
    if isinstance(positions, RelativePositions) and distance is not None:  # Shaw et al. 2018, eq. 3
        of_values_TSD = _by_distance(positions.of_values.weight, distance)
        heads_BHTD = heads_BHTD + graph.add("Einsum", weights, of_values_TSD, equation="bhts,tsd->bhtd")
    x_BTE = heads_BHTD.transpose(0, 2, 1, 3).reshape(0, 0, attention.width)
    return x_BTE.linear(attention.output.weight, attention.output.bias)


def _queries_keys_values(attention: SelfAttention, x: Value, position: Value) -> list[Value]:
    """Queries, keys and values with their positions, from one product."""
    sizes = attention.project.sizes
    parts = _project(attention, x, 0, 3).split(*sizes)
    q, k, v = (_heads(attention, part, size) for part, size in zip(parts, sizes, strict=True))
    return [_turned(attention.positions, q, position), _turned(attention.positions, k, position), v]


def _project(attention: MultiHead, x: Value, first: int, last: int) -> Value:
    """x W for some of the three blocks of W^Q, W^K, W^V."""
    rows = slice(attention.project.starts[first], attention.project.starts[last])
    bias = attention.project.bias[rows] if attention.biased else None
    return x.linear(attention.project.weight[rows], bias)


def _heads(attention: MultiHead, x_BTE: Value, outputs: int) -> Value:
    """x_BHTD of queries, keys or values, which have so many dimensions in all."""
    width = attention.width // attention.heads
    return x_BTE.reshape(0, 0, outputs // width, width).transpose(0, 2, 1, 3)


def _copied(attention: MultiHead, x_BKSD: Value) -> Value:
    """x_BHSD: a copy of keys or values for each head that shares them."""
    shared = attention.width // attention.kv_width
    if shared == 1:
        return x_BKSD
    graph = x_BKSD.graph
    return graph.add("Gather", x_BKSD, graph.whole(*(h // shared for h in range(attention.heads))), axis=1)


def _shape(attention: MultiHead, keys: str) -> Shape:
    width = attention.width // attention.heads
    return ["rows", attention.kv_width // width, keys, width]


def _encoder_bias(visible_BS: Value, distance_SS: Value, window: int | None) -> Value:
    """bias_B1TS: hides padding, and keys outside the window (see `WindowView`)."""
    visible_B1S = visible_BS.unsqueeze(1)
    if window is None:
        return _bias(visible_B1S).unsqueeze(1)
    graph, before = visible_BS.graph, window // 2
    near_SS = (graph.scalar(-before - 1) < distance_SS) & (distance_SS < graph.scalar(window - before))
    # Every token sees itself. Otherwise padding would see nothing, and its softmax would be NaN.
    return _bias(visible_B1S & near_SS | distance_SS.equals(graph.scalar(0))).unsqueeze(1)


def _bias(visible: Value) -> Value:
    """0 where a key is visible, -inf where it is hidden."""
    graph = visible.graph
    return graph.add("Where", visible, graph.number(0), graph.number(-math.inf))


# ---- positions -----------------------------------------------------------------------------------------


def _embed(model: Transformer, side: Side, token_BT: Value, position: Value, length_B: Value) -> Value:
    """x_BTE: embeddings (section 3.4) with positions (section 3.5), normalised if the model does so.

    `position` is position_T, or a scalar if T is 1.
    """
    embedding, positions, norm = model.input_of(side)
    graph, width = token_BT.graph, model.config.d_model
    x_BTE = graph.weight(embedding.weight).take(token_BT)
    if model.config.embedding_scale:
        x_BTE = x_BTE * graph.number(math.sqrt(width))
    match positions:
        case SinusoidalPositions():
            x_BTE = x_BTE + graph.weight(_sinusoids(positions)).take(position)
        case LearnedPositions():
            last = LearnedPositions.LONGEST - 1
            x_BTE = x_BTE + graph.weight(positions.table.weight).take(position.clip(0, last))
        case IndexPositions():
            index = position.as_float()
            if positions.fraction:
                index = index / length_B.unsqueeze(1).as_float()
            last_E = torch.zeros(width)
            last_E[-1] = 1
            x_BTE = x_BTE * graph.weight(1 - last_E) + index.unsqueeze(-1) * graph.weight(last_E)
    return _norm(norm, x_BTE)


def _sinusoids(positions: SinusoidalPositions) -> Tensor:
    return sinusoidal(POSITIONS, positions.table_TE.shape[1], positions.layout)


def _turned(positions: AttentionPositions, x_BHTD: Value, position: Value) -> Value:
    """Rotate each pair of dimensions: see `RotaryPositions.turn`."""
    if not isinstance(positions, RotaryPositions):
        return x_BHTD
    graph, table_PD = x_BHTD.graph, _sinusoids(positions.angles)
    sine, cosine = (graph.weight(table_PD[:, part::2]).take(position) for part in (0, 1))
    even, odd = (x_BHTD.cut(3, part, step=2) for part in (0, 1))
    rotated = [even * cosine - odd * sine, even * sine + odd * cosine]
    pairs = graph.add("Concat", *(each.unsqueeze(-1) for each in rotated), axis=-1)
    return pairs.reshape(0, 0, -1, table_PD.shape[1])


def _distance_bias(
    positions: AttentionPositions | None, q_BHTD: Value, distance_TS: Value | None
) -> Value | None:
    """Addition to the logits by distance, broadcast over (B, H, T, S). The queries are scaled."""
    graph = q_BHTD.graph
    match positions, distance_TS:
        case RelativePositions(), Value():  # Shaw et al. 2018, eq. 4
            of_keys_TSD = _by_distance(positions.of_keys.weight, distance_TS)
            return graph.add("Einsum", q_BHTD, of_keys_TSD, equation="bhtd,tsd->bhts")
        case T5Bias(), Value():
            farthest = T5Bias.FARTHEST  # from here on, all distances have the same bucket
            table_RH = positions.table(positions.bucket(torch.arange(-farthest, farthest + 1)))
            return _by_distance(table_RH, distance_TS).transpose(2, 0, 1)
        case AlibiBias(), Value():
            return graph.weight(-positions.slope_H[:, None, None]) * distance_TS.abs().as_float()
        case _:
            return None


def _by_distance(table_RX: Tensor, distance_TS: Value) -> Value:
    """Take rows of a table for the distances -R/2 .. R/2. Farther keys get its first or last row."""
    farthest = len(table_RX) // 2
    row_TS = distance_TS.clip(-farthest, farthest) + distance_TS.graph.scalar(farthest)
    return distance_TS.graph.weight(table_RX).take(row_TS)
