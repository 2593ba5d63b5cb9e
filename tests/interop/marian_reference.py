"""Marian's Transformer in numpy and float64, written from its formulas and not from ours.

Sources in marian-dev: src/models/transformer.h, src/models/decoder.h (the decoder starts from zeros),
src/graph/node_initializers.cpp (positions), src/rnn/cells.h (SSRU), src/layers/output.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

EPSILON = 1e-6


class Marian:
    """A model from its `.npz` weights and its embedded options. One sentence at a time, no batches."""

    def __init__(self, weights: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self.w = {name: np.asarray(weight, np.float64) for name, weight in weights.items()}
        self.o = options
        self.width = int(options["dim-emb"])

    def log_probabilities(self, source: list[int], target: list[int]) -> Any:
        """logp_TV of the token after each prefix of `target`, the empty one first. `source` has its end."""
        shared = self.o.get("tied-embeddings-all") or self.o.get("tied-embeddings-src")
        source_name, target_name = ("Wemb", "Wemb") if shared else ("encoder_Wemb", "decoder_Wemb")
        x = self.prepare("encoder", self.w[source_name][source])
        first = x
        for layer in range(1, self.o["enc-depth"] + 1):
            x = self.attention(f"encoder_l{layer}_self", x, None, causal=False)
            x = self.feed_forward(f"encoder_l{layer}_ffn", x)
        states = self.after("encoder_top", self.o.get("transformer-postprocess-top", ""), x, first)

        rows = self.w[target_name][target]
        x = self.prepare("decoder", np.concatenate([np.zeros((1, self.width)), rows]))
        first = x
        numbers = self.o.get("transformer-tied-layers") or range(1, self.o["dec-depth"] + 1)
        for layer in numbers:
            if self.o.get("transformer-decoder-autoreg", "self-attention") == "rnn":
                x = self.ssru(f"decoder_l{layer}_rnn", x)
            else:
                x = self.attention(f"decoder_l{layer}_self", x, None, causal=True)
            x = self.attention(f"decoder_l{layer}_context", x, states, causal=False)
            x = self.feed_forward(f"decoder_l{layer}_ffn", x)
        x = self.after("decoder_top", self.o.get("transformer-postprocess-top", ""), x, first)
        logits = x @ self.output(target_name).T + self.w.get("decoder_ff_logit_out_b", 0.0)
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def output(self, target_name: str) -> Any:
        if self.o.get("tied-embeddings") or self.o.get("tied-embeddings-all"):
            return self.w[target_name]
        if "decoder_ff_logit_out_W" in self.w:
            return self.w["decoder_ff_logit_out_W"].T
        return self.w["decoder_ff_logit_out_Wt"]

    def prepare(self, side: str, rows: Any) -> Any:
        x = np.sqrt(self.width) * rows + positions(len(rows), self.width)
        return self.before(f"{side}_emb", self.o.get("transformer-postprocess-emb", "d"), x)

    def before(self, prefix: str, operations: str, x: Any) -> Any:
        for operation in operations:
            if operation == "n":
                x = self.norm(prefix, "_pre", x)
        return x

    def after(self, prefix: str, operations: str, x: Any, previous: Any) -> Any:
        for operation in operations:
            if operation == "a":
                x = x + previous
            if operation == "n":
                x = self.norm(prefix, "", x)
        return x

    def norm(self, prefix: str, suffix: str, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return unit * self.w[f"{prefix}_ln_scale{suffix}"] + self.w[f"{prefix}_ln_bias{suffix}"]

    def attention(self, prefix: str, x: Any, states: Any, *, causal: bool) -> Any:
        query = self.before(f"{prefix}_Wo", self.o["transformer-preprocess"], x)
        states = query if states is None else states
        q, k, v = (
            self.heads(data @ self.w[f"{prefix}_W{name}"] + self.w[f"{prefix}_b{name}"])
            for name, data in (("q", query), ("k", states), ("v", states))
        )
        logits = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if causal:
            logits = np.where(np.tril(np.ones(logits.shape[1:], bool)), logits, -np.inf)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        out = (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), -1)
        if not self.o.get("transformer-no-projection"):
            out = out @ self.w[f"{prefix}_Wo"] + self.w[f"{prefix}_bo"]
        return self.after(f"{prefix}_Wo", self.o["transformer-postprocess"], out, x)

    def heads(self, x: Any) -> Any:
        return x.reshape(len(x), self.o["transformer-heads"], -1).transpose(1, 0, 2)

    def feed_forward(self, prefix: str, x: Any) -> Any:
        hidden = self.before(f"{prefix}_ffn", self.o["transformer-preprocess"], x)
        hidden = hidden @ self.w[f"{prefix}_W1"] + self.w[f"{prefix}_b1"]
        hidden = activation(self.o["transformer-ffn-activation"], hidden)
        hidden = hidden @ self.w[f"{prefix}_W2"] + self.w[f"{prefix}_b2"]
        return self.after(f"{prefix}_ffn", self.o["transformer-postprocess"], hidden, x)

    def ssru(self, prefix: str, x: Any) -> Any:
        inner = self.before(prefix, self.o["transformer-preprocess"], x)
        value = inner @ self.w[f"{prefix}_W"]
        keep = sigmoid(inner @ self.w[f"{prefix}_Wf"] + self.w[f"{prefix}_bf"])
        cell, out = np.zeros(self.width), np.zeros_like(x)
        for step in range(len(x)):
            cell = keep[step] * cell + (1 - keep[step]) * value[step]
            out[step] = np.maximum(cell, 0)
        if f"{prefix}_Wo" in self.w:
            out = out @ self.w[f"{prefix}_Wo"] + self.w[f"{prefix}_bo"]
        return self.after(f"{prefix}_ffn", self.o["transformer-postprocess"], out, x)


def activation(name: str, x: Any) -> Any:
    match name:
        case "relu":
            return np.maximum(x, 0)
        case "swish":
            return x * sigmoid(x)
        case "gelu":
            return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
    raise ValueError(name)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def positions(length: int, width: int) -> Any:
    half = width // 2
    rates = np.exp(-np.log(10000.0) / (half - 1) * np.arange(half))
    angles = np.arange(length)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
