"""Floating-point operations of layers and of the Transformer: the one place that counts them.

Counted: matrix products, with a multiplication and an addition for each pair of numbers. These are the
weights of every layer for every token, the two products of attention, and the output layer.
Not counted: embeddings (they are looked up), softmax, layer normalisation, activations, the recurrence of
an SSRU, dropout, the optimizer. All pairs of a query and a key are counted, also those that the causal mask
hides, because the products compute them.

Lengths are of the sentences, without padding. To count padding too, pass the padded length for every
sentence. Tied embeddings make no difference.

B batch, S source length, T target length, E model width, F feed-forward width, V vocabulary, L layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.models.shapes import FARTHEST_RELATIVE, WINDOW_BLOCK, SSRUConfig, TransformerOptions


def product(rows: float, inner: float, columns: float) -> float:
    """Return the operations of a (rows x inner) by (inner x columns) product."""
    return 2 * rows * inner * columns


def attention_products(queries: float, keys: float, width: float) -> float:
    """Return the operations of QK^T and of the weights times V (eq. 1), for all heads."""
    return 2 * product(queries, width, keys)


def self_attention(queries: float, keys: float, width: float, kv_width: float | None = None) -> float:
    """Return the operations of multi-head self-attention with its four projections (section 3.2.2).

    Each query position also has a key and a value, and is compared with `keys` keys. Keys and values have
    `kv_width` dimensions, `width` if left out; shared heads (`model.kv_heads`) are compared as often.
    """
    projections = 2 * (width + (kv_width or width))
    return product(queries, width, projections) + attention_products(queries, keys, width)


def window_keys(r: int) -> int:
    """Return the number of keys of a query in a window of `r`: the keys of its block (see `WindowView`)."""
    return r - 1 + max(r, WINDOW_BLOCK)


def forward(shape: TransformerOptions, source_len_B: Sequence[int], target_len_B: Sequence[int]) -> float:
    """Return the operations of a forward pass over a batch of sentences of these lengths."""
    encoder = sum(_encoder_layer(shape, s) for s in source_len_B)
    decoder = sum(_decoder_layer(shape, s, t) for s, t in zip(source_len_B, target_len_B, strict=True))
    output = product(sum(target_len_B), shape.d_model, shape.target_vocab)
    return shape.encoder_layers * encoder + shape.decoder_layers * decoder + output


def training_step(
    shape: TransformerOptions, source_len_B: Sequence[int], target_len_B: Sequence[int]
) -> float:
    """Return the operations of a forward and a backward pass: three times the forward pass.

    Every product C = AB has two in the backward pass, dA = dC B^T and dB = A^T dC, each of the same size.
    """
    return 3 * forward(shape, source_len_B, target_len_B)


def translation(shape: TransformerOptions, source: int, target: int, beam: int = 1) -> float:
    """Return the operations of a search that reads `source` tokens and generates `target`, both with the end.

    The source is encoded once, and so are its keys and values. Each later step has `beam` rows, which see
    the tokens before; the first step has one. It is the minimum for a search.
    """
    e = shape.d_model
    once = shape.encoder_layers * _encoder_layer(shape, source)
    once += shape.decoder_layers * product(source, e, 2 * shape.kv_width)
    rows = 1 + beam * (target - 1)
    fixed = product(rows, e, 2 * e) + attention_products(rows, source, e) + _feed_forward(shape, rows)
    if isinstance(shape, SSRUConfig):
        past = product(rows, e, 2 * e)
    else:
        most = shape.window or target  # the keys that a position sees
        seen = [1, *(beam * min(n, most) for n in range(2, target + 1))]  # by each step's rows together
        past = product(rows, e, 2 * (e + shape.kv_width)) + attention_products(1, sum(seen), e)
        if shape.positions == "relative":
            past += attention_products(rows, 2 * FARTHEST_RELATIVE + 1, e)
    return once + shape.decoder_layers * (fixed + past) + product(rows, e, shape.target_vocab)


def _encoder_layer(shape: TransformerOptions, s: int) -> float:
    return _positioned_attention(shape, s, shape.d_model) + _feed_forward(shape, s)


def _decoder_layer(shape: TransformerOptions, s: int, t: int) -> float:
    e, kv = shape.d_model, shape.kv_width
    # Cross-attention projects the target to queries and outputs, and the source to keys and values.
    cross = product(t, e, 2 * e) + product(s, e, 2 * kv) + attention_products(t, s, e)
    past = product(t, e, 2 * e) if isinstance(shape, SSRUConfig) else _positioned_attention(shape, t, kv)
    return past + cross + _feed_forward(shape, t)


def _positioned_attention(shape: TransformerOptions, n: int, kv_width: int) -> float:
    keys = n if shape.window is None else window_keys(shape.window)
    total = self_attention(n, keys, shape.d_model, kv_width)
    if shape.positions == "relative":  # two more products, with a vector for each distance
        total += attention_products(n, 2 * FARTHEST_RELATIVE + 1, shape.d_model)
    return total


def _feed_forward(shape: TransformerOptions, n: int) -> float:
    matrices = 3 if shape.activation == "swiglu" else 2
    return matrices * product(n, shape.d_model, shape.d_ff)
