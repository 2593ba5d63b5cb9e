"""Attention logits in terms of content and position.

With x = content + position, the logit q k^T / sqrt(D) is a sum of four products and of what projection
biases and positions inside attention add. In the first layer of a post-norm model that is all. Before
other layers stand layer normalisations, which are linear once their scale is given (it is kept as it was),
and the outputs of earlier sub-layers, which mix content and position: what they add is the remainder.

Everything is computed by the model's own modules.

B batch, T queries, S keys, H heads, D head width, E model width.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from dragoman.inspection.record import Stack, Terms
from dragoman.models.attention import SelfAttention, Sight, Window, attention_logits
from dragoman.models.transformer import DecoderLayer, EncoderLayer, Residual, Transformer

NAMES = (
    "content·content",
    "content·position",
    "position·content",
    "position·position",
    "bias",
    "remainder",
)
_LARGEST = 40_000  # numbers of a stack's terms in a trace; the first layer is always whole


@dataclass(frozen=True)
class _Parts:
    """x = content + position + constant + rest, where the rest came from earlier sub-layers."""

    content: Tensor
    position: Tensor
    constant: Tensor

    def through(self, norm: nn.LayerNorm, x_BTE: Tensor) -> _Parts:
        """After a layer normalisation, its mean and scale those of `x_BTE`."""
        scale_BT1 = (x_BTE.var(-1, correction=0, keepdim=True) + norm.eps).rsqrt()
        content, position, constant = (
            (part - part.mean(-1, keepdim=True)) * scale_BT1 * norm.weight
            for part in (self.content, self.position, self.constant)
        )
        return _Parts(content, position, constant + norm.bias)


def split(model: nn.Module, seen: _Seen) -> Terms | None:
    """The terms of encoder and decoder, from what was `watching` while the model read one sentence and its
    translation. None for a model that is no Transformer."""
    if not isinstance(model, Transformer):
        return None
    found = []
    for kind, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        first = seen[model.positions][0 if kind == "encoder" else -1]
        embedded_BTE, placed_BTE = first[0][0], first[1]
        content = embedded_BTE
        if model.config.positions in ("index", "fraction"):  # the number takes a dimension from the word
            content = torch.cat((embedded_BTE[..., :-1], torch.zeros_like(embedded_BTE[..., -1:])), -1)
        parts = _Parts(content, placed_BTE - content, torch.zeros_like(content))
        found.append(_stack(kind, list(layers), parts, seen, model.config.positions))
    return Terms(names=NAMES, stacks=tuple(found))


def _stack(kind: Any, layers: list[nn.Module], parts: _Parts, seen: _Seen, positions: str) -> Stack:
    values, logits, exact, notes = [], [], [], []
    stored = 0
    for number, module in enumerate(layers):
        layer = cast(EncoderLayer | DecoderLayer, module)
        pre = layer.attention_residual.pre
        (x_BTE, sight), _ = seen[layer.attention][-1]
        entered = (
            parts.through(layer.attention_residual.norm, _last(seen, layer.attention_residual.norm))
            if pre
            else parts
        )
        terms_6HTS, logits_HTS = _terms(layer.attention, entered, x_BTE, sight)
        if number and stored + terms_6HTS.numel() > _LARGEST:
            break
        stored += terms_6HTS.numel()
        values.append(terms_6HTS)
        logits.append(logits_HTS)
        exact.append(not number and not pre and x_BTE.dtype in (torch.float32, torch.float64))
        notes.append(f"{_note(number, pre)} {_WITHIN.get(positions, '')}".strip())
        if not pre:
            for residual in _residuals(layer):
                parts = parts.through(residual.norm, _last(seen, residual.norm))
    return Stack(
        kind=kind,
        causal=kind == "decoder",
        exact=tuple(exact),
        notes=tuple(notes),
        values=torch.stack(values).float().cpu().numpy(),
        logits=torch.stack(logits).float().cpu().numpy(),
    )


def _terms(
    attention: SelfAttention, parts: _Parts, x_BTE: Tensor, sight: Sight | Window
) -> tuple[Tensor, Tensor]:
    """(terms_6HTS, logits_HTS) of one sentence, 0 where a key is hidden."""
    whole = Sight(x_BTE.new_zeros(1), x_BTE.shape[1])  # the mask comes last
    turn = attention.positions.turn
    zero = attention.queries_keys_values(torch.zeros_like(x_BTE))  # what the projections' biases give

    def projected(part: Tensor, *, bias: bool = False) -> tuple[Tensor, Tensor]:
        q, k, _ = attention.queries_keys_values(part)
        return (turn(q), turn(k)) if bias else (turn(q - zero[0]), turn(k - zero[1]))

    q, k = projected(x_BTE, bias=True)
    placed = attention.positions.bias(q, whole.distance_TS())
    qc, kc = projected(parts.content)
    qp, kp = projected(parts.position)
    qb, kb = projected(parts.constant, bias=True)
    logits = attention_logits(q, k, placed)
    four = [attention_logits(a, b) for a in (qc, qp) for b in (kc, kp)]
    known = attention_logits(qc + qp + qb, kc + kp + kb, placed)
    terms = torch.stack([*four, known - sum(four), logits - known])[:, 0]
    hidden = sight.whole((sight.bias == 0).float()).broadcast_to(logits.shape)[0] == 0
    return terms.masked_fill(hidden, 0.0), logits[0].masked_fill(hidden, 0.0)


# Where positions are that are no part of the input.
_WITHIN = {
    "rotary": "Rotary positions turn queries and keys, so they are within content·content.",
    "relative": "What relative positions add, which depends on content too, is the bias.",
    "t5": "What positions add is the bias.",
    "alibi": "What positions add is the bias.",
    "none": "The model is told nothing of positions.",
}


def _note(number: int, pre: bool) -> str:
    if not number:
        if not pre:
            return "The sum of the terms is the logit."
        return (
            "Layer normalisation stands before the first attention. Its scale, which depends on content and "
            "position together, is kept as it was; given that, the terms add up to the logit."
        )
    return (
        "What earlier layers added mixes content and position. It is the remainder; layer normalisations are "
        "taken with the scale that they had."
    )


def _residuals(layer: EncoderLayer | DecoderLayer) -> Iterator[Residual]:
    yield layer.attention_residual
    if isinstance(layer, DecoderLayer):
        yield layer.cross_attention_residual
    yield layer.feed_forward_residual


_Seen = dict[nn.Module, list[tuple[tuple[Any, ...], Any]]]


def _last(seen: _Seen, module: nn.Module) -> Tensor:
    return cast(Tensor, seen[module][-1][0][0])


@contextmanager
def watching(model: nn.Module) -> Iterator[_Seen]:
    """What positions, attentions and layer normalisations are given, and give; nothing of what is no
    Transformer."""
    seen: _Seen = {}

    def keep(module: nn.Module, given: tuple[Any, ...], gave: Any) -> None:
        seen.setdefault(module, []).append((given, gave))

    watched = [
        module
        for module in model.modules()
        if isinstance(model, Transformer)
        and (module is model.positions or isinstance(module, SelfAttention | nn.LayerNorm))
    ]
    handles = [module.register_forward_hook(keep) for module in watched]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
