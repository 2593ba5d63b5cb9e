"""The choice of the attention that views show, and the labels of its tokens."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.base.errors import ConfigError
from dragoman.inspection.arrays import Array
from dragoman.inspection.record import Kind, Record, Token
from dragoman.text.clean import clean

_TITLES: dict[Kind, str] = {
    "encoder": "Self-attention of the encoder",
    "decoder": "Masked self-attention of the decoder",
    "cross": "Attention to the source",
}


@dataclass(frozen=True)
class Chosen:
    """One matrix of weights with its title and labels."""

    title: str
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: Array  # QK
    causal: bool


def choose_attention(
    trace: Record, kind: Kind | None = None, layer: int | None = None, head: int | None = None
) -> Chosen | None:
    """Return the weights of a layer and head, counted from 1. Without `head`, it is the mean of all heads.

    The default is attention to the source in the last layer but one, which aligns words best (Garg et al.
    2019, section 5.1). Return None for a trace without attention. Raise ConfigError for a kind, layer or
    head that the model does not have.
    """
    if not trace.attention and kind is None:
        return None
    attention = trace.attention_of(kind or "cross")
    if attention is None:
        has = ", ".join(one.kind for one in trace.attention) or "none"
        raise ConfigError(f"the model has no {kind} attention", hint=f"it has: {has}")
    layers, heads = attention.weights.shape[:2]
    layer = max(layers - 1, 1) if layer is None else layer
    for name, number, count in (("layer", layer, layers), ("head", 1 if head is None else head, heads)):
        if not 1 <= number <= count:
            raise ConfigError(f"no {name} {number}", hint=f"the model has {name}s 1 to {count}")
    weights = attention.weights[layer - 1]
    which = "mean of the heads" if head is None else f"head {head}"
    return Chosen(
        title=f"{_TITLES[attention.kind]}: layer {layer} of {layers}, {which}"
        if heads > 1
        else f"{_TITLES[attention.kind]}: layer {layer} of {layers}",
        # A row of cross-attention belongs to the token that the decoder predicts next.
        queries=_names(trace.target.tokens if attention.kind == "cross" else _side(trace, attention.queries)),
        keys=_names(_side(trace, attention.keys)),
        weights=weights.mean(0) if head is None else weights[head - 1],
        causal=attention.causal,
    )


def _side(trace: Record, name: str) -> tuple[Token, ...]:
    return trace.source.tokens if name == "source" else trace.inputs


def _names(tokens: tuple[Token, ...]) -> tuple[str, ...]:
    return tuple(clean(token.text or token.piece) for token in tokens)
